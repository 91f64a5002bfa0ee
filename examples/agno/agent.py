"""An agent of agno that asks before it deletes a file, as an AG-UI endpoint."""

import json
import os
import uuid
from dataclasses import dataclass

os.environ["AGNO_TELEMETRY"] = "false"

import uvicorn
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.os.interfaces.agui import AGUI
from agno.tools import tool
from fastapi import FastAPI


@tool(requires_confirmation=True)
def delete_file(path: str) -> str:
    """Delete a file."""
    print(f"deleted {path}", flush=True)  # here the file would go
    return f"Deleted {path}."


@dataclass
class Scripted(Model):
    """Calls delete_file with the last word of the user's message, then repeats the result."""

    id: str = "scripted"

    def invoke(self, messages, *args, **kwargs) -> ModelResponse:
        last = messages[-1]
        if last.role != "user":
            return ModelResponse(role="assistant", content=str(last.content))
        call = {"name": "delete_file", "arguments": json.dumps({"path": last.content.split()[-1]})}
        said = ModelResponse(role="assistant")
        said.tool_calls = [{"id": f"call_{uuid.uuid4().hex}", "type": "function", "function": call}]
        return said

    def invoke_stream(self, *args, **kwargs):
        yield self.invoke(*args, **kwargs)

    async def ainvoke(self, *args, **kwargs):
        return self.invoke(*args, **kwargs)

    async def ainvoke_stream(self, *args, **kwargs):
        yield self.invoke(*args, **kwargs)

    def _parse_provider_response(self, response, **kwargs):
        return response

    def _parse_provider_response_delta(self, response):
        return response


model = Scripted()  # a real model goes here, such as OpenAIChat(id="gpt-5")
agent = Agent(name="agent", model=model, tools=[delete_file], db=InMemoryDb(), telemetry=False)
app = FastAPI()
app.include_router(AGUI(agent=agent).get_router())

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ["AGENT_PORT"]), log_level="warning")
