"""Says what the real pydantic-ai of this environment makes of a request, and what an application does that reads the tool
messages by itself, with pydantic-ai's parser and without any. Nothing runs. Prints {"ports":{..}} and ends with its standard
input."""

import asyncio
import importlib.metadata
import json
import os
import socket
import sys
import threading

import uvicorn
from ag_ui.core import CustomEvent, EventType, RunFinishedEvent, RunStartedEvent
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

AGENT = Agent(TestModel())


def approves(messages) -> bool:
    """Do the tool messages at the end approve a call, to who reads them leniently?"""
    for message in reversed(messages if isinstance(messages, list) else []):
        if not isinstance(message, dict) or message.get("role") != "tool":
            return False
        content = message.get("content")
        try:
            content = json.loads(content) if isinstance(content, str) else content
        except (ValueError, RecursionError):
            continue
        if isinstance(content, dict) and content.get("approved"):
            return True
    return False


def events(thread: str, resume: bool) -> list:
    value = {"ran": True, "thread": thread.encode("utf-8", "surrogatepass").hex(), "resume": resume, "command": False}
    ids = {"thread_id": "told", "run_id": "told"}
    return [
        RunStartedEvent(type=EventType.RUN_STARTED, **ids),
        CustomEvent(type=EventType.CUSTOM, name="verdict", value=value),
        RunFinishedEvent(type=EventType.RUN_FINISHED, **ids),
    ]


class Telling(AGUIAdapter):
    """Begins a run as the real one does, and tells what it was given in its place."""

    async def run_stream(self, **_):
        given = self.run_input
        for event in events(given.thread_id, bool(getattr(given, "resume", None)) or approves([m.model_dump() for m in given.messages])):
            yield event


async def real(request: Request) -> Response:
    try:
        return await Telling.dispatch_request(request, agent=AGENT)
    except Exception as e:
        return JSONResponse({"error": type(e).__name__}, status_code=400)


async def own(request: Request) -> Response:
    """The least that an application needs: JSON with messages, whatever it says that it is."""
    try:
        body = json.loads(await request.body())
        messages = body["messages"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return JSONResponse({}, status_code=400)
    thread = body.get("threadId")
    told = events(thread if isinstance(thread, str) else "", approves(messages))
    text = "".join("data: " + event.model_dump_json() + "\n\n" for event in told)
    return Response(text, media_type="text/event-stream")


def end_with_stdin() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


async def serve() -> None:
    ports, servers = {}, []
    version = importlib.metadata.version("pydantic-ai-slim")
    for name, endpoint in {f"pydantic-ai {version}": real, f"an application beside {version}": own}.items():
        sock = socket.socket()
        sock.bind(("127.0.0.1", 0))
        sock.listen(128)
        ports[name] = sock.getsockname()[1]
        app = Starlette(routes=[Route("/agent", endpoint, methods=["GET", "POST", "PUT", "PATCH", "DELETE"])])
        servers.append(uvicorn.Server(uvicorn.Config(app, log_level="critical")).serve(sockets=[sock]))
    print(json.dumps({"ports": ports}), flush=True)
    await asyncio.gather(*servers)


if __name__ == "__main__":
    threading.Thread(target=end_with_stdin, daemon=True).start()
    asyncio.run(serve())
