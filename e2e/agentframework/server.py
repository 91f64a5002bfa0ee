"""Serves the agents of agents.py as AG-UI endpoints of agent-framework-ag-ui: POST /<mode>/<agent>.

It binds a free port of 127.0.0.1, prints one JSON line {"port":..,"modes":[..],"agents":[..],"versions":{..}} on
stdout and ends when its standard input ends, so that it never outlives the test that started it.

Beside the agents:
  GET  /effects/{thread}   {"counts":{name:n},"effects":[..],"nodes":[..],"runs":[..],"seen":[..]}
  GET  /executed           {thread:[{"name","args"}]}: every tool that ran, every answer a workflow was handed
  GET  /seen               {thread:[{"messages":[..],"complaints":[..]}]}: per call of the model, what it was shown and
                           what a provider would have refused in it
  GET  /gates/{name}       {"reached":bool}: is a tool or a model waiting there
  POST /gates/{name}       lets it go on
"""

import argparse
import importlib.metadata
import inspect
import json
import os
import socket
import sys
import threading

import uvicorn
from agent_framework_ag_ui import AgentFrameworkAgent, add_agent_framework_fastapi_endpoint
from fastapi import FastAPI

from agents import GATES, LEDGER, THREAD, agents, workflows

# mode -> options of the adapter; a mode whose options this version of the adapter does not have is not served
MODES = {
    "default": {"require_confirmation": True},
    "unconfirmed": {"require_confirmation": False},
    # AG-UI Thread Snapshots: the backend keeps the messages of a thread itself
    "stored": {"require_confirmation": True, "snapshot_store": None},
}
PACKAGES = ("agent-framework-ag-ui", "agent-framework-core", "ag-ui-protocol")


class Noted:
    """Tells the ledger which thread a request is of, from its body; the adapter tells neither tool nor model. A thread id
    that the adapter made up itself, as some betas do for each run, is the thread that it was made up for."""

    def __init__(self, app) -> None:
        self.app = app
        self.made_up: dict[str, str] = {}

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"].startswith("/gates/"):
            await self.app(scope, receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        try:
            named = str(json.loads(body).get("threadId") or "")
        except (ValueError, AttributeError):
            named = ""
        named = self.made_up.get(named, named)
        THREAD.set(named)
        LEDGER.add("runs", {"path": scope["path"]})
        handed = False

        async def again():
            nonlocal handed
            if handed:
                return await receive()
            handed = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def listen(message):
            if message["type"] == "http.response.body":
                for frame in message.get("body", b"").split(b"\n\n"):
                    if frame.startswith(b'data: {"type":"RUN_STARTED"'):
                        self.made_up.setdefault(json.loads(frame[6:])["threadId"], named)
            await send(message)

        await self.app(scope, again, listen)


def build() -> tuple[FastAPI, list[str], list[str]]:
    app = FastAPI()
    wrapper = inspect.signature(AgentFrameworkAgent.__init__).parameters
    endpoint = inspect.signature(add_agent_framework_fastapi_endpoint).parameters
    modes = [mode for mode, options in MODES.items() if all(option in wrapper for option in options)]
    scripted, flows = agents(), workflows()
    # newer versions serve nothing before they are told who may ask
    anyone = {"single_user": True} if "single_user" in endpoint else {}
    for mode in modes:
        options, extra = dict(MODES[mode]), dict(anyone)
        if "snapshot_store" in options:
            from agent_framework_ag_ui import InMemoryAGUIThreadSnapshotStore
            options["snapshot_store"] = InMemoryAGUIThreadSnapshotStore()
            if not anyone:
                extra["snapshot_scope_resolver"] = lambda request: "everyone"
        for name, (agent, more) in scripted.items():
            add_agent_framework_fastapi_endpoint(app, AgentFrameworkAgent(agent=agent, **options, **more), f"/{mode}/{name}", **extra)
    try:
        from agent_framework_ag_ui import AgentFrameworkWorkflow
    except ImportError:
        flows = {}
    for name, factory in flows.items():
        add_agent_framework_fastapi_endpoint(app, AgentFrameworkWorkflow(workflow_factory=factory), f"/default/{name}", **anyone)

    @app.get("/effects/{thread}")
    async def effects(thread: str):
        return LEDGER.of(thread)

    @app.get("/executed")
    async def executed():
        return LEDGER.all("effects")

    @app.get("/seen")
    async def seen():
        return LEDGER.all("seen")

    @app.get("/gates/{name}")
    async def gate(name: str):
        return {"reached": name in GATES.reached}

    @app.post("/gates/{name}")
    async def open_gate(name: str):
        GATES.open(name)
        return {}

    app.add_middleware(Noted)
    return app, modes, [*scripted, *flows]


def end_with_stdin() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ledger", help="keep the ledger in this file, so that it outlives the process")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    if options.ledger:
        LEDGER.persist(options.ledger)
    app, modes, names = build()
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", options.port))
    sock.listen(128)
    versions = {p: importlib.metadata.version(p) for p in PACKAGES}
    print(json.dumps({"port": sock.getsockname()[1], "modes": modes, "agents": names, "versions": versions}), flush=True)
    threading.Thread(target=end_with_stdin, daemon=True).start()
    uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)).run(sockets=[sock])


if __name__ == "__main__":
    main()
