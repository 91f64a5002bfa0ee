"""Serves agents of Google ADK over ag_ui_adk, POST /<mode>/agent and /<mode>/predict. No model is called. See serving.py.

Modes: "outcome" is emit_interrupt_outcome, where the package has it; "default" the adapter's default, which ends a run that asks as
if it was over; "resumable" the same with an App that is resumable, agent only.

POST /snapshots/agent is the default with a MESSAGES_SNAPSHOT at the end of each run.

With google-adk 2 each mode has workflows too, POST /<mode>/<flow>: "review" asks by a RequestInput with a schema, "free" by one without
and "count" by one for a number; "pay" has a node that wants a confirmation, and "key" one that wants an API key. What the person gave
is the effect "publish".

A user message that begins with "plain" is answered with an echo. Any other names the calls that the model makes: "delete a.txt,
delete b.txt" are two calls in one turn, each of which wants a confirmation; "refund 50" asks with a payload; "ask colour" is a
long-running tool, and "ticket x" one that waits for a job; "show x" is the client's own tool; "write hello" is one whose argument is
a predicted state. "input colour" is the model's question by ADK 2's own tool, and "mail x" a tool that wants an OAuth credential. "fail" fails in the model, and "delete boom" in the tool. What stands behind "then" is the next turn's, once the first has its results.
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
from google.adk.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from google.adk.auth.auth_handler import AuthHandler
from google.adk.auth.auth_tool import AuthConfig
from google.adk.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from google.genai import types
from fastapi.openapi.models import APIKey, APIKeyIn, OAuth2, OAuthFlowAuthorizationCode, OAuthFlows

try:
    from google.adk.events import RequestInput
    from google.adk.tools._request_input_tool import request_input
    from google.adk.workflow import START, FunctionNode, Workflow, node
except ImportError:  # google-adk 1
    Workflow = None

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


MAIL = AuthConfig(
    auth_scheme=OAuth2(flows=OAuthFlows(authorizationCode=OAuthFlowAuthorizationCode(authorizationUrl="https://login.test/auth", tokenUrl="https://login.test/token", scopes={"mail": "reads"}))),
    raw_auth_credential=AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=OAuth2Auth(client_id="holdpoint", client_secret="the-agents-own-secret")),
)


def read_mail(folder: str, tool_context: ToolContext) -> dict:
    """Reads mail."""
    given = tool_context.get_auth_response(MAIL)
    if not given:
        tool_context.request_credential(MAIL)
        return {"status": "waits"}
    LEDGER.effect(thread(tool_context), "read_mail", folder=folder, token=given.oauth2.access_token, secret=given.oauth2.client_secret)
    return {"mail": "none"}


VERBS = {
    "input": ("adk_request_input", "message"),
    "mail": ("read_mail", "folder"),
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


KEY = AuthConfig(auth_scheme=APIKey(**{"in": APIKeyIn.header}, name="X-Key"), raw_auth_credential=AuthCredential(auth_type=AuthCredentialTypes.API_KEY), credential_key="key")


def flows() -> dict:
    """The workflows, each by its name."""

    def said(value) -> str:
        return " ".join(part.text or "" for part in value.parts or []) if hasattr(value, "parts") else str(value)

    async def start(ctx, node_input):
        LEDGER.effect(thread(ctx), "start", order=said(node_input))
        yield said(node_input)

    def asks(**how):
        async def ask(ctx, node_input):
            yield RequestInput(**how)

        return node(ask)

    async def pay(ctx, node_input):
        LEDGER.effect(thread(ctx), "pay", order=node_input)
        yield "paid"

    def use_key(ctx, node_input):
        return AuthHandler(KEY).get_auth_response(ctx.state).api_key

    async def publish(ctx, node_input):
        LEDGER.effect(thread(ctx), "publish", given=node_input)
        yield "published"

    wants = {"type": "object", "properties": {"approved": {"type": "boolean"}, "note": {"type": "string"}}, "required": ["approved"]}
    middle = {
        "review": lambda: asks(message="Publish the draft?", payload={"draft": "hello"}, response_schema=wants),
        "free": lambda: asks(message="Say anything."),
        "count": lambda: asks(response_schema=int),
        "pay": lambda: node(pay, require_confirmation=True),
        "key": lambda: FunctionNode(func=use_key, name="key", auth_config=KEY, rerun_on_resume=True),
    }

    def flow(name: str) -> Workflow:
        first, ask, last = node(start), middle[name](), node(publish)
        return Workflow(name=name, edges=[(START, first), (first, ask), (ask, last)])

    return {name: flow(name) for name in middle}


def note(callback_context, llm_request) -> None:
    """Keeps which results the model is shown."""
    shown = [part.function_response for content in llm_request.contents for part in content.parts or [] if part.function_response]
    LEDGER.add(thread(callback_context), "seen", {"results": [json.dumps(r.response, default=str) for r in shown]})


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
    tools = [FunctionTool(delete_file, require_confirmation=True), FunctionTool(refund), LongRunningFunctionTool(ask_human), LongRunningFunctionTool(start_job), FunctionTool(read_mail), AGUIToolset()]
    if Workflow:
        tools.append(request_input)
        for name, flow in flows().items():
            resumes = {"resumability_config": ResumabilityConfig(is_resumable=True)} if mode == "resumable" else {}
            flowing = ADKAgent.from_app(App(name=name, root_agent=flow, **resumes), **shared, use_in_memory_services=True)
            add_adk_fastapi_endpoint(app, flowing, path=f"/{mode}/{name}")
    asks = LlmAgent(name="agent", model=Scripted(), instruction="x", tools=tools, before_model_callback=note)
    if mode == "resumable":
        adapter = ADKAgent.from_app(App(name="agent", root_agent=asks, resumability_config=ResumabilityConfig(is_resumable=True)), **shared)
        add_adk_fastapi_endpoint(app, adapter, path=f"/{mode}/agent")
        continue
    shared["use_in_memory_services"] = True
    if mode == "default" and "emit_messages_snapshot" in inspect.signature(ADKAgent.__init__).parameters:
        telling = ADKAgent(adk_agent=asks, app_name="telling", emit_messages_snapshot=True, **shared)
        add_adk_fastapi_endpoint(app, telling, path="/snapshots/agent")
    add_adk_fastapi_endpoint(app, ADKAgent(adk_agent=asks, app_name="agent", **shared), path=f"/{mode}/agent")
    writes = LlmAgent(name="predict", model=Scripted(), instruction="x", tools=[FunctionTool(write_document), AGUIToolset()])
    mapping = [PredictStateMapping(state_key="document", tool="write_document", tool_argument="document")]
    add_adk_fastapi_endpoint(app, ADKAgent(adk_agent=writes, app_name="predict", predict_state=mapping, **shared), path=f"/{mode}/predict")

if __name__ == "__main__":
    serve(app, list(MODES), ("ag_ui_adk", "google-adk"), given.port)
