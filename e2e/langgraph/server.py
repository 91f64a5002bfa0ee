"""Serves the graphs of graphs.py as AG-UI endpoints of ag-ui-langgraph: POST /<mode>/<graph>.

It binds a free port of 127.0.0.1, prints one JSON line {"port":..,"modes":[..],"graphs":[..],"versions":{..}} on
stdout and ends when its standard input ends, so that it never outlives the test that started it.

Beside the agents:
  GET  /effects/{thread}   {"counts":{name:n},"effects":[..],"nodes":[..],"runs":[{"mode","graph","resume","command"}]}
  GET  /gates/{name}       {"reached":bool}: is a node waiting there
  POST /gates/{name}       lets it go on
  GET  /preflights         [{"origin","host","headers"}], with --cors
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
from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from graphs import GATES, LEDGER, compiled

# mode -> options of the adapter; a mode whose options this version of the adapter does not have is not served
MODES = {
    "default": {},
    "outcome": {"emit_interrupt_outcome": True},
    "quiet": {"emit_raw_events": False},
    "outcomeonly": {"emit_interrupt_outcome": True, "enable_legacy_on_interrupt_event": False},
}


class Counted(LangGraphAgent):
    """The adapter's own agent, which notes that it was asked to run."""

    async def run(self, input):
        mode, graph = self.name.split("/")
        resume = [entry.model_dump(by_alias=True) for entry in getattr(input, "resume", None) or []]
        command = ((input.forwarded_props or {}).get("command") or {}).get("resume")
        LEDGER.add("runs", input.thread_id, {"mode": mode, "graph": graph, "resume": resume, "command": command})
        async for event in super().run(input):
            yield event


def build() -> tuple[FastAPI, list[str], list[str]]:
    app = FastAPI()
    known = inspect.signature(LangGraphAgent.__init__).parameters
    modes = [mode for mode, options in MODES.items() if all(option in known for option in options)]
    graphs = compiled()
    for mode in modes:
        for name, graph in graphs.items():
            agent = Counted(name=f"{mode}/{name}", graph=graph, **MODES[mode])
            add_langgraph_fastapi_endpoint(app, agent, f"/{mode}/{name}")

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

    return app, modes, list(graphs)


class Preflights:
    """Notes what browsers ask before their requests, in front of the middleware that answers."""

    def __init__(self, app) -> None:
        self.app = app
        self.seen: list[dict] = []

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http" and scope["method"] == "OPTIONS":
            headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
            self.seen.append({
                "origin": headers.get("origin", ""),
                "host": headers.get("x-forwarded-host", ""),
                "headers": headers.get("access-control-request-headers", ""),
            })
        await self.app(scope, receive, send)


def allow(app: FastAPI, origin: str):
    """The usual way in which a FastAPI backend lets the pages of one origin in."""
    app.add_middleware(CORSMiddleware, allow_origins=[origin], allow_methods=["*"], allow_headers=["*"], allow_credentials=True)
    noted = Preflights(app)

    @app.get("/preflights")
    async def preflights():
        return noted.seen

    return noted


def end_with_stdin() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ledger", help="keep the ledger in this file, so that it outlives the process")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--cors", help="let pages of this origin in")
    options = parser.parse_args()
    if options.ledger:
        LEDGER.persist(options.ledger)
    app, modes, graphs = build()
    served = allow(app, options.cors) if options.cors else app
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", options.port))
    sock.listen(128)
    versions = {p: importlib.metadata.version(p) for p in ("ag-ui-langgraph", "ag-ui-protocol", "langgraph", "langchain")}
    print(json.dumps({"port": sock.getsockname()[1], "modes": modes, "graphs": graphs, "versions": versions}), flush=True)
    threading.Thread(target=end_with_stdin, daemon=True).start()
    uvicorn.Server(uvicorn.Config(served, log_level="warning", timeout_graceful_shutdown=1)).run(sockets=[sock])


if __name__ == "__main__":
    main()
