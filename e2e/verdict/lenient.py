"""Says what lenient servers in Python make of a request: Flask, and a raw ASGI application behind uvicorn. As verdict.mjs: an agent
that validates nothing. Prints {"ports":{..}} and ends with its standard input."""

import json
import os
import socket
import sys
import threading

import uvicorn
from flask import Flask, Response, request
from werkzeug.serving import make_server

KEYS = ("interruptId", "interrupt_id", "interrupts", "interrupt")


def verdict(data) -> dict:
    if not isinstance(data, dict):
        return {"ran": False}
    thread = data.get("threadId", data.get("thread_id"))
    resume = data.get("resume")
    entries = resume if isinstance(resume, list) else [resume]
    props = data.get("forwardedProps", data.get("forwarded_props"))
    command = props.get("command") if isinstance(props, dict) else None
    answers = any(isinstance(one, dict) and any(key in one for key in KEYS) for one in entries)
    # a form's fields are flat here, and an application that wants more takes the brackets apart
    answers = answers or any(key.startswith("resume[") and any(inner in key for inner in KEYS) for key in data)
    told = isinstance(command, dict) and command.get("resume") is not None or "forwardedProps[command][resume]" in data
    begun = thread is not None and any(key in data or any(k.startswith(key + "[") for k in data) for key in ("messages", "runId", "run_id"))
    text = str(thread if thread is not None else "").encode("utf-8", "surrogatepass").hex()
    return {"ran": begun or answers or told, "thread": text, "resume": answers, "command": told}


def told(data) -> bytes:
    return b"data: " + json.dumps({"type": "CUSTOM", "name": "verdict", "value": verdict(data)}).encode() + b"\n\n"


app = Flask(__name__)
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "REPORT", "SEARCH", "LOCK"]


@app.route("/agent", methods=METHODS)
def flask():
    data = request.get_json(force=True, silent=True)
    if data is None and (request.form or request.files):
        data = request.form.to_dict()
    return Response(told(data), mimetype="text/event-stream")


async def asgi(scope, receive, send):
    if scope["type"] != "http":
        return
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message.get("body", b"")
        more = message.get("more_body", False)
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    found = scope["path"] == "/agent"
    await send({"type": "http.response.start", "status": 200 if found else 404, "headers": [(b"content-type", b"text/event-stream")]})
    await send({"type": "http.response.body", "body": told(data) if found else b""})


def end_with_stdin() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    import logging

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen(128)
    print(json.dumps({"ports": {"Flask": server.server_port, "raw ASGI": sock.getsockname()[1]}}), flush=True)
    threading.Thread(target=end_with_stdin, daemon=True).start()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    uvicorn.Server(uvicorn.Config(asgi, log_level="critical", lifespan="off")).run(sockets=[sock])


if __name__ == "__main__":
    main()
