"""An agent of Google ADK that asks before it deletes a file, as an AG-UI endpoint."""

import os

import uvicorn
from ag_ui_adk import ADKAgent, add_adk_fastapi_endpoint
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.tools import FunctionTool
from google.genai import types


def delete_file(path: str) -> dict:
    """Delete a file."""
    print(f"deleted {path}", flush=True)  # here the file would go
    return {"deleted": path}


class Scripted(BaseLlm):
    """Calls delete_file with the last word of the user's message, then says that it is done."""

    model: str = "scripted"

    async def generate_content_async(self, request, stream=False):
        last = request.contents[-1].parts[-1]
        if last.text:
            call = types.FunctionCall(name="delete_file", args={"path": last.text.split()[-1]})
            said = types.Part(function_call=call)
        else:
            said = types.Part(text="That is all.")
        yield LlmResponse(content=types.Content(role="model", parts=[said]), partial=False, turn_complete=True)


model = Scripted()  # a real model goes here, such as "gemini-3-pro"
tools = [FunctionTool(delete_file, require_confirmation=True)]
agent = LlmAgent(name="agent", model=model, instruction="You delete files.", tools=tools)
adapter = ADKAgent(adk_agent=agent, app_name="agent", user_id="everyone", use_in_memory_services=True)
app = FastAPI()
add_adk_fastapi_endpoint(app, adapter, path="/")

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ["AGENT_PORT"]), log_level="warning")
