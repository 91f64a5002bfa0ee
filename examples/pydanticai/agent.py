"""An agent of pydantic-ai that asks before it deletes a file, as an AG-UI endpoint."""

import json
import os
import uuid

import uvicorn
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.conversation_store import InMemoryConversationStore
from pydantic_ai.messages import UserPromptPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.routing import Route


async def scripted(messages, info):
    """Calls delete_file with the last word of the user's message, then says that it is done."""
    last = messages[-1].parts[-1]
    if isinstance(last, UserPromptPart):
        path = str(last.content).split()[-1]
        yield {0: DeltaToolCall(name="delete_file", json_args=json.dumps({"path": path}), tool_call_id=f"call_{uuid.uuid4().hex}")}
    else:
        yield "That is all."


model = FunctionModel(stream_function=scripted)  # a real model goes here, such as "openai:gpt-5"
agent = Agent(model, output_type=[str, DeferredToolRequests])


@agent.tool_plain(requires_approval=True)
def delete_file(path: str) -> str:
    """Delete a file."""
    print(f"deleted {path}", flush=True)  # here the file would go
    return f"Deleted {path}."


kept = {"manage_message_history": "server", "conversation_store": InMemoryConversationStore()}


async def run(request):
    return await AGUIAdapter.dispatch_request(request, agent=agent, **kept)


app = Starlette(routes=[Route("/", run, methods=["POST"])])

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ["AGENT_PORT"]), log_level="warning")
