"""Deterministic agents and workflows of Microsoft Agent Framework for the end-to-end tests. No model is called.

Rules that every agent keeps:

- a user message that starts with "plain" is an ordinary message: it is answered with an echo and nothing else
  ("plain hold NAME" waits at the gate NAME first), so that "the thread goes on" can be tested everywhere;
- any other message starts the agent's own scene;
- whatever would touch the world is counted in LEDGER, per thread, so that a test can prove that nothing ran
  twice and that nothing denied ran at all;
- what the model was shown is kept in LEDGER too, with what a real provider would have refused in it.
"""

import asyncio
import contextvars
import json
import threading
from typing import Any

import agent_framework as af
from pydantic import BaseModel

from compat import MODERN, StreamingClient, call_of, declare, fresh, kind_of, make_agent, role_of, text_of, tool, update

# The thread of the request that is served, as the client named it. server.py sets it, tools and model read it.
THREAD: contextvars.ContextVar[str] = contextvars.ContextVar("thread", default="")
DRIFTED = "conv-of-"


def thread() -> str:
    """The thread's own name; the ones that the drifting agents make of it are the same thread."""
    return THREAD.get().rpartition(DRIFTED)[2]


class Ledger:
    """What really happened, per thread. With a file it outlives the process that is killed in mid-run."""

    KINDS = ("runs", "nodes", "effects", "seen")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: dict[str, dict[str, list]] = {}
        self._file = None

    def persist(self, path: str) -> None:
        try:
            with open(path, encoding="utf-8") as old:
                for line in old:
                    kind, name, what = json.loads(line)
                    self._add(kind, name, what)
        except FileNotFoundError:
            pass
        self._file = open(path, "a", encoding="utf-8")

    def _add(self, kind: str, name: str, what: Any) -> None:
        self._threads.setdefault(name, {k: [] for k in self.KINDS})[kind].append(what)

    def add(self, kind: str, what: Any) -> None:
        with self._lock:
            self._add(kind, thread(), what)
            if self._file is not None:
                self._file.write(json.dumps([kind, thread(), what]) + "\n")
                self._file.flush()

    def of(self, name: str) -> dict[str, Any]:
        with self._lock:
            kept = self._threads.get(name, {k: [] for k in self.KINDS})
            counts: dict[str, int] = {}
            for effect in kept["effects"]:
                counts[effect["name"]] = counts.get(effect["name"], 0) + 1
            return {"counts": counts, **{k: list(v) for k, v in kept.items()}}

    def all(self, kind: str) -> dict[str, list]:
        with self._lock:
            return {name: list(kept[kind]) for name, kept in self._threads.items() if kept[kind]}


LEDGER = Ledger()


class Gates:
    """Places where a model or a tool waits until the test says go on. One process, one event loop."""

    LONGEST = 120.0

    def __init__(self) -> None:
        self._events: dict[str, asyncio.Event] = {}
        self.reached: set[str] = set()

    def _event(self, name: str) -> asyncio.Event:
        return self._events.setdefault(name, asyncio.Event())

    async def wait(self, name: str) -> None:
        self.reached.add(name)
        await asyncio.wait_for(self._event(name).wait(), self.LONGEST)

    def open(self, name: str) -> None:
        self._event(name).set()


GATES = Gates()


# ---- the tools: each notes that it ran, with what ------------------------------------------------------------------


@tool(approval_mode="always_require")
def delete_file(path: str) -> str:
    """Delete a file."""
    LEDGER.add("effects", {"name": "delete_file", "args": {"path": path}})
    return f"deleted {path}"


@tool(approval_mode="always_require")
def send_email(to: str, count: int = 1) -> str:
    """Send an email, a number of times."""
    LEDGER.add("effects", {"name": "send_email", "args": {"to": to, "count": count}})
    return f"sent {count} to {to}"


@tool(approval_mode="never_require")
def search(query: str) -> str:
    """Search; needs nobody's approval."""
    LEDGER.add("effects", {"name": "search", "args": {"query": query}})
    return f"found {query}"


@tool(approval_mode="always_require")
def explode(what: str) -> str:
    """Fails after it did its work."""
    LEDGER.add("effects", {"name": "explode", "args": {"what": what}})
    raise RuntimeError("boom")


@tool(approval_mode="always_require")
async def wait_at(gate: str) -> str:
    """Waits at a gate after it did its work."""
    LEDGER.add("effects", {"name": "wait_at", "args": {"gate": gate}})
    await GATES.wait(gate)
    return "waited"


class Document(BaseModel):
    document: str


# ---- the model -----------------------------------------------------------------------------------------------------


def parts_of(message) -> list[dict]:
    """A message as plain data: what of it a provider would see."""
    out = []
    for content in message.contents or []:
        kind = kind_of(content)
        if kind == "text":
            out.append({"text": content.text})
        elif kind == "function_call":
            out.append({"call": content.call_id, "name": content.name, "arguments": content.arguments})
        elif kind == "function_result":
            out.append({"result": content.call_id, "value": str(content.result), "error": str(content.exception or "")})
        else:
            out.append({"other": kind, "id": getattr(content, "id", None)})
    return out


def is_list(value: object) -> bool:
    """Says whether a result is the JSON of a list. Holdpoint sends a result that only looks like a decision in this form,
    which the adapter does not read as one, because it may be what a tool has returned."""
    return isinstance(value, str) and value.startswith("[{") and value.endswith("}]")


def complaints(history: list[dict]) -> list[str]:
    """What a provider answers 400 to: a call without exactly one result right behind it, a result without its call."""
    found, open_calls, known = [], [], set()
    for message in history:
        results = [p["result"] for p in message["parts"] if "result" in p]
        if open_calls and message["role"] != "tool":
            found += [f"no result for {c}" for c in open_calls]
            open_calls = []
        for id in results:
            if message["role"] != "tool":
                found.append(f"result for {id} in a message of {message['role']}")
            if id in open_calls:
                open_calls.remove(id)
            else:
                found.append(f"second result for {id}" if id in known else f"result without a call for {id}")
        for part in message["parts"]:
            if "call" in part:
                if part["call"] in known:
                    found.append(f"second call {part['call']}")
                known.add(part["call"])
                open_calls.append(part["call"])
            if "other" in part:
                found.append(f"{part['other']} {part['id']}")
            for word in ("accepted", "confirm_changes", "function_approvals"):
                if word in json.dumps(part) and not (word == "accepted" and is_list(part.get("result") and part["value"])):
                    found.append(f"{word} in a message of {message['role']}")
    return found + [f"no result for {c}" for c in open_calls]


class Scripted(StreamingClient):
    """A chat model that says what its script says. A script is a list of turns, a turn a list of parts:
    a string is text, a tuple is a call of a tool, an exception is raised."""

    def __init__(self, *turns, conversation=None, response=None, strict=False) -> None:
        super().__init__()
        self.turns, self.conversation, self.response, self.strict = turns, conversation, response, strict

    async def updates(self, messages):
        history = [{"role": role_of(m), "parts": parts_of(m)} for m in messages]
        refused = complaints(history)
        results = [p["value"] or p["error"] for m in history for p in m["parts"] if "result" in p]
        LEDGER.add("seen", {"messages": history, "complaints": refused, "results": results})
        if self.strict and refused:
            raise RuntimeError("400: " + "; ".join(refused))
        message = fresh("msg")
        response = self.response() if self.response else None
        conversation = self.conversation() if self.conversation else None
        for part in await self._turn(history):
            if isinstance(part, BaseException):
                raise part
            if isinstance(part, str):
                # two pieces, for that is how models stream
                for piece in (part[:5], part[5:]):
                    yield update([text_of(piece)], message, response, conversation)
                continue
            name, arguments = part
            id, text = fresh("call"), json.dumps(arguments)
            yield update([call_of(id, name, text[:7])], message, response, conversation)
            yield update([call_of(id, "", text[7:])], message, response, conversation)

    async def _turn(self, history) -> list:
        # The last user message that says anything opens the scene; how many turns were played since then is in the
        # history, because everything the model did is: nothing is remembered here.
        said, played = "", 0
        for entry in history:
            text = "".join(p.get("text", "") for p in entry["parts"])
            # newer versions tell the state in a user message of their own
            if entry["role"] == "user" and text and not text.startswith("Application state"):
                said, played = text, 0
            elif entry["role"] == "assistant" and any("call" in p for p in entry["parts"]):
                played += 1
        if said.startswith("plain"):
            words = said.split()
            if words[1:2] == ["hold"]:
                await GATES.wait(words[2])
            return ["echo: " + said]
        if played < len(self.turns):
            return self.turns[played]
        results = [p["value"] or p["error"] for m in history for p in m["parts"] if "result" in p]
        return ["done: " + "; ".join(results)]


def conversation_of_thread() -> str:
    return DRIFTED + thread()


def agents() -> dict[str, tuple[Any, dict]]:
    """name -> (agent, options of the adapter)"""
    drop = ("delete_file", {"path": "a.txt"})
    other = ("delete_file", {"path": "b.txt"})
    third = ("delete_file", {"path": "c.txt"})
    mail = ("send_email", {"to": "bob@example.org", "count": 2})
    pick = ("pick_color", {"label": "x"})
    all_tools = [delete_file, send_email, search, explode, wait_at]
    predict = {"predict_state_config": {"document": {"tool": "write_document", "tool_argument": "document"}},
               "state_schema": {"document": {"type": "string"}}}
    write = ("write_document", {"document": "Once upon a time"})

    def scripted(*turns, tools=all_tools, **more):
        return make_agent(Scripted(*turns, **more), tools)

    flows = {}
    if MODERN:
        # A workflow that serves as an agent is one for all threads, so each scene has one of its own.
        from agent_framework import WorkflowBuilder
        for n in range(8):
            flows[f"as-agent-{n}"] = (WorkflowBuilder(start_executor=scripted([drop])).build().as_agent(f"flow-{n}"), {})
    return {
        **flows,
        "approve": (scripted([drop]), {}),
        "email": (scripted([mail]), {}),
        # as real providers are: what they would refuse is an error here
        "strict": (scripted([drop], strict=True), {}),
        "strict-parallel": (scripted([drop, other], strict=True), {}),
        "strict-mixed": (scripted([("search", {"query": "x"}), drop], strict=True), {}),
        "spoken": (scripted(["I will delete it.", drop]), {}),
        "parallel": (scripted([drop, other]), {}),
        "triple": (scripted([drop, other, third]), {}),
        "pair": (scripted([drop, mail]), {}),
        "again": (scripted([drop], [mail]), {}),
        "mixed": (scripted([("search", {"query": "x"}), drop]), {}),
        "before": (scripted([("search", {"query": "x"})], [drop]), {}),
        # one call of a turn is of a tool that the client declares
        "client-last": (scripted([drop, pick]), {}),
        "client-first": (scripted([pick, drop]), {}),
        "client-between": (scripted([drop, pick, other]), {}),
        "chat": (scripted(["hello"]), {}),
        "boom-model": (scripted(["half a sen", RuntimeError("model is gone")]), {}),
        "boom-tool": (scripted([("explode", {"what": "all"})]), {}),
        # what was approved runs, and then the model fails: the run ends in an error although something happened
        "boom-after": (scripted([drop], [RuntimeError("model is gone")]), {}),
        "slow": (scripted([("wait_at", {"gate": "slow"})]), {}),
        "drift": (scripted([drop], [mail], conversation=conversation_of_thread, response=lambda: fresh("resp")), {}),
        # the Responses API without a stored conversation: every answer is a conversation of its own
        "drift-each": (scripted([drop], [mail], conversation=lambda: fresh("resp") + "-" + conversation_of_thread(),
                                response=lambda: fresh("resp")), {}),
        # only the response id is set, as chat completions do
        "drift-run": (scripted([drop], response=lambda: fresh("chatcmpl")), {}),
        # a tool that nobody on the server runs, and the same with an approval in front
        "predictive": (scripted([write], tools=[declare("write_document", "Write the document.", Document)]), predict),
        "predictive-run": (scripted([write], tools=[write_document]), predict),
        "predictive-ask": (scripted([write], tools=[write_document_asking]), predict),
    }


@tool(name="write_document", approval_mode="never_require")
def write_document(document: str) -> str:
    """Write the document."""
    LEDGER.add("effects", {"name": "write_document", "args": {"document": document}})
    return "written"


@tool(name="write_document", approval_mode="always_require")
def write_document_asking(document: str) -> str:
    """Write the document."""
    LEDGER.add("effects", {"name": "write_document", "args": {"document": document}})
    return "written"


# ---- the workflows -------------------------------------------------------------------------------------------------


def workflows() -> dict[str, Any]:
    """name -> factory of a workflow for one thread"""
    if not MODERN:
        return {}
    from agent_framework import Executor, Message, WorkflowBuilder, WorkflowContext, handler, response_handler

    def said(messages) -> str:
        return next((m.text for m in reversed(messages) if role_of(m) == "user"), "")

    class Ask(Executor):
        """Asks for what `requests` says, all at once or one after the other, and tells what it was answered."""

        def __init__(self, *requests, together=False):
            super().__init__(id="asker")
            self.requests, self.together, self.asked = requests, together, 0

        async def ask(self, ctx):
            data, kind = self.requests[self.asked]
            self.asked += 1
            # the id has to be the request's own, or the second scene of a thread asks under an id that is answered
            await ctx.request_info(data, kind, request_id=fresh("req"))

        async def answered(self, value, ctx):
            LEDGER.add("effects", {"name": "answered", "args": {"value": value}})
            if not self.together and self.asked < len(self.requests):
                await self.ask(ctx)
            else:
                await ctx.yield_output(f"got {json.dumps(value)}")

        @handler
        async def start(self, messages: list[Message], ctx: WorkflowContext[None, str]) -> None:
            LEDGER.add("nodes", "start")
            if said(messages).startswith("plain"):
                await ctx.yield_output("echo: " + said(messages))
                return
            self.asked = 0
            await self.ask(ctx)
            while self.together and self.asked < len(self.requests):
                await self.ask(ctx)

        @response_handler
        async def on_dict(self, request: dict, response: dict, ctx: WorkflowContext[None, str]) -> None:
            await self.answered(response, ctx)

        @response_handler
        async def on_text(self, request: dict, response: str, ctx: WorkflowContext[None, str]) -> None:
            await self.answered(response, ctx)

        @response_handler
        async def on_bool(self, request: dict, response: bool, ctx: WorkflowContext[None, str]) -> None:
            await self.answered(response, ctx)

        @response_handler
        async def on_bare(self, request: str, response: str, ctx: WorkflowContext[None, str]) -> None:
            await self.answered(response, ctx)

    def flow(*requests, together=False):
        return lambda thread: WorkflowBuilder(start_executor=Ask(*requests, together=together)).build()

    first, second = {"message": "First?", "options": ["a", "b"]}, {"prompt": "Second?"}
    return {
        "workflow": flow((first, dict)),
        "workflow-text": flow((first, str)),
        "workflow-bool": flow((first, bool)),
        "workflow-bare": flow(("Which one?", str)),
        "workflow-twice": flow((first, dict), (second, dict)),
        "workflow-both": flow((first, dict), (second, dict), together=True),
    }
