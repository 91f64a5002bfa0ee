"""A graph that tells all that a graph can tell: a model's thoughts, words and calls piece by piece, a tool's result, a prediction of
the state, what is emitted by hand, what is written, and what it sees of the page. Then it asks."""

import json
import uuid
from typing import Annotated, Any, TypedDict

from langchain_core.callbacks.manager import dispatch_custom_event
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt

State = TypedDict("State", {"messages": Annotated[list, add_messages], "tools": list, "ag-ui": dict, "draft": str, "seen": dict})


class Scripted(BaseChatModel):
    """Says given pieces."""

    pieces: list[dict]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def chunks(self):
        last = {"content": "", "response_metadata": {"finish_reason": "stop"}, "chunk_position": "last"}
        for piece in [*self.pieces, last]:
            yield AIMessageChunk(**piece)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs: Any) -> ChatResult:
        whole = None
        for chunk in self.chunks():
            whole = chunk if whole is None else whole + chunk
        return ChatResult(generations=[ChatGeneration(message=whole)])

    def _stream(self, messages, stop=None, run_manager=None, **kwargs: Any):
        for chunk in self.chunks():
            piece = ChatGenerationChunk(message=chunk)
            if run_manager:
                run_manager.on_llm_new_token(chunk.content if isinstance(chunk.content, str) else "", chunk=piece)
            yield piece


def says(pieces: list[dict], config: RunnableConfig, **metadata: Any):
    config = {**config, "metadata": {**config.get("metadata", {}), **metadata}}
    whole = None
    for chunk in Scripted(pieces=pieces).stream("x", config):
        whole = chunk if whole is None else whole + chunk
    return whole


def calls(name: str, *args: str) -> list[dict]:
    first = {"name": name, "args": "", "id": "call-" + uuid.uuid4().hex, "index": 0, "type": "tool_call_chunk"}
    rest = [{"name": None, "args": a, "id": None, "index": 0, "type": "tool_call_chunk"} for a in args]
    return [{"content": "", "tool_call_chunks": [p]} for p in [first, *rest]]


def look_up(what: str) -> str:
    """Looks it up."""
    return "found " + what


def write_draft(text: str) -> str:
    """Writes it."""
    return "drafted"


def speak(state: State, config: RunnableConfig):
    thought = {"content": [{"type": "thinking", "thinking": "Hm, let me see.", "index": 0}]}
    words = [{"content": [{"type": "text", "text": t, "index": 1}]} for t in ("Let me ", "look that up.")]
    return {"messages": [says([thought, *words] if "think" in text(state) else [{"content": "Let me "}, {"content": "look that up."}], config)]}


def text(state: State) -> str:
    return next((str(m.content) for m in reversed(state["messages"]) if m.type == "human"), "")


def call(state: State, config: RunnableConfig):
    return {"messages": [says(calls("look_up", '{"what":', '"it"}'), config)]}


def predict(state: State, config: RunnableConfig):
    told = [{"state_key": "draft", "tool": "write_draft", "tool_argument": "text"}]
    return {"messages": [says(calls("write_draft", '{"text":', '"Once"}'), config, predict_state=told)]}


def hush(state: State, config: RunnableConfig):
    says([{"content": "not to be seen"}], config, **{"emit-messages": False})
    return {}


def by_hand(state: State, config: RunnableConfig):
    args = {"a": 1} if "object" in text(state) else json.dumps({"a": 1})
    dispatch_custom_event("manually_emit_message", {"message_id": "hand-" + uuid.uuid4().hex, "message": "By hand."}, config=config)
    dispatch_custom_event("manually_emit_tool_call", {"id": "call-" + uuid.uuid4().hex, "name": "by_hand", "args": args}, config=config)
    dispatch_custom_event("manually_emit_state", {"draft": "by hand"}, config=config)
    dispatch_custom_event("own", {"a": 1}, config=config)
    get_stream_writer()({"progress": 1})
    page = state.get("ag-ui") or {}
    seen = {"tools": len(page.get("tools") or []), "context": page.get("context"), "colour": config["configurable"].get("colour")}
    return {"draft": "Once", "seen": seen}


def whole(state: State):
    return {"messages": [AIMessage(id="whole-" + uuid.uuid4().hex, content="A whole message.")]}


def ask(state: State):
    answer = interrupt({"question": "Go on?"})
    return {"messages": [AIMessage(id="asked-" + uuid.uuid4().hex, content="You said " + json.dumps(answer))]}


nodes = {
    "speak": speak, "call": call, "use": ToolNode([look_up]), "predict": predict, "used": ToolNode([write_draft]),
    "hush": hush, "by_hand": by_hand, "whole": whole, "ask": ask,
}
graph = StateGraph(State)
for name, node in nodes.items():
    graph.add_node(name, node)
for one, next_one in zip([START, *nodes], [*nodes, END]):
    graph.add_edge(one, next_one)
tells = graph.compile()
