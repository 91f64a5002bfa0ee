"""Serves agents of AG2 over its AG-UI stream, POST /<mode>/agent. No model is called. See serving.py.

Modes: "held" is AGUIStream as documented, which keeps the waiting turn in the process; "proof" wants the proof of a question with
its answer (require_resume_proof).

A user message that begins with "plain" is answered with an echo. Any other names the calls that the model makes, turn by turn:
"delete a.txt, delete b.txt; search x" is two calls in one turn and one in the next; "ask name" is a tool that asks the person
itself, "show x" a tool of the client's, and "break a.txt" one that fails when its effect has happened. "fail" makes the model fail.
"""

import contextvars
import json
import os
import sys
import uuid

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from ag2 import Agent, Context, tool
from ag2.ag_ui import AGUIStream
from ag2.config import LLMClient, ModelConfig
from ag2.events import ModelMessage, ModelResponse, ToolCallEvent, ToolCallsEvent
from ag2.middleware import approval_required
from starlette.applications import Starlette
from starlette.routing import Route

from serving import LEDGER, options, serve

THREAD: contextvars.ContextVar[str] = contextvars.ContextVar("thread", default="")
CALLS = {
    "delete": ("delete_file", "path"),
    "break": ("break_file", "path"),
    "search": ("search", "query"),
    "ask": ("ask", "question"),
    "show": ("show_dialog", "label"),  # a tool that the client may declare
}


def texts(message) -> list[str]:
    parts = getattr(message, "inputs", None) or getattr(message, "parts", None) or [message]
    found = [getattr(part, "content", None) or getattr(part, "text", None) for part in parts]
    return [text for text in found if isinstance(text, str)]


class Scripted(LLMClient):
    async def __call__(self, messages, context, **_):
        """Answers the last user message: the turn is the number of its own answers behind it."""
        order, turn, results = "", 0, []
        for message in messages:
            kind = type(message).__name__
            if kind == "ModelResponse":
                turn += 1
            elif kind == "ToolResultsEvent":
                results += [str(getattr(r, "result", r)) for r in message.results]
            elif kind == "ModelRequest" and (said := texts(message)):
                order, turn, results = said[-1], 0, []
        LEDGER.add(THREAD.get(), "seen", {"order": order, "results": results})
        if order.startswith("fail"):
            raise RuntimeError("the model fails")
        turns = [] if order.startswith("plain") else [one for one in order.split(";") if one.strip()]
        if turn < len(turns):
            calls = []
            for one in turns[turn].split(","):
                verb, _, what = one.strip().partition(" ")
                if verb not in CALLS:
                    raise RuntimeError("the model fails")
                name, key = CALLS[verb]
                calls.append(ToolCallEvent(name, id="call_" + uuid.uuid4().hex[:12], arguments=json.dumps({key: what})))
            return ModelResponse(None, tool_calls=ToolCallsEvent(calls))
        message = ModelMessage("echo: " + order if order.startswith("plain") else "done")
        await context.send(message)
        return ModelResponse(message, tool_calls=ToolCallsEvent([]))


class Config(ModelConfig):
    model = "scripted"

    @property
    def provider(self):
        raise NotImplementedError

    def copy(self):
        return self

    def create(self):
        return Scripted()

    def create_files_client(self):
        raise NotImplementedError


@tool(middleware=[approval_required()])
def delete_file(path: str) -> str:
    """Deletes a file."""
    LEDGER.effect(THREAD.get(), "delete_file", path=path)
    return f"deleted {path}"


@tool(middleware=[approval_required()])
def break_file(path: str) -> str:
    """Fails behind its effect."""
    LEDGER.effect(THREAD.get(), "break_file", path=path)
    raise RuntimeError("broken")


@tool
def search(query: str) -> str:
    """Searches."""
    LEDGER.effect(THREAD.get(), "search", query=query)
    return f"found {query}"


@tool
async def ask(context: Context, question: str) -> str:
    """Asks the person."""
    answer = await context.input(question)
    LEDGER.effect(THREAD.get(), "ask", answer=answer)
    return answer


class Threaded:
    """Tells the tools which thread calls them. The turn of a thread is begun by its request."""

    def __init__(self, app) -> None:
        self.app = app

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        try:
            THREAD.set(str(json.loads(body).get("threadId")))
        except (ValueError, AttributeError):
            pass
        handed = False

        async def again():
            nonlocal handed
            if handed:
                return await receive()
            handed = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, again, send)


MODES = {"held": {}, "proof": {"require_resume_proof": True}}


def endpoint(how):
    agent = Agent("agent", "You are a test.", config=Config(), tools=[delete_file, break_file, search, ask])
    return AGUIStream(agent, **how).build_asgi()


app = Threaded(Starlette(routes=[Route(f"/{mode}/agent", endpoint(how)) for mode, how in MODES.items()]))

if __name__ == "__main__":
    given = options()
    serve(app, list(MODES), ("ag2", "ag-ui-protocol"), given.port)
