"""Deterministic Strands agents for the end-to-end tests, with a model that follows a script. No model is called.

A user message is a command and the thread that it is for: "delete a.txt @THREAD". The tools get the thread in their
arguments, so that what they do is counted per thread wherever they run. A message that begins with "plain" is answered
with an echo and nothing else, so that "the thread goes on" can be tested everywhere.

  delete A B        one call            think A     as delete, with reasoning before it
  pair A B          two calls at once   ask         the tool itself asks
  each A B          one after the other twice       the tool asks twice
  mix A             one that needs nobody's leave beside one that does
  slow GATE A       the tool waits at a gate after it did its work
  linger GATE       a tool that needs nobody's leave waits at a gate
  hand A            the agent that deletes is a tool of this one
  boom              the model dies in the middle; boom-after A: when the tool has run

What would touch the world is counted in LEDGER and really touches it: files are deleted, in a folder for each thread.
"""

import asyncio
import json
import pathlib
import re
import threading
from typing import Any

from strands import Agent, ToolContext, tool
from strands.hooks import BeforeNodeCallEvent, BeforeToolCallEvent, HookProvider, HookRegistry
from strands.models import Model
from strands.multiagent import GraphBuilder, Swarm
from strands.session.file_session_manager import FileSessionManager

try:  # newer than 1.40
    from strands.hooks import BeforeToolsEvent
    from strands.vended_interventions.hitl import HumanInTheLoop
except ImportError:
    BeforeToolsEvent = HumanInTheLoop = None

COMMAND = re.compile(r"([a-z][\w .-]*?) @([\w.-]+)")


class Ledger:
    """What really happened, per thread. With a file it outlives the process that is killed in mid-run."""

    KINDS = ("runs", "nodes", "effects", "seen")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: dict[str, dict[str, list]] = {}
        self._sessions: dict[str, str] = {}
        self._file = None
        self.folder = pathlib.Path()

    def persist(self, path: str) -> None:
        self.folder = pathlib.Path(path + ".files")
        self.folder.mkdir(exist_ok=True)
        try:
            with open(path, encoding="utf-8") as old:
                for line in old:
                    self._add(*json.loads(line))
        except FileNotFoundError:
            pass
        self._file = open(path, "a", encoding="utf-8")

    def _add(self, kind: str, thread: str, what: Any) -> None:
        if kind == "session":
            self._sessions[what] = thread
            return
        self._threads.setdefault(thread, {k: [] for k in self.KINDS})[kind].append(what)

    def add(self, kind: str, thread: str, what: Any) -> None:
        with self._lock:
            self._add(kind, thread, what)
            if self._file is not None:
                self._file.write(json.dumps([kind, thread, what]) + "\n")
                self._file.flush()

    def named(self, session: str) -> str:
        """The thread that a session was last told of: an answer names none."""
        return self._sessions.get(session, "")

    def of(self, name: str) -> dict[str, Any]:
        with self._lock:
            kept = self._threads.get(name, {k: [] for k in self.KINDS})
            counts: dict[str, int] = {}
            for effect in kept["effects"]:
                counts[effect["name"]] = counts.get(effect["name"], 0) + 1
            return {"counts": counts, **{k: list(v) for k, v in kept.items()}}


LEDGER = Ledger()


class Gates:
    """Places where a tool waits until the test says go on. AgentCore runs its agents in a thread of its own."""

    LONGEST = 120.0

    def __init__(self) -> None:
        self._events: dict[str, threading.Event] = {}
        self._lock = threading.Lock()
        self.reached: set[str] = set()

    def _event(self, name: str) -> threading.Event:
        with self._lock:
            return self._events.setdefault(name, threading.Event())

    async def wait(self, name: str) -> None:
        self.reached.add(name)
        await asyncio.to_thread(self._event(name).wait, self.LONGEST)

    def open(self, name: str) -> None:
        self._event(name).set()


GATES = Gates()


# ---- the tools -----------------------------------------------------------------------------------------------------


def delete(tool_name: str, paths: list[str]) -> str:
    """Count, then delete: a file that is gone already is counted too."""
    files = [pathlib.Path(path) for path in paths]
    LEDGER.add("effects", files[0].parent.name, {"name": tool_name, "args": {"paths": [f.name for f in files]}})
    for file in files:
        file.unlink()
    return "deleted " + ", ".join(f.name for f in files)


@tool
def delete_files(paths: list[str]) -> str:
    """Delete files."""
    return delete("delete_files", paths)


@tool
async def delete_slowly(paths: list[str], gate: str) -> str:
    """Delete files, and wait at a gate before that is told."""
    done = delete("delete_slowly", paths)
    await GATES.wait(gate)
    return done


@tool
async def linger(gate: str, thread: str) -> str:
    """Wait at a gate; needs nobody's leave."""
    LEDGER.add("effects", thread, {"name": "linger", "args": {}})
    await GATES.wait(gate)
    return "waited"


@tool
def list_files(thread: str) -> list:
    """List files; needs nobody's leave."""
    LEDGER.add("effects", thread, {"name": "list_files", "args": {}})
    return sorted(f.name for f in (LEDGER.folder / thread).iterdir())


@tool(context=True)
def ask_user(tool_context: ToolContext, question: str, thread: str) -> str:
    """Ask the user."""
    answer = tool_context.interrupt("ask_user", reason=question)
    LEDGER.add("effects", thread, {"name": "ask_user", "args": {"answer": answer}})
    return json.dumps({"answer": answer})


@tool(context=True)
def ask_twice(tool_context: ToolContext, thread: str) -> str:
    """Ask the user, and ask again."""
    first = tool_context.interrupt("first", reason={"message": "Which environment?", "step": 1})
    second = tool_context.interrupt("second", reason={"message": f"Really {first}?", "step": 2})
    LEDGER.add("effects", thread, {"name": "ask_twice", "args": {"first": first, "second": second}})
    return json.dumps({"first": first, "second": second})


# ---- the model -----------------------------------------------------------------------------------------------------


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
        match command:
            case "pair":
                return [[("delete_files", {"paths": [path]}) for path in paths]]
            case "each":
                return [[("delete_files", {"paths": [path]})] for path in paths]
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
        LEDGER.add("seen", thread, {"complaints": complaints(messages)})
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


# ---- those who ask -------------------------------------------------------------------------------------------------

DELETES = ("delete_files", "delete_slowly")


def names(paths: list[str]) -> list[str]:
    return [pathlib.Path(path).name for path in paths]


class Approval(HookProvider):
    """The hook of the documentation: whatever is no string has no lower()."""

    def register_hooks(self, registry: HookRegistry, **kwargs) -> None:
        registry.add_callback(BeforeToolCallEvent, self.approve)

    def approve(self, event: BeforeToolCallEvent) -> None:
        if event.tool_use["name"] not in DELETES:
            return
        approval = event.interrupt("myapp-approval", reason={"paths": names(event.tool_use["input"]["paths"])})
        if approval.lower() != "y":
            event.cancel_tool = f"denied with {approval}"


class Trust(HookProvider):
    """The session example of the documentation: t is a yes for all later calls of the tool too."""

    def register_hooks(self, registry: HookRegistry, **kwargs) -> None:
        registry.add_callback(BeforeToolCallEvent, self.approve)

    def approve(self, event: BeforeToolCallEvent) -> None:
        name = event.tool_use["name"]
        if name not in DELETES or event.agent.state.get(f"{name}-approval") == "t":
            return
        approval = event.interrupt(f"{name}-approval", reason={"paths": names(event.tool_use["input"]["paths"])})
        if approval.lower() not in ("y", "t"):
            event.cancel_tool = f"denied with {approval}"
        event.agent.state.set(f"{name}-approval", approval.lower())


class Chain(HookProvider):
    """Asks two questions one after the other about one call."""

    def register_hooks(self, registry: HookRegistry, **kwargs) -> None:
        registry.add_callback(BeforeToolCallEvent, self.approve)

    def approve(self, event: BeforeToolCallEvent) -> None:
        if event.tool_use["name"] not in DELETES:
            return
        for name in ("safety", "cost"):
            if event.interrupt(name, reason=f"Is the {name} fine?") != "y":
                event.cancel_tool = f"denied for its {name}"
                return


class Batch(HookProvider):
    """Asks once about all calls of a message. On the wire there is nothing of it but Python's repr of the result."""

    def register_hooks(self, registry: HookRegistry, **kwargs) -> None:
        registry.add_callback(BeforeToolsEvent, self.approve)

    def approve(self, event) -> None:
        calls = [b["toolUse"] for b in event.message["content"] if "toolUse" in b]
        reason = {"message": "Run all of it, don't you \"think\"?", "tools": tuple(c["name"] for c in calls), "more": None}
        if event.interrupt("batch", reason=reason) != "y":
            event.cancel = "denied"


class NodeApproval(HookProvider):
    """Asks before a node of a graph or swarm runs."""

    def register_hooks(self, registry: HookRegistry, **kwargs) -> None:
        registry.add_callback(BeforeNodeCallEvent, self.approve)

    def approve(self, event: BeforeNodeCallEvent) -> None:
        if event.node_id != "cleanup":
            return
        if event.interrupt("node-approval", reason={"node": event.node_id}).lower() != "y":
            event.cancel_node = "denied"


class Enveloped(HookProvider):
    """A hook as ag_ui_strands wants it: the answer comes in an envelope."""

    def register_hooks(self, registry: HookRegistry, **kwargs) -> None:
        registry.add_callback(BeforeToolCallEvent, self.approve)

    def approve(self, event: BeforeToolCallEvent) -> None:
        if event.tool_use["name"] not in DELETES:
            return
        answer = event.interrupt("myapp-approval", reason={"paths": names(event.tool_use["input"]["paths"])})
        response = answer.get("response")
        if not isinstance(response, dict) or response.get("approved") is not True:
            event.cancel_tool = f"denied with {json.dumps(answer)}"


# ---- the agents ----------------------------------------------------------------------------------------------------


def agent(*hooks: HookProvider, tools: tuple = (), **options) -> Agent:
    every = [delete_files, delete_slowly, linger, list_files, ask_user, ask_twice, *tools]
    return Agent(model=Scripted(), tools=every, hooks=list(hooks), callback_handler=None, system_prompt="You delete files.", **options)


def boss(**options) -> Agent:
    """Its only tool that deletes is another agent."""
    cleaner = Agent(name="cleaner", model=Scripted(), tools=[delete_files], hooks=[Approval()], callback_handler=None, system_prompt="You delete files.")
    return Agent(model=Scripted(), tools=[cleaner.as_tool(name="cleaner", description="Deletes files.")], callback_handler=None, **options)


def graph(session_manager=None):
    """inspector, then cleanup, which is asked for as a node and then by its own hook."""
    builder = GraphBuilder()
    builder.add_node(Agent(name="inspector", model=Inspector(), callback_handler=None), "inspector")
    builder.add_node(agent(Approval(), name="cleanup"), "cleanup")
    builder.add_edge("inspector", "cleanup")
    builder.set_entry_point("inspector")
    builder.set_hook_providers([NodeApproval()])
    builder.set_execution_timeout(60)
    builder.set_graph_id("graph")
    if session_manager:
        builder.set_session_manager(session_manager)
    return builder.build()


def branches(session_manager=None):
    """Two agents at once, each of which asks for itself."""
    builder = GraphBuilder()
    for name in ("left", "right"):
        builder.add_node(agent(Approval(), name=name), name)
        builder.set_entry_point(name)
    builder.set_execution_timeout(60)
    builder.set_graph_id("branches")
    if session_manager:
        builder.set_session_manager(session_manager)
    return builder.build()


def swarm(session_manager=None):
    return Swarm([agent(Approval(), name="cleanup")], hooks=[NodeApproval()], session_manager=session_manager, id="swarm")


# name -> what makes one for a session
AGENTS = {
    "docs": lambda **options: agent(Approval(), **options),
    "trust": lambda **options: agent(Trust(), **options),
    "chain": lambda **options: agent(Chain(), **options),
    "boss": boss,
    "graph": graph,
    "branches": branches,
    "swarm": swarm,
}
if BeforeToolsEvent:
    AGENTS["batch"] = lambda **options: agent(Batch(), **options)
    AGENTS["hitl"] = lambda **options: agent(interventions=[HumanInTheLoop(allowed_tools=["linger", "list_files", "ask_user", "ask_twice"], enable_trust=True)], **options)


def kept(name: str, session: str):
    """Made anew from what its session manager has on disk."""
    manager = FileSessionManager(session_id=f"{name}-{session}", storage_dir=str(LEDGER.folder.with_suffix(".sessions")))
    return AGENTS[name](session_manager=manager)
