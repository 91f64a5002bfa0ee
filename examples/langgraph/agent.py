"""A LangGraph agent that asks before it deletes a file, as an AG-UI endpoint."""

import os
import uuid

import uvicorn
from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt


@tool
def delete_file(path: str) -> str:
    """Delete a file."""
    answer = interrupt({"message": f"Delete {path}?"})
    if answer != {"approved": True}:
        return "The person said no."
    print(f"deleted {path}", flush=True)  # here the file would go
    return f"Deleted {path}."


class Scripted(BaseChatModel):
    """Calls delete_file with the last word of the user's message, then repeats the result."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs) -> ChatResult:
        last = messages[-1]
        if last.type == "human":
            call = {"name": "delete_file", "args": {"path": last.text.split()[-1]}, "id": f"call_{uuid.uuid4().hex}"}
            said = AIMessage("", tool_calls=[call])
        else:
            said = AIMessage(last.text)
        return ChatResult(generations=[ChatGeneration(message=said)])


model = Scripted()  # a real model goes here, such as "openai:gpt-5"
graph = create_agent(model, [delete_file], checkpointer=InMemorySaver())
app = FastAPI()
add_langgraph_fastapi_endpoint(app, LangGraphAgent(name="agent", graph=graph), "/")

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ["AGENT_PORT"]), log_level="warning")
