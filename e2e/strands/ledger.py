"""What the agents really do, per thread, and the gates at which their tools wait."""

import asyncio
import json
import pathlib
import threading
from typing import Any


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
