"""An AG2 agent that asks before it deletes a file, as an AG-UI endpoint."""

import json
import os
import uuid

import uvicorn
from ag2 import Agent, tool
from ag2.ag_ui import AGUIStream
from ag2.config import LLMClient, ModelConfig
from ag2.events import ModelMessage, ModelResponse, ToolCallEvent, ToolCallsEvent
from ag2.middleware import approval_required
from starlette.applications import Starlette
from starlette.routing import Route


@tool(middleware=[approval_required()])
def delete_file(path: str) -> str:
    """Delete a file."""
    print(f"deleted {path}", flush=True)  # here the file would go
    return f"Deleted {path}."


class Scripted(LLMClient):
    """Calls delete_file with the last word of the user's message, then says that it is done."""

    async def __call__(self, messages, context, **_):
        if type(messages[-1]).__name__ == "ModelRequest":
            path = messages[-1].parts[-1].content.split()[-1]
            call = ToolCallEvent("delete_file", id=f"call_{uuid.uuid4().hex}", arguments=json.dumps({"path": path}))
            return ModelResponse(None, tool_calls=ToolCallsEvent([call]))
        message = ModelMessage("That is all.")
        await context.send(message)
        return ModelResponse(message, tool_calls=ToolCallsEvent([]))


class ScriptedConfig(ModelConfig):
    model = provider = "scripted"

    def copy(self):
        return self

    def create(self):
        return Scripted()

    def create_files_client(self):
        raise NotImplementedError


config = ScriptedConfig()  # a real model goes here, such as OpenAIConfig("gpt-5")
agent = Agent("agent", "You delete files.", config=config, tools=[delete_file])
app = Starlette(routes=[Route("/", AGUIStream(agent).build_asgi())])

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ["AGENT_PORT"]), log_level="warning")
