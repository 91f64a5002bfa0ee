"""What the servers of adk, crewai and agno have in common: what really happened, by thread, and how they are started.

They bind a free port of 127.0.0.1, print one JSON line {"port":..,"modes":[..],"versions":{..}} on stdout and end when their
standard input ends, so that they never outlive the test that started them.

  GET /effects/{thread}   {"counts":{name:n},"effects":[..],"nodes":[],"runs":[..],"seen":[..]}: what the tools really did, the
                          requests, and what the model was shown
"""

import argparse
import importlib.metadata
import json
import os
import socket
import sys
import threading
from typing import Any

import uvicorn


class Ledger:
    """What really happened, per thread."""

    KINDS = ("effects", "nodes", "runs", "seen")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: dict[str, dict[str, list]] = {}

    def add(self, thread: str, kind: str, what: Any) -> None:
        with self._lock:
            self._threads.setdefault(thread, {k: [] for k in self.KINDS})[kind].append(what)

    def effect(self, thread: str, name: str, **args: Any) -> None:
        self.add(thread, "effects", {"name": name, "args": args})

    def of(self, thread: str) -> dict[str, Any]:
        with self._lock:
            kept = self._threads.get(thread, {k: [] for k in self.KINDS})
            counts: dict[str, int] = {}
            for effect in kept["effects"]:
                counts[effect["name"]] = counts.get(effect["name"], 0) + 1
            return {"counts": counts, **{k: list(v) for k, v in kept.items()}}


LEDGER = Ledger()


class Noted:
    """Notes every run, and answers for /effects."""

    def __init__(self, app) -> None:
        self.app = app

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] == "http" and scope["method"] == "GET" and scope["path"].startswith("/effects/"):
            body = json.dumps(LEDGER.of(scope["path"].removeprefix("/effects/")), default=str).encode()
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
            await send({"type": "http.response.body", "body": body})
            return
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        try:
            run = json.loads(body)
            LEDGER.add(str(run.get("threadId")), "runs", {"mode": scope["path"], "resume": run.get("resume")})
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


def end_with_stdin() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ledger", default=".", help="folder for what the server writes")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--database", action="store_true", help="sessions are kept in a file of that folder, by frameworks that can")
    given = parser.parse_args()
    os.makedirs(given.ledger, exist_ok=True)
    return given


def serve(app, modes: list[str], packages: tuple[str, ...], port: int) -> None:
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", port))
    sock.listen(128)
    versions = {p: importlib.metadata.version(p) for p in packages}
    print(json.dumps({"port": sock.getsockname()[1], "modes": modes, "versions": versions}), flush=True)
    os.dup2(2, 1)  # nobody reads what frameworks print there, and a full pipe would stop them
    threading.Thread(target=end_with_stdin, daemon=True).start()
    uvicorn.Server(uvicorn.Config(Noted(app), log_level="warning", timeout_graceful_shutdown=1)).run(sockets=[sock])
