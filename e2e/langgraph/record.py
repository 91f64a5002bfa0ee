"""Records what the real backends send, without a proxy: recordings/<version>/<mode>/<scenario>/<n>.{request.json,response.sse}.

Run it with the Python of one environment; it starts server.py with the same Python:

    .cache/venv-.../bin/python record.py recordings [scenario...]

Native ids differ from run to run, so every recording that is made again changes; without names, only those that are
missing are made.
scenario.txt of each folder names the path, and per step the status, how the body ended (clean, or cut: no last chunk)
and what the graph had really done by then. An answer in the list below names the open interrupts by position.
"""

import http.client
import importlib.metadata
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
GO = {"id": "u1", "role": "user", "content": "go"}
APPROVAL = {"id": "ai-1", "role": "assistant", "content": "I need your approval."}


def user(id, text):
    return {"id": id, "role": "user", "content": text}


def ids(*values):
    """An answer in the command form: the map of native id -> value, for the interrupts of the last run in order."""
    return lambda open: {"command": {"resume": dict(zip(open, values))}}


def bare(value):
    return lambda open: {"command": {"resume": value}}


def entries(*payloads):
    return lambda open: [{"interruptId": i, "status": "resolved", "payload": p} for i, p in zip(open, payloads)]


YES, NO = {"approved": True}, {"approved": False}
APPROVE, REJECT = {"type": "approve"}, {"type": "reject", "message": "no"}
EDIT = {"type": "edit", "edited_action": {"name": "send_email", "args": {"to": "eve@example.org", "body": "hi"}}}
NEXT = {"messages": [GO, user("u2", "plain and simple")]}

# name -> (graph, [step]); a step may have messages, props (the forwardedProps, made from the open native ids) and resume
BASIC = {
    "approve": ("approve", [{}, {"props": ids(YES)}, {"messages": [GO, APPROVAL, user("u2", "plain and simple")]}]),
    "deny": ("approve", [{}, {"props": ids(NO)}]),
    "sequential": ("sequential", [{}, {"props": ids(YES)}, {"props": ids(YES)}, NEXT]),
    "parallel": ("parallel", [{}, {}, {"props": ids(YES, NO)}, NEXT]),
    "hitl": ("hitl", [{}, {"props": ids({"decisions": [EDIT, REJECT]})}, NEXT]),
    "error": ("boom", [{}, NEXT]),
    "plain": ("chat", [{"messages": [user("u1", "plain and simple")]}]),
}
# With raw events off there is no native id on the wire: the answer is the bare value, and two at once have none.
QUIET = {
    "approve": ("approve", [{}, {"props": bare(YES)}, {"messages": [GO, APPROVAL, user("u2", "plain and simple")]}]),
    "deny": ("approve", [{}, {"props": bare(NO)}]),
    "sequential": ("sequential", [{}, {"props": bare(YES)}, {"props": bare(YES)}]),
    "parallel": ("parallel", [{}, {}, {"props": bare(YES)}]),
    "hitl": ("hitl", [{}, {"props": bare({"decisions": [EDIT, REJECT]})}]),
    "error": ("boom", [{}]),
    "lost": ("truthy", [{"props": lambda open: {"command": {"resume": True}}}]),
    "lost-hitl": ("hitl", [{"props": lambda open: {"command": {"resume": True}}}]),
    "subgraph": ("subgraph", [{}, {"props": bare(YES)}]),
}
VALUES = {
    "schema": ("schema", [{}, {"props": ids({"count": 2})}]),
    "inbox": ("inbox", [{}, {"props": ids([{"type": "accept", "args": None}])}]),
    "copilot": ("copilot", [{}, {"props": ids("Bob")}]),
    "text": ("text", [{}, {"props": ids("42")}]),
}
ODD = {
    "subgraph": ("subgraph", [{}, {}, {"props": ids(YES)}, NEXT]),
    "loop": ("loop", [{}, {"props": ids(YES)}, {"props": ids(NO)}]),
    "tools": ("tools", [{}, {"props": ids(YES)}, {"props": ids(YES)}]),
    "lost-hitl": ("hitl", [{"props": lambda open: {"command": {"resume": {"a" * 32: {"decisions": [APPROVE, APPROVE]}}}}}]),
    "text-bare-42": ("text", [{}, {"props": bare("42")}]),
    "falsy-in-map": ("text", [{}, {"props": ids(False)}]),
    "falsy-bare": ("text", [{}, {"props": bare("")}]),
    "null-bare": ("text", [{}, {"props": bare(None)}]),
    "null-in-map": ("text", [{}, {"props": ids(None)}]),
    "empty-object": ("text", [{}, {"props": bare({})}]),
    "unknown-id": ("text", [{}, {"props": lambda open: {"command": {"resume": {"f" * 32: "x"}}}}]),
    "nothing-pending": ("text", [{"messages": [user("u1", "plain")]}, {"messages": [user("u1", "plain")], "props": bare("x")}]),
    "lost": ("truthy", [{"props": lambda open: {"command": {"resume": {"a" * 32: True}}}}, {}, {"props": ids(False)}]),
    "parallel-partial": ("parallel", [{}, {"props": ids(YES)}, {}]),
    "parallel-bare": ("parallel", [{}, {"props": bare(YES)}, {}]),
    "resume-array": ("truthy", [{}, {"resume": entries(True)}]),
    "resume-array-cancelled": ("truthy", [{}, {"resume": lambda open: [{"interruptId": open[0], "status": "cancelled"}]}]),
    "resume-array-no-payload": ("truthy", [{}, {"resume": lambda open: [{"interruptId": open[0], "status": "resolved"}]}]),
    "resume-array-two": ("parallel", [{}, {}, {"resume": entries(YES, YES)}, {}]),
    "messages-empty": ("truthy", [{}, {"messages": [], "props": ids(True)}]),
    "new-message-while-open": ("truthy", [{}, NEXT, {"messages": [user("u1", "plain, edited")]}]),
    "regenerate": ("truthy", [{"messages": [user("u1", "plain")]},
                              {"messages": [user("u1", "plain"), GO | {"id": "u2"}]},
                              {"messages": [{"id": "x", "role": "assistant", "content": "?"}, GO | {"id": "u2"}]}]),
    "hitl-bad-decision": ("hitl", [{}, {"props": ids({"decisions": [APPROVE]})}, {"props": ids({"decisions": [APPROVE, REJECT]})}, NEXT]),
    "first-answer-sticks": ("approve", [{}, {"props": ids(YES | {"boom": True})}, {}, {"props": ids(NO)}]),
}
MODES = {
    "default": BASIC | VALUES | ODD,
    "outcome": BASIC | VALUES,
    "quiet": QUIET,
    "outcomeonly": {"approve": BASIC["approve"], "parallel": BASIC["parallel"]},
}


def ask(port, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, body, {"Content-Type": "application/json", "Accept": "text/event-stream"})
    response = connection.getresponse()
    try:
        return response.status, response.read(), "clean"
    except http.client.IncompleteRead as cut:
        return response.status, cut.partial, "cut"
    finally:
        connection.close()


def native_ids(sse, before):
    """The native ids that a run showed; the ones of the run before where it showed none."""
    found = []
    for frame in sse.decode().split("\n\n"):
        if not frame.startswith("data: "):
            continue
        event = json.loads(frame[6:])
        if event["type"] == "CUSTOM" and event["name"] == "on_interrupt":
            found.append(event.get("rawEvent", {}).get("id"))
        for interrupt in (event.get("outcome") or {}).get("interrupts", []):
            found.append(interrupt["id"])
    found = list(dict.fromkeys(i for i in found if i))
    return found or before


def record(port, mode, name, graph, steps, folder):
    folder.mkdir(parents=True)
    thread, open, notes = f"{mode}-{name}", [], [f"path: /{mode}/{graph}"]
    for number, step in enumerate(steps, 1):
        body = {"threadId": thread, "runId": f"run-{number}", "state": {}, "messages": step.get("messages", [GO]),
                "tools": [], "context": [], "forwardedProps": step["props"](open) if "props" in step else {}}
        if "resume" in step:
            body["resume"] = step["resume"](open)
        status, sse, end = ask(port, "POST", f"/{mode}/{graph}", json.dumps(body))
        (folder / f"{number}.request.json").write_text(json.dumps(body, indent=2) + "\n")
        (folder / f"{number}.response.sse").write_bytes(sse)
        done = json.loads(ask(port, "GET", f"/effects/{thread}")[1])
        notes.append(f"{number}: {status} {end}; effects {json.dumps(done['counts'])}; nodes {' '.join(done['nodes'])}".rstrip())
        open = native_ids(sse, open)
    (folder / "scenario.txt").write_text("\n".join(notes) + "\n")


def main():
    out = pathlib.Path(sys.argv[1]) / importlib.metadata.version("ag-ui-langgraph")
    wanted = sys.argv[2:]
    server = subprocess.Popen([sys.executable, HERE / "server.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
    ready = json.loads(server.stdout.readline())
    try:
        for mode in ready["modes"]:
            for name, (graph, steps) in MODES[mode].items():
                folder = out / mode / name
                if name in wanted:
                    shutil.rmtree(folder, ignore_errors=True)
                if not folder.exists():
                    record(ready["port"], mode, name, graph, steps, folder)
    finally:
        server.stdin.close()
        server.wait(10)


if __name__ == "__main__":
    main()
