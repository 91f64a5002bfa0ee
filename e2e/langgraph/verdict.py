"""Says what the real adapter makes of a request: would it run an agent, on which thread, with an answer or without?

One FastAPI endpoint of ag-ui-langgraph, POST /agent, whose agent tells what it was given instead of running a graph:
the stream holds a CUSTOM event "verdict" with {"thread","resume","command"} if a run began, and nothing like it where
FastAPI, pydantic or the adapter refused the request. Prints {"port":n} and ends with its standard input.
"""

import json
import os
import socket
import sys
import threading

import uvicorn
from ag_ui.core import CustomEvent, EventType, RunFinishedEvent, RunStartedEvent
from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI

from graphs import compiled


class Telling(LangGraphAgent):
    """Overrides what run() calls after it has made the keys of forwardedProps its own."""

    async def _handle_stream_events(self, input):
        command = (input.forwarded_props or {}).get("command", {})
        verdict = {
            "thread": input.thread_id.encode("utf-8", "surrogatepass").hex(),
            "resume": bool(getattr(input, "resume", None)),
            "command": isinstance(command, dict) and command.get("resume") is not None,
        }
        ids = {"thread_id": "told", "run_id": "told"}
        yield RunStartedEvent(type=EventType.RUN_STARTED, **ids)
        yield CustomEvent(type=EventType.CUSTOM, name="verdict", value=verdict)
        yield RunFinishedEvent(type=EventType.RUN_FINISHED, **ids)


def end_with_stdin() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, Telling(name="telling", graph=compiled()["chat"]), "/agent")
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen(128)
    print(json.dumps({"port": sock.getsockname()[1]}), flush=True)
    threading.Thread(target=end_with_stdin, daemon=True).start()
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[sock])


if __name__ == "__main__":
    main()
