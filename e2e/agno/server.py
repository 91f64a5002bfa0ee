"""Serves an agent of agno over its AGUI interface, POST /default/agui. No model is called. See serving.py.

Its pauses are calls without a result and a plain end, and are answered by tool messages.

A user message that begins with "plain" is answered with an echo. Any other names the calls that the model makes: "delete a.txt".
"""

import json
import os
import sys
import uuid
from dataclasses import dataclass

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ["AGNO_TELEMETRY"] = "false"

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.os.interfaces.agui import AGUI
from agno.run import RunContext
from agno.tools import tool
from fastapi import FastAPI

from serving import LEDGER, options, serve


@dataclass
class Scripted(Model):
    id: str = "scripted"

    def answer(self, messages) -> ModelResponse:
        order, results = "", []
        for message in messages:
            if message.role == "user":
                order, results = str(message.content), []
            elif message.role == "tool":
                results.append(str(message.content))
        if results:
            return ModelResponse(role="assistant", content="results: " + "; ".join(results))
        if not order.startswith("delete"):
            return ModelResponse(role="assistant", content="echo: " + order)
        calls = []
        for call in order.split(","):
            arguments = json.dumps({"path": call.strip().partition(" ")[2]})
            calls.append({"id": "call_" + uuid.uuid4().hex[:12], "type": "function", "function": {"name": "delete_file", "arguments": arguments}})
        said = ModelResponse(role="assistant", content="I will.")
        said.tool_calls = calls
        return said

    def invoke(self, messages, *args, **kwargs):
        return self.answer(messages)

    async def ainvoke(self, messages, *args, **kwargs):
        return self.answer(messages)

    def invoke_stream(self, messages, *args, **kwargs):
        yield self.answer(messages)

    async def ainvoke_stream(self, messages, *args, **kwargs):
        yield self.answer(messages)

    def _parse_provider_response(self, response, **kwargs):
        return response

    def _parse_provider_response_delta(self, response):
        return response


@tool(requires_confirmation=True)
def delete_file(path: str, run_context: RunContext) -> str:
    """Deletes a file."""
    LEDGER.effect(run_context.session_id, "delete_file", path=path)
    return "deleted " + path


app = FastAPI()
agent = Agent(name="agent", model=Scripted(), tools=[delete_file], db=InMemoryDb(), telemetry=False, add_history_to_context=True)
app.include_router(AGUI(agent=agent, prefix="/default").get_router())

if __name__ == "__main__":
    given = options()
    serve(app, ["default"], ("agno", "ag-ui-protocol"), given.port)
