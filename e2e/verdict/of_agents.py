"""Says what the real agent-framework-ag-ui of this environment makes of a request: its endpoint, its AGUIRequest where it has one, its
reading of approvals in the messages. Nothing runs. Prints {"ports":{..}} and ends with its standard input."""

import importlib.metadata
import inspect
import json
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "agentframework"))

import agent_framework_ag_ui._message_adapters as adapters
import uvicorn
from ag_ui.core import CustomEvent, EventType, RunFinishedEvent, RunStartedEvent
from agent_framework_ag_ui import AgentFrameworkAgent, add_agent_framework_fastapi_endpoint
from agents import agents
from fastapi import FastAPI

RAW = {}


def approves(messages) -> bool:
    """Does the adapter make a decision of one of the messages? A yes and a no alike."""
    convert = adapters.agui_messages_to_agent_framework
    try:
        converted = convert(messages)
    except Exception:
        return False
    for message in converted:
        for content in getattr(message, "contents", None) or []:
            kind = getattr(content, "type", "")
            if "approval_response" in str(kind):
                return True
    return False


class Telling(AgentFrameworkAgent):
    async def _told(self, data):
        # Some versions know thread_id only and make up an id otherwise; the caller's own is in the body.
        raw = RAW.get("body")
        thread = data.get("thread_id") or data.get("threadId")
        if thread is None and isinstance(raw, dict):
            thread = raw.get("threadId") or raw.get("thread_id")
        props = data.get("forwarded_props") or data.get("forwardedProps") or {}
        command = props.get("command") if isinstance(props, dict) else None
        value = {
            "ran": True,
            "thread": str(thread or "").encode("utf-8", "surrogatepass").hex(),
            "resume": bool(data.get("resume")) or approves(data.get("messages") or []),
            "command": isinstance(command, dict) and command.get("resume") is not None or isinstance(props, dict) and bool(props.get("resume")),
        }
        ids = {"thread_id": "told", "run_id": "told"}
        yield RunStartedEvent(type=EventType.RUN_STARTED, **ids)
        # without messages no version does anything
        if data.get("messages"):
            yield CustomEvent(type=EventType.CUSTOM, name="verdict", value=value)
        yield RunFinishedEvent(type=EventType.RUN_FINISHED, **ids)

    def run(self, data, *args, **kwargs):
        return self._told(data)

    def run_agent(self, data, *args, **kwargs):
        return self._told(data)


class Noted:
    def __init__(self, app) -> None:
        self.app = app

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
        try:
            RAW["body"] = json.loads(body)
        except (ValueError, RecursionError):
            RAW["body"] = None
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


def main() -> None:
    app = FastAPI()
    agent, more = agents()["approve"]
    anyone = {"single_user": True} if "single_user" in inspect.signature(add_agent_framework_fastapi_endpoint).parameters else {}
    add_agent_framework_fastapi_endpoint(app, Telling(agent=agent, **more), "/agent", **anyone)
    app.add_middleware(Noted)
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen(128)
    name = "agent-framework-ag-ui " + importlib.metadata.version("agent-framework-ag-ui")
    print(json.dumps({"ports": {name: sock.getsockname()[1]}}), flush=True)
    threading.Thread(target=end_with_stdin, daemon=True).start()
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[sock])


if __name__ == "__main__":
    main()
