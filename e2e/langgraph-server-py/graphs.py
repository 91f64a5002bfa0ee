"""Graphs without a model, the same as those of langgraph-server/src/graphs.ts: what they say follows from the last words of the
person. Each effect is a line of the ledger."""

import json
import os
import time
import uuid
from typing import Annotated

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send, interrupt


def both(a: list, b: list) -> list:
    return a + b


class State(MessagesState):
    done: Annotated[list[str], both]


def unique(what: str) -> str:
    return f"{what}-{uuid.uuid4().hex}"


def note(config: RunnableConfig, file: str, **what) -> None:
    line = json.dumps({"thread": config["configurable"]["thread_id"], **what})
    with open(os.path.join(os.environ["LEDGER"], file), "a") as f:
        f.write(line + "\n")


def effect(config: RunnableConfig, name: str, args: dict) -> None:
    note(config, "effects.jsonl", name=name, args=args)


def turn(state) -> tuple[str, str | None, list]:
    """The person's last words, what they ask for in this turn, and what was said since."""
    at = max((n for n, m in enumerate(state["messages"]) if m.type == "human"), default=-1)
    order = str(state["messages"][at].content) if at >= 0 else ""
    since = state["messages"][at + 1:]
    turns = sum(m.type == "ai" for m in since)
    steps = order.split(" then ") if order.startswith("delete ") else []
    return order, steps[turns] if turns < len(steps) else None, since


def model(state: State, config: RunnableConfig):
    order, step, since = turn(state)
    if order.startswith("throw"):
        raise ValueError("kaput")
    if order.startswith("plain and slow"):
        time.sleep(1.5)
    results = [str(m.content) for m in since if m.type == "tool"]
    note(config, "seen.jsonl", Results=results)
    if step is None:
        content = "done: " + "; ".join(results) if results else "echo: " + order
        return {"messages": [AIMessage(id=unique("ai"), content=content)]}
    calls = [
        {"id": unique("call"), "name": "delete_file", "args": {"path": part.replace("delete ", "")}, "type": "tool_call"}
        for part in step.split(", ")
    ]
    return {"messages": [AIMessage(id=unique("ai"), content="", tool_calls=calls)]}


def told(call: dict, content: str):
    return ToolMessage(id=unique("tool"), tool_call_id=call["id"], name=call["name"], content=content)


def breaks(args: dict):
    """A tool that fails in the middle of what it does. LangGraph then keeps the answer."""
    if args["path"] == "broken.txt":
        raise RuntimeError("kaput")


def act(given: dict, config: RunnableConfig):
    call = given["call"]
    answer = interrupt({
        "action_requests": [{"name": call["name"], "args": call["args"], "description": f"Delete {call['args']['path']}?"}],
        "review_configs": [{"action_name": call["name"], "allowed_decisions": ["approve", "edit", "reject"]}],
    })
    decision = answer["decisions"][0]
    content = ": ".join(filter(None, ["not deleted", decision.get("message")]))
    if decision["type"] in ("approve", "edit"):
        args = decision["edited_action"]["args"] if decision["type"] == "edit" else call["args"]
        effect(config, "delete_file", args)
        breaks(args)
        if args["path"] == "slow.txt":
            time.sleep(1.5)
        content = "deleted " + args["path"]
    return {"messages": [told(call, content)], "done": [content]}


def each(state: State):
    calls = state["messages"][-1].tool_calls
    return [Send("act", {"call": call}) for call in calls] if calls else END


def some(state: State):
    return "act" if state["messages"][-1].tool_calls else END


def graph(node, where, **options):
    g = StateGraph(State).add_node("model", model).add_node("act", node)
    g.add_edge(START, "model").add_conditional_edges("model", where, ["act", END]).add_edge("act", "model")
    return g.compile(**options)


def stopped(state: State, config: RunnableConfig):
    call = state["messages"][-1].tool_calls[0]
    effect(config, call["name"], call["args"])
    return {"messages": [told(call, "deleted")]}


def freely(state: State, config: RunnableConfig):
    call = state["messages"][-1].tool_calls[0]
    answer = interrupt({"question": f"Delete {call['args']['path']}?"})
    if answer and answer != "no" and not (isinstance(answer, dict) and answer.get("approved") is False):
        effect(config, call["name"], call["args"])
        breaks(call["args"])
    return {"messages": [told(call, json.dumps(answer))]}


def by_value(given: dict, config: RunnableConfig):
    call = given["call"]
    answer = interrupt({"action": call["name"], "args": call["args"]})
    if isinstance(answer, dict) and answer.get("go") is True:
        effect(config, call["name"], answer["args"])
    return {"messages": [told(call, json.dumps(answer))]}


agent = graph(act, each)
# Asks with a value of its own, and takes one of its own for the yes.
values = graph(by_value, each)
# A static breakpoint before what it does.
stop = graph(stopped, some, interrupt_before=["act"])
# A question in a tool's node, of no known shape: nothing but a clear yes deletes.
free = graph(freely, some)
