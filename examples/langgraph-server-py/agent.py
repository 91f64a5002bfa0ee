"""A LangGraph agent that asks before it deletes a file, for LangGraph's own server."""

import os
import sys
import uuid

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt


def model(state: MessagesState):
    """Calls delete_file with the last word of the user's message, then repeats the result."""
    last = state["messages"][-1]  # a real model would be asked here
    if last.type != "human":
        return {"messages": [AIMessage(last.text)]}
    call = {"name": "delete_file", "args": {"path": last.text.split()[-1]}, "id": f"call_{uuid.uuid4().hex}"}
    return {"messages": [AIMessage("", tool_calls=[call])]}


def delete_file(state: MessagesState):
    call = state["messages"][-1].tool_calls[0]
    path = call["args"]["path"]
    said = "The person said no."
    if interrupt({"message": f"Delete {path}?"}) == {"approved": True}:
        print(f"deleted {path}", flush=True)  # here the file would go
        said = f"Deleted {path}."
    return {"messages": [ToolMessage(said, tool_call_id=call["id"])]}


def route(state: MessagesState):
    return "delete_file" if state["messages"][-1].tool_calls else END


builder = StateGraph(MessagesState).add_node(model).add_node(delete_file)
builder.add_edge(START, "model").add_conditional_edges("model", route, ["delete_file", END]).add_edge("delete_file", "model")
graph = builder.compile()  # the server gives it a checkpointer

if __name__ == "__main__":
    where = ["--host", "127.0.0.1", "--port", os.environ["AGENT_PORT"]]
    os.execv(sys.executable, [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", *where])
