"""Serves the agents of agents.py as Strands is served: on one port, each form at a place of its own.

It binds a free port of 127.0.0.1, prints one JSON line {"port":..,"modes":[..],"agents":[..],"versions":{..}} on
stdout and ends when its standard input ends, so that it never outlives the test that started it.

  POST /agentcore/{agent}/invocations   BedrockAgentCoreApp, streaming; the agent stays in memory, per session
  POST /kept/{agent}/invocations        the same, but made anew for each request from FileSessionManager
  POST /entrypoint/invocations          entrypoint.py, as it is
  POST /quickstart/invocations          BedrockAgentCoreApp, {"result": result.message}
  POST /input/invocations               BedrockAgentCoreApp, streaming, the prompt in input.prompt
  POST /fastapi/sse, ndjson, text       plain FastAPI: json.dumps(event, default=str), and only event["data"]
  POST /agui/{agent}                    ag_ui_strands: AG-UI

Beside the agents:
  PUT  /files/{thread}     makes the thread's folder with these files: ["a.txt"]
  GET  /files/{thread}     what is left of them
  GET  /effects/{thread}   {"counts":{name:n},"effects":[..],"nodes":[..],"runs":[..],"seen":[..]}
  GET  /gates/{name}       {"reached":bool}: is a tool waiting there
  POST /gates/{name}       lets it go on
"""

import argparse
import importlib.metadata
import json
import logging
import os
import socket
import sys
import tempfile
import threading

import uvicorn
from ag_ui_strands import StrandsAgent, StrandsAgentConfig, ToolBehavior, add_strands_fastapi_endpoint
from bedrock_agentcore.runtime import BedrockAgentCoreApp
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.routing import Mount
from strands.session.file_session_manager import FileSessionManager

import entrypoint
from agents import AGENTS, Approval, Enveloped, agent, kept
from ledger import GATES, LEDGER
from model import COMMAND, Scripted

SESSION = "x-amzn-bedrock-agentcore-runtime-session-id"
PACKAGES = ("strands-agents", "bedrock-agentcore", "ag_ui_strands", "ag-ui-protocol")


class Noted:
    """Tells the ledger which thread a request is of: the prompt names it, or AG-UI, or the session is known already."""

    def __init__(self, app) -> None:
        self.app = app

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"].startswith("/gates/"):
            await self.app(scope, receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        self.note(scope["path"], dict(scope["headers"]).get(SESSION.encode(), b"").decode(), body)
        handed = False

        async def again():
            nonlocal handed
            if handed:
                return await receive()
            handed = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, again, send)

    @staticmethod
    def note(path: str, session: str, body: bytes) -> None:
        try:
            asked = json.loads(body)
        except ValueError:
            asked = {}
        prompt = asked.get("input", asked).get("prompt")
        found = COMMAND.findall(prompt) if isinstance(prompt, str) else []
        thread = found[-1][1] if found else asked.get("threadId") or LEDGER.named(session)
        if found:
            LEDGER.add("session", thread, session)
        LEDGER.add("runs", thread, {"path": path, "session": session, "prompt": prompt})


def streaming(make, prompt=lambda payload: payload["prompt"]) -> BedrockAgentCoreApp:
    app = BedrockAgentCoreApp()

    @app.entrypoint
    async def invoke(payload, context):
        async for event in make(context.session_id).stream_async(prompt(payload)):
            yield event

    return app


def remembered(make):
    """One agent for each session, in memory."""
    agents: dict[str, object] = {}

    def of(session: str):
        if session not in agents:
            agents[session] = make()
        return agents[session]

    return of


def quickstart() -> BedrockAgentCoreApp:
    app = BedrockAgentCoreApp()
    of = remembered(AGENTS["docs"])

    @app.entrypoint
    def invoke(payload, context):
        result = of(context.session_id)(payload["prompt"])
        return {"result": result.message}

    return app


class Prompt(BaseModel):
    prompt: str


def plain() -> FastAPI:
    app = FastAPI()
    of = remembered(AGENTS["docs"])

    async def lines(session: str, prompt, before: str, after: str):
        async for event in of(session).stream_async(prompt):
            yield before + json.dumps(event, default=str) + after

    @app.post("/sse")
    async def sse(request: Request):
        stream = lines(request.headers[SESSION], (await request.json())["prompt"], "data: ", "\n\n")
        return StreamingResponse(stream, media_type="text/event-stream")

    @app.post("/ndjson")
    async def ndjson(request: Request):
        stream = lines(request.headers[SESSION], (await request.json())["prompt"], "", "\n")
        return StreamingResponse(stream, media_type="application/x-ndjson")

    @app.post("/text")
    async def text(prompt: Prompt):
        async def words():
            async for event in AGENTS["docs"]().stream_async(prompt.prompt):
                if "data" in event:
                    yield event["data"]

        return StreamingResponse(words(), media_type="text/plain")

    return app


def sessions(**options) -> StrandsAgentConfig:
    """The configuration of an adapter whose agents keep their sessions on disk."""
    folder = str(LEDGER.folder.with_suffix(".agui-sessions"))
    return StrandsAgentConfig(session_manager_provider=lambda asked: FileSessionManager(session_id=asked.thread_id, storage_dir=folder), **options)


def agui() -> tuple[FastAPI, list[str]]:
    app = FastAPI()
    gated = StrandsAgentConfig(tool_behaviors={name: ToolBehavior(interrupt_on_call=True) for name in ("delete_files", "delete_slowly")})
    served = {
        "gate": StrandsAgent(agent=agent(), name="gate", config=gated),
        "hook": StrandsAgent(agent=agent(), name="hook", hooks=[Enveloped()]),
        "docs": StrandsAgent(agent=agent(), name="docs", hooks=[Approval()]),
        # with a session manager, which 1.0.2 wants for a turn with calls of the client's
        "kept-gate": StrandsAgent(agent=agent(), name="kept-gate", config=sessions(tool_behaviors=gated.tool_behaviors)),
        "kept-hook": StrandsAgent(agent=agent(), name="kept-hook", hooks=[Enveloped()], config=sessions()),
    }
    for name, one in served.items():
        add_strands_fastapi_endpoint(app, one, "/" + name)
    return app, list(served)


def beside() -> FastAPI:
    app = FastAPI()

    @app.put("/files/{thread}")
    async def make(thread: str, names: list[str]):
        (LEDGER.folder / thread).mkdir()
        for name in names:
            (LEDGER.folder / thread / name).write_text(name)
        return {}

    @app.get("/files/{thread}")
    async def left(thread: str):
        return sorted(f.name for f in (LEDGER.folder / thread).iterdir())

    @app.get("/effects/{thread}")
    async def effects(thread: str):
        return LEDGER.of(thread)

    @app.get("/gates/{name}")
    async def gate(name: str):
        return {"reached": name in GATES.reached}

    @app.post("/gates/{name}")
    async def open_gate(name: str):
        GATES.open(name)
        return {}

    return app


def build() -> tuple[Noted, list[str]]:
    adapter, adapted = agui()
    entrypoint.model = Scripted()
    os.environ["SESSIONS"] = str(LEDGER.folder.with_suffix(".entrypoint"))
    routes = {f"agentcore/{name}": streaming(remembered(make)) for name, make in AGENTS.items()}
    routes |= {f"kept/{name}": streaming(lambda session, name=name: kept(name, session)) for name in AGENTS}
    routes |= {
        "entrypoint": entrypoint.app,
        "quickstart": quickstart(),
        "input": streaming(remembered(AGENTS["docs"]), lambda payload: payload["input"]["prompt"]),
        "fastapi": plain(),
        "agui": adapter,
    }
    logging.getLogger("bedrock_agentcore.app").setLevel(logging.CRITICAL)
    app = Starlette(routes=[Mount("/" + path, one) for path, one in routes.items()] + [Mount("/", beside())])
    return Noted(app), [path for path in routes if path not in ("fastapi", "agui")] + [f"agui/{name}" for name in adapted]


def end_with_stdin() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ledger", help="keep ledger, files and sessions in and beside this file, so that they outlive the process")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    LEDGER.persist(options.ledger or os.path.join(tempfile.mkdtemp(), "ledger"))
    app, modes = build()
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", options.port))
    sock.listen(128)
    versions = {p: importlib.metadata.version(p) for p in PACKAGES}
    print(json.dumps({"port": sock.getsockname()[1], "modes": modes, "agents": list(AGENTS), "versions": versions}), flush=True)
    threading.Thread(target=end_with_stdin, daemon=True).start()
    uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)).run(sockets=[sock])


if __name__ == "__main__":
    main()
