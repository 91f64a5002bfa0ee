"""Records what the real backends send, without a proxy: recordings/<version>/<mode>/<scenario>/<n>.{request.json,response.sse}.

Run it with the Python of one environment; it starts server.py with the same Python:

    .cache/venv-.../bin/python record.py recordings [scenario...]

Ids differ from run to run, so every recording that is made again changes; without names, only those that are missing
are made.
scenario.txt of each folder names the path and, per step, what was sent (the name of the form below), the status, how
the body ended (clean, or cut: no last chunk) and the run, what had really run by then, how often this step asked the model,
and what a provider would have refused in what it was shown.

The history in the requests is that of a client behind Holdpoint: the real calls and their real results, never a
confirm_changes call and never a message that was only sent to answer. The forms named "direct" send what a client in
front of the bare backend has instead, its MESSAGES_SNAPSHOT included.
"""

import copy
import http.client
import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
VERSION = importlib.metadata.version("agent-framework-ag-ui")
REJECTED = "Error: Tool call invocation was rejected by user."
UNSEEN = "approved, but the backend showed no result"


def user(id, text):
    return {"id": id, "role": "user", "content": text}


def events_of(sse):
    for frame in sse.decode().replace("\r\n", "\n").split("\n\n"):
        if frame.startswith("data: "):
            yield json.loads(frame[6:])


class Client:
    """What a client knows of its thread, behind Holdpoint and in front of the bare backend."""

    def __init__(self, thread):
        self.thread = self.backend_thread = thread
        self.history, self.direct = [], []
        self.pauses = []    # [{"id", "call", "name", "arguments", "confirm", "confirm_arguments", "value"}]
        self.sent = 0

    def say(self, text):
        self.sent += 1
        return user(f"u{self.sent}", text)

    def take(self, message):
        """The client keeps a message of its own."""
        self.history.append(message)
        self.direct.append(message)

    def run(self, sse, approved):
        """Applies what a run sent; approved are the ids that its request said yes to."""
        messages, calls, parents, confirms, pauses = {}, {}, {}, set(), []
        asked, snapshot, finished = list(self.pauses), None, None
        for event in events_of(sse):
            kind = event["type"]
            if kind == "RUN_STARTED":
                self.backend_thread = event["threadId"]
            elif kind == "TEXT_MESSAGE_START":
                messages[event["messageId"]] = {"id": event["messageId"], "role": event.get("role", "assistant"), "content": ""}
                self.take(messages[event["messageId"]])
            elif kind == "TEXT_MESSAGE_CONTENT":
                messages[event["messageId"]]["content"] += event["delta"]
            elif kind == "TOOL_CALL_START":
                calls[event["toolCallId"]] = call = {"id": event["toolCallId"], "type": "function",
                                                     "function": {"name": event["toolCallName"], "arguments": ""}}
                if event["toolCallName"] in ("confirm_changes", "request_info"):
                    confirms.add(event["toolCallId"])
                    continue
                parent = event.get("parentMessageId") or event["toolCallId"]
                if parent not in messages:
                    messages[parent] = {"id": parent, "role": "assistant", "content": ""}
                    self.take(messages[parent])
                messages[parent].setdefault("toolCalls", []).append(call)
            elif kind == "TOOL_CALL_ARGS":
                calls[event["toolCallId"]]["function"]["arguments"] += event["delta"]
            elif kind == "TOOL_CALL_RESULT":
                self.result(event["toolCallId"], event["content"], event["messageId"])
            elif kind == "MESSAGES_SNAPSHOT":
                snapshot = event["messages"]
            elif kind == "CUSTOM" and event["name"] == "function_approval_request":
                value = event["value"]
                pauses.append({"id": value["id"], "call": value["function_call"]["call_id"],
                               "name": value["function_call"]["name"], "arguments": value["function_call"]["arguments"]})
            elif kind == "RUN_FINISHED":
                finished = event
        for id in confirms:
            name, arguments = calls[id]["function"]["name"], calls[id]["function"]["arguments"]
            parsed = json.loads(arguments or "{}")
            if name == "confirm_changes":
                for pause in pauses:
                    if pause["call"] == parsed.get("function_call_id"):
                        pause |= {"confirm": id, "confirm_arguments": arguments}
                        break
                else:
                    pauses.append({"id": id, "call": parsed.get("function_call_id"), "name": parsed.get("function_name"),
                                   "arguments": parsed.get("function_arguments"), "confirm": id, "confirm_arguments": arguments})
            else:
                pauses.append({"id": id, "call": None})
        outcome = (finished or {}).get("outcome") or {}
        for interrupt in outcome.get("interrupts", []):
            for pause in pauses:
                if interrupt["id"] in (pause["id"], pause["call"]) or interrupt.get("toolCallId", "") == pause["call"]:
                    # not in every version the id that CUSTOM tells; only this one may be answered
                    pause["id"] = interrupt["id"]
                    break
            else:
                pauses.append({"id": interrupt["id"], "call": interrupt.get("toolCallId")})
        for interrupt in (finished or {}).get("interrupt") or []:
            if not any(interrupt["id"] in (p["id"], p["call"]) for p in pauses):
                call = interrupt["value"].get("function_call") or {}
                pauses.append({"id": interrupt["id"], "call": call.get("call_id"), "name": call.get("name"), "arguments": call.get("arguments")})
        if finished is not None:
            self.pauses = pauses
        if snapshot is not None:
            self.direct = copy.deepcopy(snapshot)
        # What was denied has no result on the wire, and in the oldest versions what was approved has none either. A
        # client behind Holdpoint has one, for its history has to be complete.
        open_calls = {p["call"] for p in self.pauses}
        for pause in asked:
            if finished is not None and pause["call"] and pause["call"] not in open_calls:
                told = next((m["content"] for m in snapshot or [] if m["role"] == "tool" and m.get("toolCallId") == pause["call"]
                             and "accepted" not in m["content"]), UNSEEN if {pause["id"], pause["call"]} & approved else REJECTED)
                self.result(pause["call"], told, f"result-{pause['call']}", history_only=True)

    def result(self, call, content, id, history_only=False):
        for history in (self.history,) if history_only else (self.history, self.direct):
            at = next((i for i, m in enumerate(history) if any(c["id"] == call for c in m.get("toolCalls") or [])), None)
            if at is None or any(m.get("toolCallId") == call for m in history):
                continue
            at += 1
            while at < len(history) and history[at]["role"] == "tool":
                at += 1
            history.insert(at, {"id": id, "role": "tool", "toolCallId": call, "content": content})


def approved_in(body):
    """The ids that a request says yes to, in whatever form."""
    found = set()
    for message in body["messages"]:
        if message["role"] == "tool" and message["content"].startswith("{") and json.loads(message["content"]).get("accepted"):
            found.add(message["toolCallId"])
        found |= {a["id"] for a in message.get("function_approvals", []) if a["approved"]}
    answers = body.get("resume") or body["forwardedProps"].get("command", {}).get("resume") or []
    for answer in answers["interrupts"] if isinstance(answers, dict) else answers:
        payload = answer.get("payload", answer.get("value"))
        if isinstance(payload, dict) and (payload.get("accepted") or payload.get("approved")):
            found.add(answer.get("interruptId") or answer.get("id"))
    return found


# ---- what can be sent: each makes the part of the request that differs, from what the client knows ------------------


def form(name):
    def named(function):
        def make(*args, **more):
            step = lambda client: function(client, *args, **more)  # noqa: E731
            step.label = name + (" " + json.dumps([*args, *more.values()]) if args or more else "")
            return step
        return make
    return named


@form("say")
def say(client, text="go"):
    client.take(client.say(text))
    return {"messages": client.history}


@form("say, direct history")
def say_direct(client, text="go"):
    client.take(client.say(text))
    return {"messages": client.direct}


@form("tool message on the call")
def tools(client, *answers, key="accepted", more=None, **bodies):
    """One tool message on the real call id for each of the open approvals, in order; None leaves one out."""
    extra = [{"id": f"answer-{p['call']}", "role": "tool", "toolCallId": p["call"], "content": json.dumps({key: a} | (more or {}))}
             for p, a in zip(client.pauses, answers) if a is not None]
    return {"messages": client.history + extra} | bodies


@form("resume array with the same for all")
def resume_all(client, payload):
    return resume(*[payload] * len(client.pauses))(client)


@form("tool message on the confirm call, which the history shows")
def confirms(client, *answers, more=None, direct=False):
    """What a front end that renders confirm_changes sends; for predictive state also what Holdpoint has to send."""
    history = client.direct if direct else shown(client)
    return {"messages": history + [{"id": f"answer-{p['confirm']}", "role": "tool", "toolCallId": p["confirm"],
                                    "content": json.dumps({"accepted": a} | (more or {}))}
                                   for p, a in zip(client.pauses, answers)]}


def shown(client):
    """The history with the confirm_changes calls of the open approvals put back."""
    history = copy.deepcopy(client.history)
    for pause in client.pauses:
        for message in history:
            if pause.get("confirm") and any(c["id"] == pause["call"] for c in message.get("toolCalls") or []):
                message["toolCalls"].append({"id": pause["confirm"], "type": "function",
                                             "function": {"name": "confirm_changes", "arguments": pause["confirm_arguments"]}})
    return history


@form("confirm call in a message of its own, and a tool message on it")
def reinserted(client, accepted, steps=True):
    pause = client.pauses[0]
    content = {"accepted": accepted} | ({"steps": []} if steps else {})
    return {"messages": client.history + [
        {"id": f"call-{pause['confirm']}", "role": "assistant", "content": "", "toolCalls": [
            {"id": pause["confirm"], "type": "function",
             "function": {"name": "confirm_changes", "arguments": pause["confirm_arguments"]}}]},
        {"id": f"answer-{pause['confirm']}", "role": "tool", "toolCallId": pause["confirm"], "content": json.dumps(content)}]}


@form("tool message on the confirm call, which the history does not show")
def hidden(client, accepted, steps=True):
    pause = client.pauses[0]
    content = {"accepted": accepted} | ({"steps": []} if steps else {})
    return {"messages": client.history + [{"id": f"answer-{pause['confirm']}", "role": "tool", "toolCallId": pause["confirm"],
                                           "content": json.dumps(content)}]}


@form("user message with function_approvals")
def approvals(client, *answers, arguments=None):
    """One user message that holds all answers; None leaves one out."""
    listed = [{"id": p["id"], "call_id": p["call"], "name": p["name"], "approved": a, "arguments": arguments or p["arguments"]}
              for p, a in zip(client.pauses, answers) if a is not None]
    message = {"id": "answers", "role": "user", "content": "", "function_approvals": listed}
    return {"messages": client.history + [message]}


@form("user message with function_approvals for the second call of the scene")
def rest_approvals(client, answer):
    pause = client.batch[1]
    return {"messages": client.history + [{"id": "rest", "role": "user", "content": "", "function_approvals": [
        {"id": pause["id"], "call_id": pause["call"], "name": pause["name"], "approved": answer, "arguments": pause["arguments"]}]}]}


@form("resume object")
def resume_object(client, *values, messages=None, by="id"):
    return {"messages": client.history if messages is None else messages,
            "resume": {"interrupts": [{"id": p[by], "value": v} for p, v in zip(client.pauses, values)]}}


@form("forwardedProps.command.resume")
def command(client, *values):
    return {"messages": client.history,
            "forwardedProps": {"command": {"resume": [{"id": p["id"], "value": v} for p, v in zip(client.pauses, values)]}}}


def entry(pause, payload):
    return {"interruptId": pause["id"]} | ({"status": "cancelled"} if payload == "cancelled" else {"status": "resolved", "payload": payload})


@form("resume array")
def resume(client, *payloads, messages="history", id=None, then=None):
    """None leaves one out; "cancelled" is the status."""
    entries = [entry(p, a) for p, a in zip(client.pauses, payloads) if a is not None]
    if id:
        entries[0]["interruptId"] = id
    if then:
        client.take(client.say(then))
    sent = {"history": client.history, "direct": client.direct, "none": [], "last": client.history[-1:],
            "shown": None}[messages]
    return {"messages": shown(client) if messages == "shown" else sent, "resume": entries}


@form("resume array, and tool messages on the calls behind the calls")
def in_place(client, *payloads, first=True, then=None):
    """The answers twice. The backend makes messages of the array, all without an id, and takes those for duplicates of
    the first that has none; so the first message here has none either, or is left out, and the others have one each."""
    at = next(i for i, m in enumerate(client.history) if any(c["id"] == client.pauses[0]["call"] for c in m.get("toolCalls") or [])) + 1
    told = [{"role": "tool", "toolCallId": p["call"], "content": json.dumps(a)} | ({"id": f"answer-{p['call']}"} if i else {})
            for i, (p, a) in enumerate(zip(client.pauses, payloads)) if i or first]
    messages, answers = client.history[:at] + told + client.history[at:], [entry(p, a) for p, a in zip(client.pauses, payloads)]
    if then:
        message = client.say(then)
        messages = messages + [message]
        client.take(message)
    return {"messages": messages, "resume": answers}


@form("resume array, and a tool message with an id on the call")
def twice_told(client, payload):
    return tools(payload["accepted"])(client) | {"resume": [entry(client.pauses[0], payload)]}


@form("resume array for what the scene asked first, from one on")
def rest(client, first, last):
    return {"messages": client.history, "resume": [entry(p, YES) for p in client.batch[first:last + 1]]}


@form("resume array for all that the scene asked first")
def all_again(client, *payloads):
    return {"messages": client.history, "resume": [entry(p, a) for p, a in zip(client.batch, payloads)]}


@form("tool message on the request of a workflow")
def workflow_tool(client, *values):
    return {"messages": client.history + [{"id": f"answer-{p['id']}", "role": "tool", "toolCallId": p["id"],
                                           "content": v if isinstance(v, str) else json.dumps(v)}
                                          for p, v in zip(client.pauses, values)]}


@form("tool message on a call that a run in between did not ask for again")
def late(client):
    call = next(c for m in client.history for c in m.get("toolCalls") or [])
    return {"messages": client.history + [{"id": "late", "role": "tool", "toolCallId": call["id"], "content": json.dumps(YES)}]}


@form("no messages")
def empty(client):
    return {"messages": []}


@form("the new user message alone")
def last_alone(client):
    return {"messages": [client.say("plain and simple")]}


def alone(step):
    """The answer without the history before it."""
    def changed(client):
        return {"messages": step(client)["messages"][-1:]}
    changed.label = step.label + ", alone"
    return changed


def also(step, **body):
    """The same with other keys in the body."""
    def changed(client):
        return step(client) | body
    changed.label = step.label + " with " + json.dumps(body)
    return changed


def own_thread(step):
    """With the client's own thread id, where the backend had told another."""
    def changed(client):
        return step(client) | {"threadId": client.thread}
    changed.label = step.label + ", own thread id"
    return changed


def edited(step, arguments):
    """The history shows other arguments than those that were asked for."""
    def changed(client):
        for message in client.history:
            for call in message.get("toolCalls") or []:
                if call["id"] == client.pauses[0]["call"]:
                    call["function"]["arguments"] = json.dumps(arguments)
        return step(client)
    changed.label = step.label + ", arguments changed to " + json.dumps(arguments)
    return changed


def before(step, text):
    """A user message stands between the call and the answer."""
    def changed(client):
        client.take(client.say(text))
        return step(client)
    changed.label = step.label + ", behind a new user message"
    return changed


def then(step, text):
    """A user message follows the answer in the same request."""
    def changed(client):
        body = step(client)
        message = client.say(text)
        body["messages"] = body["messages"] + [message]
        client.take(message)
        return body
    changed.label = getattr(step, "label", "see the request") + ", and then a new user message"
    return changed


EMPTY = empty()
AGAIN = "the last request once more"
RESTART = "the backend is restarted"
NEXT = say("plain and simple")
GO = say()
YES, NO = {"accepted": True}, {"accepted": False}
PLAIN = ("chat", [say("plain and simple"), NEXT])
WRITTEN = {"accepted": True, "steps": []}

# name -> (agent, [step])
COMMON = {
    "plain": PLAIN,
    "hello": ("chat", [GO]),
    "error": ("boom-model", [GO, NEXT]),
}
# up to 1.0.0rc7: the answer is a message
OLDER = COMMON | {
    "approve": ("approve", [GO, tools(True), NEXT]),
    "deny": ("approve", [GO, tools(False), NEXT]),
    "spoken": ("spoken", [GO, tools(True), NEXT]),
    "again": ("again", [GO, tools(True), tools(True), NEXT]),
    "again-deny": ("again", [GO, tools(False), tools(False), NEXT]),
    "two": ("parallel", [GO, approvals(True, True), NEXT]),
    "two-mixed": ("parallel", [GO, approvals(True, False), NEXT]),
    "two-mixed-other": ("parallel", [GO, approvals(False, True), NEXT]),
    "two-denied": ("parallel", [GO, approvals(False, False), NEXT]),
    "two-tools": ("pair", [GO, approvals(True, True), NEXT]),
    "three": ("triple", [GO, approvals(True, False, True), NEXT]),
    "mixed": ("mixed", [GO, approvals(True, True), NEXT]),
    "mixed-denied": ("mixed", [GO, approvals(False, False), NEXT]),
    "before": ("before", [GO, tools(True), NEXT]),
    "error-tool": ("boom-tool", [GO, tools(True), NEXT]),
    "error-after": ("boom-after", [GO, tools(True), NEXT]),
    "one-approvals": ("approve", [GO, approvals(True), NEXT]),
    "one-approvals-deny": ("approve", [GO, approvals(False), NEXT]),
    "again-approvals": ("again", [GO, approvals(True), approvals(True), NEXT]),
    "two-as-tools": ("parallel", [GO, tools(True, True), NEXT]),
    "two-as-tools-mixed": ("parallel", [GO, tools(True, False), NEXT]),
    "confirm": ("approve", [GO, confirms(True), NEXT]),
    "confirm-direct": ("approve", [GO, confirms(True, direct=True), say_direct("plain and simple"), say_direct("plain again")]),
    "object": ("approve", [GO, resume_object(YES), NEXT]),
    "object-deny": ("approve", [GO, resume_object(NO), NEXT]),
    "object-two": ("parallel", [GO, resume_object(YES, YES), NEXT]),
    "object-no-messages": ("approve", [GO, resume_object(YES, messages=[])]),
    "command": ("approve", [GO, command(YES), NEXT]),
    "array": ("approve", [GO, resume(YES)]),
    "approved-key": ("approve", [GO, tools(True, key="approved"), NEXT]),
    "no-history": ("approve", [GO, alone(tools(True)), NEXT]),
    "no-history-approvals": ("approve", [GO, alone(approvals(True)), NEXT]),
    "partial": ("parallel", [GO, approvals(True, None), NEXT]),
    "partial-then-rest": ("parallel", [GO, approvals(True, None), rest_approvals(True)]),
    "partial-as-tool": ("parallel", [GO, tools(True, None), NEXT]),
    "new-input": ("approve", [GO, NEXT, NEXT]),
    "new-input-then-answer": ("approve", [GO, NEXT, late()]),
    "answer-then-input": ("approve", [GO, then(tools(True), "plain and simple"), NEXT]),
    "answer-then-input-approvals": ("parallel", [GO, then(approvals(True, True), "plain and simple"), NEXT]),
    "input-then-answer": ("approve", [GO, before(tools(True), "plain and simple"), NEXT]),
    "replay": ("approve", [GO, tools(True), AGAIN, NEXT]),
    "replay-approvals": ("parallel", [GO, approvals(True, True), AGAIN, NEXT]),
    "restart": ("approve", [GO, RESTART, tools(True), NEXT]),
    "restart-deny": ("approve", [GO, RESTART, tools(False), NEXT]),
    "restart-approvals": ("parallel", [GO, RESTART, approvals(True, True), NEXT]),
    "restart-strict": ("strict", [GO, RESTART, tools(True), NEXT]),
    "restart-strict-approvals": ("strict-parallel", [GO, RESTART, approvals(True, True), NEXT]),
    "restart-object": ("approve", [GO, RESTART, resume_object(YES), NEXT]),
    "restart-confirm": ("approve", [GO, RESTART, confirms(True), NEXT]),
    "unknown": ("approve", [GO, lambda c: {"messages": c.history + [{"id": "x", "role": "tool", "toolCallId": "call_unknown",
                                                                    "content": json.dumps(YES)}]}, NEXT]),
    "edited": ("approve", [GO, edited(tools(True), {"path": "b.txt"}), NEXT]),
    "edited-approvals": ("approve", [GO, approvals(True, arguments={"path": "b.txt"}), NEXT]),
    "edited-payload": ("email", [GO, tools(True, more={"count": 5}), NEXT]),
    "drift": ("drift", [GO, tools(True), tools(True), NEXT]),
    "drift-own": ("drift", [GO, own_thread(tools(True)), NEXT]),
    "drift-each": ("drift-each", [GO, tools(True), tools(True), NEXT]),
    "drift-run": ("drift-run", [GO, tools(True), NEXT]),
    "keys": ("approve", [also(GO, protocolVersion="1.0", somethingNew={"a": 1}),
                         also(tools(True), protocolVersion="1.0", somethingNew={"a": 1}), NEXT]),
    "empty": ("approve", [EMPTY]),
    "predictive": ("predictive", [GO, hidden(True), NEXT]),
    "predictive-deny": ("predictive", [GO, hidden(False), NEXT]),
    "predictive-no-steps": ("predictive", [GO, hidden(True, steps=False), NEXT]),
    "predictive-reinserted": ("predictive", [GO, reinserted(True), NEXT]),
    "predictive-reinserted-deny": ("predictive", [GO, reinserted(False), NEXT]),
    "predictive-object": ("predictive", [GO, resume_object(WRITTEN), NEXT]),
    "predictive-shown": ("predictive", [GO, confirms(True, more={"steps": []}), NEXT]),
    "predictive-direct": ("predictive", [GO, confirms(True, more={"steps": []}, direct=True), say_direct("plain and simple")]),
    "predictive-call": ("predictive", [GO, lambda c: {"messages": c.history + [{"id": "x", "role": "tool",
                                       "toolCallId": c.pauses[0]["call"], "content": json.dumps(WRITTEN)}]}, NEXT]),
    "predictive-restart": ("predictive", [GO, RESTART, hidden(True), NEXT]),
    "predictive-replay": ("predictive", [GO, hidden(True), AGAIN, NEXT]),
    "predictive-input": ("predictive", [GO, NEXT]),
    "predictive-run": ("predictive-run", [GO, NEXT]),
    # only versions before 1.0.0b260123 ask here, after the tool ran
    "predictive-run-answer": ("predictive-run", [GO, hidden(True), NEXT]),
    "predictive-run-answer-deny": ("predictive-run", [GO, hidden(False), NEXT]),
    "predictive-run-reinserted": ("predictive-run", [GO, reinserted(True), NEXT]),
    "predictive-ask": ("predictive-ask", [GO, tools(True), NEXT]),
    "workflow": ("workflow", [GO, resume_object({"choice": "a"}), NEXT]),
    "workflow-as-tool": ("workflow", [GO, workflow_tool({"choice": "a"}), NEXT]),
    "workflow-input": ("workflow", [GO, NEXT, NEXT]),
    "workflow-text": ("workflow-text", [GO, resume_object("a"), NEXT]),
    "workflow-text-as-tool": ("workflow-text", [GO, workflow_tool("a"), NEXT]),
    "workflow-text-input": ("workflow-text", [GO, NEXT, NEXT]),
    "workflow-bool": ("workflow-bool", [GO, resume_object(True), NEXT]),
    "workflow-bool-false": ("workflow-bool", [GO, resume_object(False), NEXT]),
    "workflow-bare": ("workflow-bare", [GO, resume_object("a"), NEXT]),
    "workflow-twice": ("workflow-twice", [GO, resume_object({"choice": "a"}), resume_object({"choice": "b"}), NEXT]),
    "workflow-both": ("workflow-both", [GO, resume_object({"choice": "a"}, {"choice": "b"}), NEXT]),
    "workflow-both-partial": ("workflow-both", [GO, resume_object({"choice": "a"}), resume_object({"choice": "b"}), NEXT]),
    "workflow-wrong-type": ("workflow", [GO, resume_object("not a dict"), resume_object({"choice": "a"})]),
    "workflow-replay": ("workflow", [GO, resume_object({"choice": "a"}), AGAIN, NEXT]),
    "workflow-restart": ("workflow", [GO, RESTART, resume_object({"choice": "a"}), NEXT]),
    "workflow-restart-as-tool": ("workflow", [GO, RESTART, workflow_tool({"choice": "a"}), NEXT]),
    "workflow-no-messages": ("workflow", [GO, resume_object({"choice": "a"}, messages=[])]),
}


# from 1.0.0rc8: the answer is the resume array
ARRAYS = COMMON | {
    "approve": ("approve", [GO, resume(YES), NEXT]),
    "deny": ("approve", [GO, resume(NO), NEXT]),
    "cancel": ("approve", [GO, resume("cancelled"), NEXT]),
    "spoken": ("spoken", [GO, resume(YES), NEXT]),
    "again": ("again", [GO, resume(YES), resume(YES), NEXT]),
    "again-deny": ("again", [GO, resume(NO), resume(NO), NEXT]),
    "two": ("parallel", [GO, resume(YES, YES), NEXT]),
    "two-mixed": ("parallel", [GO, resume(YES, NO), NEXT]),
    "two-mixed-other": ("parallel", [GO, resume(NO, YES), NEXT]),
    "two-denied": ("parallel", [GO, resume(NO, NO), NEXT]),
    "two-as-tools": ("parallel", [GO, tools(True, True), NEXT]),
    "two-as-tools-mixed": ("parallel", [GO, tools(True, False), NEXT]),
    # the second answer is to what the first resume left open
    "two-mixed-then-denied": ("parallel", [GO, resume(YES, NO), all_again(NO, NO), NEXT]),
    "two-mixed-again": ("parallel", [GO, resume(YES, NO), resume(NO), NEXT]),
    "two-mixed-other-again": ("parallel", [GO, resume(NO, YES), resume(NO), NEXT]),
    "two-mixed-then-yes": ("parallel", [GO, resume(YES, NO), resume(YES), NEXT]),
    "two-mixed-then-both": ("parallel", [GO, resume(YES, NO), all_again(YES, NO), NEXT]),
    "two-cancel-one-again": ("parallel", [GO, resume(YES, "cancelled"), resume("cancelled"), NEXT]),
    "three-mixed-again": ("triple", [GO, resume(YES, NO, YES), resume(NO), NEXT]),
    "three-mixed-other-again": ("triple", [GO, resume(NO, YES, NO), resume(NO, NO), NEXT]),
    "two-cancelled": ("parallel", [GO, resume("cancelled", "cancelled"), NEXT]),
    "two-cancel-one": ("parallel", [GO, resume(YES, "cancelled"), NEXT]),
    "two-tools": ("pair", [GO, resume(YES, YES), NEXT]),
    "three": ("triple", [GO, resume(YES, YES, YES), NEXT]),
    "two-strict": ("strict-parallel", [GO, resume(YES, YES), NEXT]),
    # only the first of the synthesised messages survives there, so the others are answered in messages of their own too
    "two-strict-rest": ("strict-parallel", [GO, in_place(YES, YES, first=False), NEXT]),
    "two-strict-rest-mixed": ("strict-parallel", [GO, in_place(YES, NO, first=False), NEXT]),
    "two-strict-rest-mixed-other": ("strict-parallel", [GO, in_place(NO, YES, first=False), NEXT]),
    "two-strict-rest-denied": ("strict-parallel", [GO, in_place(NO, NO, first=False), NEXT]),
    "three-rest": ("triple", [GO, in_place(YES, NO, YES, first=False), NEXT]),
    "three-rest-other": ("triple", [GO, in_place(NO, YES, NO, first=False), NEXT]),
    # in place: the first answer without an id, so that the synthesised one counts as its duplicate; the others with one
    "in-place": ("strict", [GO, in_place(YES), NEXT]),
    "in-place-deny": ("strict", [GO, in_place(NO), NEXT]),
    "in-place-two": ("strict-parallel", [GO, in_place(YES, YES), NEXT]),
    "in-place-two-mixed": ("strict-parallel", [GO, in_place(YES, NO), NEXT]),
    "in-place-two-mixed-other": ("strict-parallel", [GO, in_place(NO, YES), NEXT]),
    "in-place-two-denied": ("strict-parallel", [GO, in_place(NO, NO), NEXT]),
    "in-place-three": ("triple", [GO, in_place(YES, NO, YES), NEXT]),
    "in-place-then-input": ("strict", [GO, in_place(YES, then="plain and simple"), NEXT]),
    "in-place-deny-then-input": ("strict", [GO, in_place(NO, then="plain and simple"), NEXT]),
    "in-place-two-then-input": ("strict-parallel", [GO, in_place(YES, YES, then="plain and simple"), NEXT]),
    "in-place-restart": ("strict", [GO, RESTART, in_place(YES), NEXT]),
    "in-place-edited": ("email", [GO, in_place({"accepted": True, "count": 5}), NEXT]),
    "then-input-strict": ("strict", [GO, resume(YES, then="plain and simple"), NEXT]),
    "mixed-strict": ("strict-mixed", [GO, resume_all(YES), NEXT]),
    # what a proxy can do about a batch of which only the first ran
    "two-one-by-one": ("parallel", [GO, resume(YES, YES), rest(1, 1), NEXT]),
    "two-one-by-one-mixed": ("parallel", [GO, resume(NO, YES), rest(1, 1), NEXT]),
    "three-one-by-one": ("triple", [GO, resume(YES, YES, YES), rest(1, 1), rest(2, 2), NEXT]),
    "three-rest-at-once": ("triple", [GO, resume(YES, YES, YES), rest(1, 2), NEXT]),
    "two-approvals": ("parallel", [GO, approvals(True, True), NEXT]),
    "mixed": ("mixed", [GO, resume_all(YES), NEXT]),
    "mixed-denied": ("mixed", [GO, resume_all(NO), NEXT]),
    "before": ("before", [GO, resume(YES), NEXT]),
    "error-tool": ("boom-tool", [GO, resume(YES), NEXT]),
    "error-after": ("boom-after", [GO, resume(YES), AGAIN, NEXT]),
    "no-messages": ("approve", [GO, resume(YES, messages="none"), NEXT]),
    "no-messages-two": ("parallel", [GO, resume(YES, YES, messages="none"), NEXT]),
    "last-message": ("approve", [GO, resume(YES, messages="last"), NEXT]),
    "shown": ("approve", [GO, resume(YES, messages="shown"), NEXT]),
    "direct": ("approve", [GO, resume(YES, messages="direct"), say_direct("plain and simple"), say_direct("plain again")]),
    "direct-deny": ("approve", [GO, resume(NO, messages="direct"), say_direct("plain and simple"), say_direct("plain again")]),
    "approved-key": ("approve", [GO, resume({"approved": True}), NEXT]),
    "approved-key-deny": ("approve", [GO, resume({"approved": False}), NEXT]),
    "bare-true": ("approve", [GO, resume(True), NEXT]),
    "no-payload": ("approve", [GO, also(GO, resume=None), NEXT]),
    "dotnet-payload": ("approve", [GO, resume({"approved": True, "toolCall": {"callId": "c", "name": "delete_file", "arguments": {}}}),
                                   resume(YES), NEXT]),
    "unknown-key": ("approve", [GO, resume({"accepted": True, "comment": "fine"}), resume(YES), NEXT]),
    "edited": ("email", [GO, resume({"accepted": True, "count": 5}), NEXT]),
    "edited-type": ("email", [GO, resume({"accepted": True, "count": "5"}), resume(YES), NEXT]),
    "edited-history": ("approve", [GO, edited(resume(YES), {"path": "b.txt"}), NEXT]),
    "partial": ("parallel", [GO, resume(YES, None), resume(YES, YES), NEXT]),
    "new-input": ("approve", [GO, NEXT, resume(YES), NEXT]),
    "answer-then-input": ("approve", [GO, resume(YES, then="plain and simple"), NEXT]),
    "tool-message": ("approve", [GO, tools(True), resume(YES), NEXT]),
    "confirm": ("approve", [GO, confirms(True), NEXT]),
    "approvals": ("approve", [GO, approvals(True), NEXT]),
    "object": ("approve", [GO, resume_object(YES), NEXT]),
    "copilot": ("approve", [GO, twice_told(YES), NEXT]),
    "unknown": ("approve", [GO, resume(YES, id="call_unknown"), resume(YES), NEXT]),
    "nothing-open": ("chat", [say("plain and simple"), lambda c: {"messages": c.history, "resume": [
        {"interruptId": "call_unknown", "status": "resolved", "payload": YES}]}, NEXT]),
    "twice-in-one": ("approve", [GO, lambda c: {"messages": c.history, "resume": [entry(c.pauses[0], YES), entry(c.pauses[0], NO)]}, NEXT]),
    "bad-status": ("approve", [GO, lambda c: {"messages": c.history, "resume": [{"interruptId": c.pauses[0]["id"], "status": "denied"}]},
                               resume(YES)]),
    "empty-array": ("approve", [GO, also(NEXT, resume=[]), resume(YES)]),
    "metadata": ("approve", [GO, lambda c: {"messages": c.history, "resume": [entry(c.pauses[0], YES) | {"metadata": {"a": 1}}]}, NEXT]),
    "replay": ("approve", [GO, resume(YES), AGAIN, NEXT]),
    "restart": ("approve", [GO, RESTART, resume(YES), NEXT]),
    "restart-deny": ("approve", [GO, RESTART, resume(NO), NEXT]),
    "restart-two": ("parallel", [GO, RESTART, resume(YES, YES), NEXT]),
    "restart-approvals": ("approve", [GO, RESTART, approvals(True), NEXT]),
    "restart-tool-message": ("approve", [GO, RESTART, tools(True), NEXT]),
    "restart-next": ("approve", [GO, RESTART, NEXT]),
    "drift": ("drift", [GO, resume(YES), resume(YES), NEXT]),
    "drift-own": ("drift", [GO, own_thread(resume(YES)), own_thread(resume(YES)), own_thread(NEXT)]),
    "drift-each": ("drift-each", [GO, resume(YES), resume(YES), NEXT]),
    "drift-each-own": ("drift-each", [GO, own_thread(resume(YES)), own_thread(resume(YES)), own_thread(NEXT)]),
    "drift-run": ("drift-run", [GO, resume(YES), NEXT]),
    "keys": ("approve", [also(GO, protocolVersion="1.0", somethingNew={"a": 1}),
                         also(resume(YES), protocolVersion="1.0", somethingNew={"a": 1}), NEXT]),
    "empty": ("approve", [EMPTY]),
    "predictive": ("predictive", [GO, resume(WRITTEN), NEXT]),
    "predictive-deny": ("predictive", [GO, resume({"accepted": False, "steps": []}), NEXT]),
    "predictive-no-steps": ("predictive", [GO, resume(YES), NEXT]),
    "predictive-approved": ("predictive", [GO, resume({"approved": True, "steps": []}), NEXT]),
    "predictive-cancel": ("predictive", [GO, resume("cancelled"), NEXT]),
    "predictive-shown": ("predictive", [GO, resume(WRITTEN, messages="shown"), NEXT]),
    "predictive-no-messages": ("predictive", [GO, resume(WRITTEN, messages="none"), NEXT]),
    "predictive-tool-message": ("predictive", [GO, hidden(True), NEXT]),
    "predictive-tool-message-deny": ("predictive", [GO, hidden(False), NEXT]),
    "predictive-tool-message-restart": ("predictive", [GO, RESTART, hidden(True), NEXT]),
    "predictive-reinserted": ("predictive", [GO, reinserted(True), NEXT]),
    "predictive-replay": ("predictive", [GO, resume(WRITTEN), AGAIN, NEXT]),
    "predictive-restart": ("predictive", [GO, RESTART, resume(WRITTEN), NEXT]),
    "predictive-input": ("predictive", [GO, NEXT]),
    "predictive-run": ("predictive-run", [GO, NEXT]),
    "predictive-ask": ("predictive-ask", [GO, resume(YES), NEXT]),
    "workflow": ("workflow", [GO, resume({"choice": "a"}), NEXT]),
    "workflow-no-messages": ("workflow", [GO, resume({"choice": "a"}, messages="none"), NEXT]),
    "workflow-as-tool": ("workflow", [GO, workflow_tool({"choice": "a"}), resume({"choice": "a"})]),
    "workflow-object": ("workflow", [GO, resume_object({"choice": "a"}), NEXT]),
    "workflow-input": ("workflow", [GO, NEXT, resume({"choice": "a"})]),
    "workflow-answer-then-input": ("workflow", [GO, resume({"choice": "a"}, then="plain and simple"), NEXT]),
    "workflow-cancel": ("workflow", [GO, resume("cancelled"), NEXT]),
    "workflow-cancel-no-messages": ("workflow", [GO, resume("cancelled", messages="none"), NEXT]),
    "workflow-text": ("workflow-text", [GO, resume("a"), NEXT]),
    "workflow-bool": ("workflow-bool", [GO, resume(True), NEXT]),
    "workflow-bool-false": ("workflow-bool", [GO, resume(False), NEXT]),
    "workflow-bare": ("workflow-bare", [GO, resume("a"), NEXT]),
    "workflow-twice": ("workflow-twice", [GO, resume({"choice": "a"}), resume({"choice": "b"}), NEXT]),
    "workflow-both": ("workflow-both", [GO, resume({"choice": "a"}, {"choice": "b"}), NEXT]),
    "workflow-both-partial": ("workflow-both", [GO, resume({"choice": "a"}, None), resume({"choice": "a"}, {"choice": "b"}), NEXT]),
    "workflow-wrong-type": ("workflow", [GO, resume("not a dict"), resume({"choice": "a"}), NEXT]),
    "workflow-unknown": ("workflow", [GO, resume({"choice": "a"}, id="req_unknown"), resume({"choice": "a"})]),
    "workflow-replay": ("workflow", [GO, resume({"choice": "a"}), AGAIN, NEXT]),
    "workflow-restart": ("workflow", [GO, RESTART, resume({"choice": "a"}), NEXT]),
}


# Versions up to 1.0.0rc7 take the answer in messages, all later ones the resume array.
ARRAY = not re.match(r"1\.0\.0(b|rc[1-7]$)", VERSION)
ANSWER = resume(YES) if ARRAY else tools(True)
KEPT = {
    "hydrate": ("approve", [GO, EMPTY, ANSWER, EMPTY, NEXT]),
    "short": ("approve", [GO, resume(YES, messages="none") if ARRAY else tools(True), last_alone()]),
}
SCENARIOS = ARRAYS if ARRAY else OLDER


def some(*names):
    return {name: SCENARIOS[name] for name in names if name in SCENARIOS}


# What a version before 1.0.0rc7 is asked: nobody answers its questions.
TOO_OLD = some("plain", "hello", "error", "approve", "two")
MODES = {
    "default": TOO_OLD if VERSION < "1.0.0rc" else SCENARIOS,
    "unconfirmed": some("approve", "deny", "two", "again", "direct", "predictive-run"),
    "stored": some("plain", "approve", "deny", "again", "two", "new-input", "no-messages", "object", "direct", "confirm-direct",
                   "restart") | KEPT,
}


class Server:
    def __init__(self):
        # so that what ran before a restart still counts
        self.folder = tempfile.TemporaryDirectory()
        self.ledger = pathlib.Path(self.folder.name) / "ledger"
        self.start()

    def start(self):
        self.process = subprocess.Popen([sys.executable, "-W", "ignore", HERE / "server.py", "--ledger", self.ledger],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
        self.ready = json.loads(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        self.process.wait(10)

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.ready["port"], timeout=60)
        connection.request(method, path, body, {"Content-Type": "application/json", "Accept": "text/event-stream"})
        response = connection.getresponse()
        try:
            return response.status, response.read(), "clean"
        except http.client.IncompleteRead as cut:
            return response.status, cut.partial, "cut"
        finally:
            connection.close()


def ending(status, sse):
    """How the run ended, and how many questions it left open."""
    if status != 200:
        return sse.decode()[:200]
    last = [event for event in events_of(sse) if event["type"].startswith("RUN_")][-1:]
    if not last or last[0]["type"] == "RUN_STARTED":
        return "no end"
    if last[0]["type"] == "RUN_ERROR":
        return f"RUN_ERROR {last[0].get('code')}: {last[0]['message']}"
    open = last[0].get("interrupt") or (last[0].get("outcome") or {}).get("interrupts") or []
    return "RUN_FINISHED" + (f" with {len(open)} open" if open else "")


def record(server, mode, name, agent, steps, folder):
    folder.mkdir(parents=True)
    client = Client(f"{mode}-{name}")
    client.batch = []
    body, number, asked, notes = {}, 0, 0, [f"path: /{mode}/{agent}"]
    for step in steps:
        if step is RESTART:
            server.stop()
            server.start()
            notes.append("-: " + RESTART)
            continue
        number += 1
        if step is not AGAIN:
            body = {"threadId": client.backend_thread, "runId": f"run-{number}", "state": {}, "messages": [], "tools": [], "context": [], "forwardedProps": {}}
            try:
                body = copy.deepcopy(body | step(client))
            except (IndexError, KeyError):
                # this version asked nothing, or had no id of that kind
                notes.append(f"{number}: {getattr(step, 'label', 'an answer')}: there is nothing to answer")
                break
        status, sse, end = server.ask("POST", f"/{mode}/{agent}", json.dumps(body))
        (folder / f"{number}.request.json").write_text(json.dumps(body, indent=2) + "\n")
        (folder / f"{number}.response.sse").write_bytes(sse)
        if status == 200:
            client.run(sse, approved_in(body))
        if number == 1:
            client.batch = list(client.pauses)
        done = json.loads(server.ask("GET", f"/effects/{client.thread}")[1])
        seen, asked = done["seen"][asked:], len(done["seen"])
        label = AGAIN if step is AGAIN else getattr(step, "label", "see the request")
        notes.append(f"{number}: {label}: {status} {end}; {ending(status, sse)}; effects {json.dumps(done['counts'])}; "
                     f"model asked {len(seen)}"
                     + "".join(f"; refused: {c}" for s in seen for c in s["complaints"]))
    (folder / "scenario.txt").write_text("\n".join(notes) + "\n")


def main():
    out = pathlib.Path(sys.argv[1]) / VERSION
    wanted = sys.argv[2:]
    server = Server()
    try:
        for mode in server.ready["modes"]:
            for name, (agent, steps) in MODES[mode].items():
                if agent not in server.ready["agents"] or (agent.startswith("workflow") and mode != "default"):
                    continue
                folder = out / mode / name
                if name in wanted or f"{mode}/{name}" in wanted:
                    shutil.rmtree(folder, ignore_errors=True)
                if not folder.exists() and (not wanted or name in wanted or f"{mode}/{name}" in wanted):
                    record(server, mode, name, agent, steps, folder)
    finally:
        server.stop()
        server.folder.cleanup()


if __name__ == "__main__":
    main()
