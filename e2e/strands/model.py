"""The model that follows a script, see agents.py for its commands."""

import json
import re

from strands.models import Model

from ledger import LEDGER

COMMAND = re.compile(r"([a-z][\w .-]*?) @([\w.-]+)")


def complaints(messages: list) -> list[str]:
    """What a provider answers 400 to: calls without exactly one result each in the very next message, and the reverse."""
    found, waiting = [], []
    for message in messages:
        results = [b["toolResult"]["toolUseId"] for b in message["content"] if "toolResult" in b]
        if sorted(results) != sorted(waiting):
            found.append(f"results for {results} behind calls {waiting}")
        waiting = [b["toolUse"]["toolUseId"] for b in message["content"] if "toolUse" in b]
        if not message["content"]:
            found.append("an empty message")
    return found + [f"no result for {w}" for w in waiting]


def said(message: dict) -> str:
    return " ".join(b["text"] for b in message["content"] if "text" in b)


def spoken(result: dict) -> str:
    """What a tool result says."""
    return " ".join(str(c["text"] if "text" in c else c.get("json", "")) for c in result["content"])


class Scripted(Model):
    """A model that does what the last command says. It speaks in two pieces, for that is how models stream."""

    numbers = iter(range(1, 1 << 30))

    def update_config(self, **kwargs) -> None: ...

    def get_config(self) -> dict:
        return {"model_id": "scripted"}

    def structured_output(self, *args, **kwargs):
        raise NotImplementedError

    @staticmethod
    def rounds(words: list[str], thread: str) -> list[list[tuple[str, dict]]]:
        """What the command asks for: calls at once, one list after the other."""
        command, *names = words
        paths = [str(LEDGER.folder / thread / name) for name in names]
        one = ("delete_files", {"paths": paths})
        pick = ("pick_color", {"label": "x"})  # a tool that the client declares
        match command:
            case "pair":
                return [[("delete_files", {"paths": [path]}) for path in paths]]
            case "each":
                return [[("delete_files", {"paths": [path]})] for path in paths]
            case "client-last":
                return [[one, pick]]
            case "client-first":
                return [[pick, one]]
            case "mix":
                return [[("list_files", {"thread": thread}), one]]
            case "ask":
                return [[("ask_user", {"question": "Which environment?", "thread": thread})]]
            case "twice":
                return [[("ask_twice", {"thread": thread})]]
            case "slow":
                return [[("delete_slowly", {"gate": names[0], "paths": paths[1:]})]]
            case "linger":
                return [[("linger", {"gate": names[0], "thread": thread})]]
            case "hand":
                return [[("cleaner", {"input": f"delete {' '.join(names)} @{thread}"})]]
            case "delete" | "think" | "boom-after":
                return [[one]]
        return []

    async def stream(self, messages, tool_specs=None, system_prompt=None, **kwargs):
        start = max(n for n, m in enumerate(messages) if m["role"] == "user" and not any("toolResult" in b for b in m["content"]))
        text = said(messages[start])
        found = COMMAND.findall(text)
        words, thread = (found[-1][0].split(), found[-1][1]) if found else ([""], "")
        shown = [b["toolResult"] for m in messages[start:] for b in m["content"] if "toolResult" in b]
        LEDGER.add("seen", thread, {"complaints": complaints(messages), "results": [spoken(r) for r in shown]})
        made = [m for m in messages[start:] if any("toolUse" in b for b in m["content"])]
        results = [b["toolResult"] for b in messages[-1]["content"] if "toolResult" in b]
        plan = [] if text.startswith("plain") else self.rounds(words, thread)
        if words[0] == "boom-after" and results:
            raise RuntimeError("the model died after the tool")
        yield {"messageStart": {"role": "assistant"}}
        if text.startswith("plain"):
            speech, calls = "echo: " + text, []
        elif len(made) < len(plan):
            speech, calls = "" if made else "I will see to it.", plan[len(made)]
        else:
            speech, calls = "Done: " + ", ".join(r["status"] for r in results) + ".", []
        if words[0] == "think" and not made:
            yield {"contentBlockStart": {"start": {}}}
            for piece in ("Let me ", "think."):
                yield {"contentBlockDelta": {"delta": {"reasoningContent": {"text": piece}}}}
            yield {"contentBlockStop": {}}
        if speech:
            yield {"contentBlockStart": {"start": {}}}
            for piece in (speech[:5], speech[5:]):
                yield {"contentBlockDelta": {"delta": {"text": piece}}}
                if words[0] == "boom":
                    raise RuntimeError("the model died in the middle")
            yield {"contentBlockStop": {}}
        for name, arguments in calls:
            id = f"tooluse_{next(self.numbers)}_{thread}"
            yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": id}}}}
            sent = json.dumps(arguments)
            for piece in (sent[:7], sent[7:]):
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": piece}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}
        yield {"metadata": {"usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}, "metrics": {"latencyMs": 1}}}


class Inspector(Scripted):
    """Only ever says that it looked around."""

    async def stream(self, messages, tool_specs=None, system_prompt=None, **kwargs):
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": "Looked around."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}
        yield {"metadata": {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1}}}
