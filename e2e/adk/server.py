"""Serves agents of Google ADK over ag_ui_adk, POST /<mode>/agent and /<mode>/predict. No model is called. See serving.py.

Modes: "outcome" is emit_interrupt_outcome, where the package has it; "default" the adapter's default, which ends a run that asks as
if it was over; "resumable" the same with an App that is resumable, agent only.

A user message that begins with "plain" is answered with an echo. Any other names the calls that the model makes: "delete a.txt,
delete b.txt" are two calls in one turn, each of which wants a confirmation; "refund 50" asks with a payload; "ask colour" is a
long-running tool, and "ticket x" one that waits for a job; "show x" is the client's own tool; "write hello" is one whose argument is
a predicted state. "fail" fails in the model, and "delete boom" in the tool. What stands behind "then" is the next turn's, once the first has its results.
"""

import asyncio
import inspect
import json
import os
import sys
from collections.abc import AsyncGenerator

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from ag_ui_adk import ADKAgent, AGUIToolset, PredictStateMapping, add_adk_fastapi_endpoint
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.apps import App, ResumabilityConfig
from google.adk.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from google.genai import types

from serving import LEDGER, options, serve


def thread(context: ToolContext) -> str:
    return context.state["_ag_ui_thread_id"]


async def delete_file(path: str, tool_context: ToolContext) -> dict:
    """Deletes a file."""
    if path.startswith("slow"):
        await asyncio.sleep(0.5)
    LEDGER.effect(thread(tool_context), "delete_file", path=path)
    if path.startswith("boom"):
        raise RuntimeError("the disk is on fire")
    return {"deleted": path}


def refund(amount: int, tool_context: ToolContext) -> dict:
    """Refunds money. The person may change the amount."""
    said = tool_context.tool_confirmation
    if not said:
        tool_context.request_confirmation(hint="Refund? The amount may be changed.", payload={"amount": 0})
        return {"status": "waits"}
    if not said.confirmed:
        return {"status": "refused"}
    LEDGER.effect(thread(tool_context), "refund", amount=(said.payload or {}).get("amount", amount))
    return {"status": "refunded"}


def ask_human(question: str, tool_context: ToolContext) -> None:
    """Asks a person."""
    return None


def start_job(name: str, tool_context: ToolContext) -> dict:
    """Starts a job that ends later."""
    LEDGER.effect(thread(tool_context), "start_job", job=name)
    return {"status": "pending"}


def write_document(document: str, tool_context: ToolContext) -> dict:
    """Writes the document."""
    tool_context.state["document"] = document
    LEDGER.effect(thread(tool_context), "write_document", document=document)
    return {"status": "written"}


VERBS = {
    "delete": ("delete_file", "path"),
    "refund": ("refund", "amount"),
    "ask": ("ask_human", "question"),
    "ticket": ("start_job", "name"),
    "show": ("show_dialog", "title"),
    "write": ("write_document", "document"),
}


class Scripted(BaseLlm):
    model: str = "scripted"

    async def generate_content_async(self, request: LlmRequest, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        last = request.contents[-1].parts or []
        results = [part.function_response for part in last if part.function_response]
        order = " ".join(part.text for part in last if part.text)
        if results:
            said = "; ".join(f"{r.name} {json.dumps(r.response, default=str)}" for r in results)
            asked = [p.text for c in request.contents if c.role == "user" for p in c.parts or [] if p.text]
            order = asked[-1].partition(" then ")[2] if asked else ""
            asked_before = sum(1 for c in request.contents for p in c.parts or [] if p.function_call and order and p.function_call.args.get("path") == order.split(" ")[-1])
            if not order or asked_before or any("error" in (r.response or {}) for r in results):
                order, parts = "", [types.Part(text="results: " + said)]
        order = order.partition(" then ")[0]
        if order.startswith("fail"):
            raise RuntimeError("the model is gone")
        if order.split(" ")[0] in VERBS:
            parts = []
            for call in order.split(","):
                verb, _, what = call.strip().partition(" ")
                name, argument = VERBS[verb]
                what = int(what) if verb == "refund" else what
                parts.append(types.Part(function_call=types.FunctionCall(name=name, args={argument: what})))
        elif not results:
            parts = [types.Part(text="echo: " + order)]
        yield LlmResponse(content=types.Content(role="model", parts=parts), partial=False, turn_complete=True)


given = options()
HAS_OUTCOME = "emit_interrupt_outcome" in inspect.signature(ADKAgent.__init__).parameters
MODES = {"default": {}, "resumable": {}} | ({"outcome": {"emit_interrupt_outcome": True}} if HAS_OUTCOME else {})
app = FastAPI()
for mode, how in MODES.items():
    # A server in its default mode takes nothing more after ten pauses that nobody answered.
    shared = {"user_id": "u", "max_concurrent_executions": 100000, **how}
    if given.database:  # not all of the pinned environments have what it needs
        from google.adk.sessions import DatabaseSessionService

        shared["session_service"] = DatabaseSessionService("sqlite+aiosqlite:///" + os.path.join(given.ledger, f"adk-{mode}.db"))
    tools = [FunctionTool(delete_file, require_confirmation=True), FunctionTool(refund), LongRunningFunctionTool(ask_human), LongRunningFunctionTool(start_job), AGUIToolset()]
    asks = LlmAgent(name="agent", model=Scripted(), instruction="x", tools=tools)
    if mode == "resumable":
        adapter = ADKAgent.from_app(App(name="agent", root_agent=asks, resumability_config=ResumabilityConfig(is_resumable=True)), **shared)
        add_adk_fastapi_endpoint(app, adapter, path=f"/{mode}/agent")
        continue
    shared["use_in_memory_services"] = True
    add_adk_fastapi_endpoint(app, ADKAgent(adk_agent=asks, app_name="agent", **shared), path=f"/{mode}/agent")
    writes = LlmAgent(name="predict", model=Scripted(), instruction="x", tools=[FunctionTool(write_document), AGUIToolset()])
    mapping = [PredictStateMapping(state_key="document", tool="write_document", tool_argument="document")]
    add_adk_fastapi_endpoint(app, ADKAgent(adk_agent=writes, app_name="predict", predict_state=mapping, **shared), path=f"/{mode}/predict")

if __name__ == "__main__":
    serve(app, list(MODES), ("ag_ui_adk", "google-adk"), given.port)
