"""An agent whose tool is an MCP server's, which asks the person before it pays (langchain.mcp). No model is called.

"pay" and the names of what it asks: "pay form" wants a reference, "pay page" has a page to visit, "pay sure" is a form without
members, "pay form page sure" is all in one round, and "pay form then sure" is two rounds. "plain" is answered with an echo.
"""

from typing import Any, Callable

from fastmcp import Context, FastMCP
from langchain.agents import create_agent
from langchain.mcp import MCPAdapter
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.config import get_config
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitRequestURLParams, InputRequiredResult
import uuid

FORM = {
    "type": "object",
    "properties": {"reference": {"type": "string"}, "copies": {"type": "integer", "minimum": 1}},
    "required": ["reference"],
}
ASKS = {
    "form": ElicitRequestFormParams(message="Which reference?", requested_schema=FORM),
    "page": ElicitRequestURLParams(message="Sign in at your bank", url="https://bank.example/sign-in"),
    "sure": ElicitRequestFormParams(message="Pay now?", requested_schema={"type": "object", "properties": {}}),
}


def server(effect: Callable[[str, str, dict], None]) -> FastMCP:
    mcp = FastMCP("bank")

    @mcp.tool
    async def pay(thread: str, rounds: list[str], ctx: Context) -> Any:
        """Pays once everything that it asks is accepted."""
        state = ctx.request_state or ""
        at = state.count("|")
        told = dict(ctx.input_responses or {})
        if at and any(one.action != "accept" for one in told.values()):
            return "not paid: " + ", ".join(f"{key} {one.action}" for key, one in sorted(told.items()))
        state += "".join(f"{key}={one.content};" for key, one in sorted(told.items()))
        if at < len(rounds):
            asked = {key: ElicitRequest(params=ASKS[key]) for key in rounds[at].split()}
            return InputRequiredResult(input_requests=asked, request_state=state + "|")
        content = {k: v for one in told.values() for k, v in (one.content or {}).items()}
        effect(thread, "pay", {"rounds": len(rounds), **content})
        return "paid"

    return mcp


class Scripted(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **_) -> ChatResult:
        at = max(n for n, m in enumerate(messages) if m.type == "human")
        order = messages[at].text
        results = [m.text for m in messages[at + 1:] if m.type == "tool"]
        calls = []
        if order.startswith("pay ") and not results:
            thread = get_config()["configurable"]["thread_id"]
            rounds = order.removeprefix("pay ").split(" then ")
            calls = [{"id": f"call-{uuid.uuid4().hex}", "name": "pay", "args": {"thread": thread, "rounds": rounds}}]
        content = "" if calls else "done: " + "; ".join(results) if results else "echo: " + order
        message = AIMessage(id=f"ai-{uuid.uuid4().hex}", content=content, tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


async def agent(effect: Callable[[str, str, dict], None], **options):
    return create_agent(Scripted(), await MCPAdapter(server(effect)).list_tools(), **options)
