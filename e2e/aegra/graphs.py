"""An agent that asks before it deletes. A text that begins with "plain" is echoed."""

from typing import Annotated

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from serving import LEDGER
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]


def work(state: State, config: RunnableConfig) -> dict:
    text = str(state["messages"][-1].content)
    if text.startswith("plain"):
        return {"messages": [AIMessage("echo: " + text)]}
    answer = interrupt({"message": f"{text}?"})
    if not (isinstance(answer, dict) and answer.get("approved") is True):
        return {"messages": [AIMessage("It stays.")]}
    LEDGER.effect(config["configurable"]["thread_id"], "delete_file", path=text.removeprefix("delete "))
    return {"messages": [AIMessage("It is gone.")]}


graph = StateGraph(State).add_node("work", work).add_edge(START, "work").add_edge("work", END).compile()
