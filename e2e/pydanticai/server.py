"""Serves an agent of pydantic-ai over its AG-UI adapter: POST /<mode>/agent. No model is called.

It binds a free port of 127.0.0.1, prints one JSON line {"port":..,"modes":[..],"versions":{..}} on stdout and ends when its
standard input ends, so that it never outlives the test that started it.

Modes: "stateless" is AGUIAdapter.dispatch_request as documented, which takes the conversation from the request; "store"
keeps it in a conversation store (versions that have one); "early" is told to speak a protocol of before the interrupts
(ag_ui_version "0.1.15"), in which a call that wants an approval is a call without a result. "calls" is the same with what
pydantic-ai's documentation has for it: the application reads the tool messages at the end, and hands them on as
deferred_tool_results. "question" has a tool whose call is the question and whose result is the answer.

A user message that begins with "plain" is answered with an echo. Any other names the calls that the model makes, turn by
turn: "delete a.txt, delete b.txt; search x" is two calls in one turn and one in the next. "ask what" is a call whose result
the client brings, and so is "pick what", of a tool that the request declares. "permit a.txt" asks whether the file may be
removed, and removes it in the next turn if it may. "delete a.txt as call_7" has that id, for ids of some models repeat.

Beside the agent:
  GET /effects/{thread}   {"counts":{name:n},"effects":[..],"nodes":[],"runs":[..],"seen":[..]}: what the tools really did,
                          the requests, and the results that the model was shown
"""

import argparse
import contextvars
import importlib.metadata
import json
import os
import socket
import sys
import threading
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.exceptions import CallDeferred
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, RetryPromptPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.tools import DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

THREAD: contextvars.ContextVar[str] = contextvars.ContextVar("thread", default="")
PACKAGES = ("pydantic-ai-slim", "ag-ui-protocol")


class Ledger:
    """What really happened, per thread."""

    KINDS = ("effects", "nodes", "runs", "seen")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: dict[str, dict[str, list]] = {}

    def add(self, kind: str, what: Any) -> None:
        with self._lock:
            self._threads.setdefault(THREAD.get(), {k: [] for k in self.KINDS})[kind].append(what)

    def of(self, name: str) -> dict[str, Any]:
        with self._lock:
            kept = self._threads.get(name, {k: [] for k in self.KINDS})
            counts: dict[str, int] = {}
            for effect in kept["effects"]:
                counts[effect["name"]] = counts.get(effect["name"], 0) + 1
            return {"counts": counts, **{k: list(v) for k, v in kept.items()}}


LEDGER = Ledger()


def said(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    return " ".join(text for text in part.content if isinstance(text, str))


def allows(content: Any) -> bool:
    """What a lenient reader makes of an answer."""
    try:
        return bool(json.loads(content if isinstance(content, str) else json.dumps(content)).get("approved"))
    except (ValueError, AttributeError):
        return False


async def model(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
    """Answers the last user message: the turn is the number of its own answers behind it."""
    order, turn, results, permitted = "", 0, [], []
    for message in messages:
        if isinstance(message, ModelResponse):
            turn += 1
            continue
        for part in message.parts if isinstance(message, ModelRequest) else []:
            if isinstance(part, UserPromptPart):
                order, turn, results, permitted = said(part), 0, [], []
            elif isinstance(part, (ToolReturnPart, RetryPromptPart)):
                results.append(str(part.content))
                if part.tool_name == "ask_permission":
                    permitted.append(allows(part.content))
    LEDGER.add("seen", {"order": order, "results": results})
    if order.startswith("plain"):
        yield "echo: " + order
        return
    if permitted and turn == 1:
        asked = [call.strip().partition(" ")[2] for call in order.split(",")]
        for n, (path, allowed) in enumerate(zip(asked, permitted)):
            if allowed:
                yield {n: DeltaToolCall(name="remove_file", json_args=json.dumps({"path": path}), tool_call_id="call_" + uuid.uuid4().hex[:12])}
        if any(permitted):
            return
    turns = [one for one in order.split(";") if one.strip()]
    if turn >= len(turns):
        yield "done"
        return
    for n, call in enumerate(turns[turn].split(",")):
        call, _, given_id = call.strip().partition(" as ")
        verb, _, what = call.partition(" ")
        name, key = {
            "delete": ("delete_file", "path"),
            "wipe": ("wipe_disk", "path"),
            "search": ("search", "query"),
            "ask": ("ask_user", "question"),
            "permit": ("ask_permission", "question"),
            "pick": ("pick_colour", "question"),
        }[verb]
        yield {n: DeltaToolCall(name=name, json_args=json.dumps({key: what}), tool_call_id=given_id or "call_" + uuid.uuid4().hex[:12])}


agent = Agent(FunctionModel(stream_function=model), output_type=[str, DeferredToolRequests])


@agent.tool_plain(requires_approval=True)
def delete_file(path: str) -> str:
    if path == "slow.txt":
        time.sleep(0.5)
    LEDGER.add("effects", {"name": "delete_file", "args": {"path": path}})
    return f"deleted {path}"


@agent.tool_plain(requires_approval=True)
def wipe_disk(path: str) -> str:
    LEDGER.add("effects", {"name": "wipe_disk", "args": {"path": path}})
    return f"wiped {path}"


@agent.tool_plain
def search(query: str) -> str:
    LEDGER.add("effects", {"name": "search", "args": {"query": query}})
    return f"found {query}"


@agent.tool_plain
def ask_user(question: str) -> str:
    raise CallDeferred()


@agent.tool_plain
def ask_permission(question: str) -> str:
    raise CallDeferred()


@agent.tool_plain
def remove_file(path: str) -> str:
    LEDGER.add("effects", {"name": "remove_file", "args": {"path": path}})
    return f"removed {path}"


EARLY = {"ag_ui_version": "0.1.15"}
MODES: dict[str, dict[str, Any]] = {"stateless": {}, "early": EARLY}
try:
    from pydantic_ai.conversation_store import InMemoryConversationStore

    MODES["store"] = {"manage_message_history": "server", "conversation_store": InMemoryConversationStore()}
except ImportError:
    pass


def endpoint(options: dict[str, Any]):
    async def run(request: Request):
        try:
            body = json.loads(await request.body())
            THREAD.set(str(body.get("threadId") or ""))
        except (ValueError, AttributeError):
            pass
        LEDGER.add("runs", {"path": request.url.path})
        return await AGUIAdapter.dispatch_request(request, agent=agent, **options)

    return run


async def by_calls(request: Request):
    """The calls that want an approval are answered by the tool messages at the end."""
    body = json.loads(await request.body())
    THREAD.set(str(body.get("threadId") or ""))
    LEDGER.add("runs", {"path": request.url.path})
    answers, results = DeferredToolResults(), []
    declared = {tool["name"] for tool in body["tools"]}
    names = {c["id"]: c["function"]["name"] for m in body["messages"] for c in m.get("toolCalls") or []}
    while body["messages"] and body["messages"][-1]["role"] == "tool":
        message = body["messages"].pop()
        call, content = message["toolCallId"], message["content"]
        try:
            says = json.loads(content)
            approved = says["approved"]
        except (ValueError, TypeError, KeyError):
            if names.get(call) in declared:
                answers.calls[call] = content
            else:
                results.insert(0, message)
            continue
        denied = ToolDenied(says.get("reason") or "a person has said no")
        answers.approvals[call] = ToolApproved(override_args=says.get("arguments")) if approved else denied
    body["messages"] += results
    adapter = AGUIAdapter(agent=agent, run_input=AGUIAdapter.build_run_input(json.dumps(body).encode()), accept="text/event-stream", **EARLY)
    deferred = answers if answers.approvals or answers.calls else None
    return adapter.streaming_response(adapter.run_stream(deferred_tool_results=deferred))


async def effects(request: Request) -> JSONResponse:
    return JSONResponse(LEDGER.of(request.path_params["thread"]))


def end_with_stdin() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ledger", help="not used: what is kept is kept in memory")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    routes = [Route(f"/{mode}/agent", endpoint(how), methods=["POST"]) for mode, how in [*MODES.items(), ("question", EARLY)]]
    routes.append(Route("/calls/agent", by_calls, methods=["POST"]))
    app = Starlette(routes=[*routes, Route("/effects/{thread}", effects)])
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", options.port))
    sock.listen(128)
    versions = {p: importlib.metadata.version(p) for p in PACKAGES}
    print(json.dumps({"port": sock.getsockname()[1], "modes": list(MODES), "versions": versions}), flush=True)
    threading.Thread(target=end_with_stdin, daemon=True).start()
    uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)).run(sockets=[sock])


if __name__ == "__main__":
    main()
