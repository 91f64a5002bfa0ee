"""Says what the real ag_ui_strands of this environment, and its ag_ui.core, make of a request. No agent runs. Prints {"ports":{..}} and
ends with its standard input."""

import importlib.metadata
import json
import os
import socket
import sys
import threading

import uvicorn
from ag_ui.core import CustomEvent, EventType, RunFinishedEvent, RunStartedEvent
from ag_ui_strands.endpoint import add_strands_fastapi_endpoint
from fastapi import FastAPI


class Telling:
    """In the place of StrandsAgent, of which the endpoint calls run."""

    async def run(self, data, *args, **kwargs):
        props = data.forwarded_props if isinstance(data.forwarded_props, dict) else {}
        command = props.get("command")
        value = {
            "ran": True,
            "thread": data.thread_id.encode("utf-8", "surrogatepass").hex(),
            "resume": bool(getattr(data, "resume", None)),
            "command": isinstance(command, dict) and command.get("resume") is not None,
        }
        ids = {"thread_id": "told", "run_id": "told"}
        yield RunStartedEvent(type=EventType.RUN_STARTED, **ids)
        yield CustomEvent(type=EventType.CUSTOM, name="verdict", value=value)
        yield RunFinishedEvent(type=EventType.RUN_FINISHED, **ids)


def end_with_stdin() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    app = FastAPI()
    add_strands_fastapi_endpoint(app, Telling(), "/agent")
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen(128)
    name = "ag_ui_strands " + importlib.metadata.version("ag_ui_strands")
    print(json.dumps({"ports": {name: sock.getsockname()[1]}}), flush=True)
    threading.Thread(target=end_with_stdin, daemon=True).start()
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[sock])


if __name__ == "__main__":
    main()
