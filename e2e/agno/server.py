"""Serves an agent of agno over its AGUI interface, POST /default/agui, and a team that leads such an agent, POST /team/agui. No model
is called, and a team of such a team, POST /nested/agui. See serving.py.

Its pauses are calls without a result and a plain end, and are answered by tool messages.

A user message that begins with "plain" is answered with an echo. Any other names the calls that the model makes: "delete a.txt,
delete b.txt" are two calls that want a confirmation, "mail bob" is one that wants input, "form colour" asks by get_user_input, "ask colour"
by ask_user, "run ls" is a tool that somebody else executes, and "show x" is the client's own. The team's leader hands "hand delete
a.txt and delete b.txt" on to its member, and "pass hand delete a.txt" to a team. What stands behind "then" is the next turn's. "delete a.txt as call_7" has that id, for ids of some models
repeat.
"""

import asyncio
import json
import os
import sys
import uuid
from dataclasses import dataclass

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ["AGNO_TELEMETRY"] = "false"

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.db.sqlite import SqliteDb
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.os.interfaces.agui import AGUI
from agno.run import RunContext
from agno.tools import tool
from agno.team import Team
from agno.tools.user_feedback import UserFeedbackTools
from agno.tools.user_control_flow import UserControlFlowTools
from fastapi import FastAPI

from serving import LEDGER, options, serve


VERBS = {
    "delete": lambda what: ("delete_file", {"path": what}),
    "mail": lambda what: ("send_mail", {"subject": "hi", "to": what}),
    "show": lambda what: ("show_dialog", {"title": what}),
    "run": lambda what: ("run_command", {"command": what}),
    "pass": lambda what: ("delegate_task_to_member", {"member_id": "inner", "task": what}),
    "hand": lambda what: ("delegate_task_to_member", {"member_id": "worker", "task": what.replace(" and ", ", ")}),
    "ask": lambda what: ("ask_user", {"questions": [{"header": what, "question": f"Which {what}?", "options": [{"label": "red"}, {"label": "blue"}]}]}),
    "form": lambda what: ("get_user_input", {"user_input_fields": [{"field_name": what, "field_type": "str", "field_description": "Which " + what + "?"}]}),
}


@dataclass
class Scripted(Model):
    id: str = "scripted"

    def answer(self, messages) -> ModelResponse:
        order, results, turns = "", [], 0
        for message in messages:
            if message.role == "user":
                order, results, turns = str(message.content), [], 0
            elif message.role == "tool":
                results.append(str(message.content))
            elif message.role == "assistant":
                turns += 1
        steps = order.split(" then ")
        if turns >= len(steps):
            return ModelResponse(role="assistant", content="results: " + "; ".join(results))
        step = steps[turns]
        if step.split(" ")[0] not in VERBS:
            if step.startswith("fail"):
                raise RuntimeError("the model is gone")
            return ModelResponse(role="assistant", content="echo: " + order)
        calls = []
        for call in step.split(","):
            call, _, given_id = call.strip().partition(" as ")
            verb, _, what = call.partition(" ")
            name, arguments = VERBS[verb](what)
            function = {"name": name, "arguments": json.dumps(arguments)}
            calls.append({"id": given_id or "call_" + uuid.uuid4().hex[:12], "type": "function", "function": function})
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
async def delete_file(path: str, run_context: RunContext) -> str:
    """Deletes a file."""
    if path.startswith("slow"):
        await asyncio.sleep(0.5)
    LEDGER.effect(run_context.session_id, "delete_file", path=path)
    return "deleted " + path


@tool(requires_user_input=True, user_input_fields=["to"])
def send_mail(subject: str, to: str, run_context: RunContext) -> str:
    """Sends a mail."""
    LEDGER.effect(run_context.session_id, "send_mail", subject=subject, to=to)
    return "sent to " + to


@tool(external_execution=True)
def run_command(command: str) -> str:
    """Runs a command, elsewhere."""
    raise RuntimeError("this is executed elsewhere")


given = options()
db = SqliteDb(db_file=os.path.join(given.ledger, "agno.db")) if given.database else InMemoryDb()
app = FastAPI()
own = {"model": Scripted(), "db": db, "telemetry": False}
tools = [delete_file, send_mail, run_command, UserControlFlowTools(), UserFeedbackTools()]
agent = Agent(name="agent", tools=tools, add_history_to_context=True, **own)
app.include_router(AGUI(agent=agent, prefix="/default").get_router())
worker = Agent(name="worker", id="worker", model=Scripted(), tools=tools, telemetry=False)
app.include_router(AGUI(team=Team(name="team", members=[worker], **own), prefix="/team").get_router())
inner = Team(name="inner", id="inner", members=[Agent(name="worker", id="worker", model=Scripted(), tools=tools, telemetry=False)], model=Scripted(), telemetry=False)
app.include_router(AGUI(team=Team(name="outer", members=[inner], **own), prefix="/nested").get_router())

if __name__ == "__main__":
    serve(app, ["default", "team", "nested"], ("agno", "ag-ui-protocol"), given.port)
