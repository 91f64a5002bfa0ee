"""Serves agents of Google ADK over ag_ui_adk, POST /<mode>/agent and /<mode>/predict. No model is called. See serving.py.

Modes: "outcome" is emit_interrupt_outcome, "default" the adapter's default, which ends a run that asks as if it was over.

A user message that begins with "plain" is answered with an echo. Any other names the calls that the model makes: "delete a.txt,
delete b.txt" are two calls in one turn, each of which wants a confirmation; "write hello" is one whose argument is a predicted state.
"""

import json
import os
import sys
from collections.abc import AsyncGenerator

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from ag_ui_adk import ADKAgent, AGUIToolset, PredictStateMapping, add_adk_fastapi_endpoint
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.tools import FunctionTool, ToolContext
from google.genai import types

from serving import LEDGER, options, serve


def thread(context: ToolContext) -> str:
    return context.state["_ag_ui_thread_id"]


def delete_file(path: str, tool_context: ToolContext) -> dict:
    """Deletes a file."""
    LEDGER.effect(thread(tool_context), "delete_file", path=path)
    return {"deleted": path}


def write_document(document: str, tool_context: ToolContext) -> dict:
    """Writes the document."""
    tool_context.state["document"] = document
    LEDGER.effect(thread(tool_context), "write_document", document=document)
    return {"status": "written"}


class Scripted(BaseLlm):
    model: str = "scripted"

    async def generate_content_async(self, request: LlmRequest, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        last = request.contents[-1].parts or []
        results = [part.function_response for part in last if part.function_response]
        order = " ".join(part.text for part in last if part.text)
        if results:
            said = "; ".join(f"{r.name} {json.dumps(r.response, default=str)}" for r in results)
            parts = [types.Part(text="results: " + said + (" | " + order if order else ""))]
        elif order.split(" ")[0] not in ("delete", "write"):
            parts = [types.Part(text="echo: " + order)]
        else:
            parts = []
            for call in order.split(","):
                verb, _, what = call.strip().partition(" ")
                name, args = {
                    "delete": ("delete_file", {"path": what}),
                    "write": ("write_document", {"document": what}),
                }[verb]
                parts.append(types.Part(function_call=types.FunctionCall(name=name, args=args)))
        yield LlmResponse(content=types.Content(role="model", parts=parts), partial=False, turn_complete=True)


MODES = {"outcome": {"emit_interrupt_outcome": True}, "default": {}}
app = FastAPI()
for mode, how in MODES.items():
    # A server in its default mode takes nothing more after ten pauses that nobody answered.
    shared = {"user_id": "u", "use_in_memory_services": True, "max_concurrent_executions": 100000, **how}
    tools = [FunctionTool(delete_file, require_confirmation=True), AGUIToolset()]
    asks = LlmAgent(name="agent", model=Scripted(), instruction="x", tools=tools)
    add_adk_fastapi_endpoint(app, ADKAgent(adk_agent=asks, app_name="agent", **shared), path=f"/{mode}/agent")
    writes = LlmAgent(name="predict", model=Scripted(), instruction="x", tools=[FunctionTool(write_document), AGUIToolset()])
    mapping = [PredictStateMapping(state_key="document", tool="write_document", tool_argument="document")]
    add_adk_fastapi_endpoint(app, ADKAgent(adk_agent=writes, app_name="predict", predict_state=mapping, **shared), path=f"/{mode}/predict")

if __name__ == "__main__":
    given = options()
    serve(app, list(MODES), ("ag_ui_adk", "google-adk"), given.port)
