"""Serves flows of CrewAI over ag_ui_crewai, POST /<mode>/<flow>. No model is called. See serving.py.

Modes: "outcome" is emit_interrupt_outcome, "default" the adapter's default, which announces a pause by CUSTOM on_interrupt and
ends as if the run was over.

Flows, each of which asks before it deletes, whatever it is told: "gate", whose first option is the yes; "slow", the same with a
tool that takes its time; "safe", the same with a default that is the no; "free", without options; "two", which asks once more
after the first yes; "pair", two methods of which each asks.
"""

import os
import sys

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", OTEL_SDK_DISABLED="true", CREWAI_TRACING_ENABLED="false", LITELLM_LOCAL_MODEL_COST_MAP="True")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from serving import LEDGER, options, serve

GIVEN = options()
os.environ["CREWAI_STORAGE_DIR"] = os.path.abspath(GIVEN.ledger)
os.chdir(GIVEN.ledger)

import asyncio
import re

import crewai.llm
from ag_ui_crewai import CopilotKitState, add_crewai_flow_fastapi_endpoint, agui_feedback_provider
from crewai import BaseLLM
from crewai.flow.flow import Flow, listen, start
from crewai.flow.human_feedback import human_feedback
from fastapi import FastAPI


class Scripted(BaseLLM):
    """Maps what a person said to the option of that name, and anything else to the last one."""

    def __init__(self) -> None:
        super().__init__(model="scripted")

    def call(self, messages, *args, **kwargs):
        prompt = messages if isinstance(messages, str) else messages[-1]["content"]
        said = re.search(r"[Ff]eedback:\s*(.*?)\n", prompt)
        listed = re.search(r"[Oo]utcomes?[^:]*:\s*(.*)", prompt)
        outcomes = [one.strip(" .") for one in listed.group(1).split(",")] if listed else [""]
        word = (said.group(1) if said else "").strip()
        return word if word in outcomes else outcomes[-1]

    def supports_function_calling(self) -> bool:
        return False


crewai.llm.LLM = lambda *args, **kwargs: Scripted()
ASKING = {"message": "Delete a.txt?", "emit": ["approved", "rejected"], "llm": Scripted(), "provider": agui_feedback_provider}


def noted(flow: Flow, what: str) -> str:
    LEDGER.effect(flow.state.id, what, path="a.txt")
    return what


class Asking(Flow[CopilotKitState]):
    _skip_auto_memory = True  # its vector store is most of what CrewAI installs, and none of this needs it


class Gate(Asking):
    @start()
    @human_feedback(**ASKING)
    def ask(self):
        return {"path": "a.txt"}

    @listen("approved")
    def delete(self, result):
        return noted(self, "delete_file")

    @listen("rejected")
    def leave(self, result):
        return "left"


class Slow(Asking):
    @start()
    @human_feedback(**ASKING)
    def ask(self):
        return {"path": "a.txt"}

    @listen("approved")
    async def delete(self, result):
        await asyncio.sleep(0.5)
        return noted(self, "delete_file")

    @listen("rejected")
    def leave(self, result):
        return "left"


class Pair(Asking):
    @start()
    @human_feedback(**ASKING)
    def ask(self):
        return {"path": "a.txt"}

    @start()
    @human_feedback(**{**ASKING, "message": "Delete b.txt?", "emit": ["sure", "no"]})
    def also(self):
        return {"path": "b.txt"}

    @listen("approved")
    def delete(self, result):
        return noted(self, "delete_file")

    @listen("sure")
    def delete_other(self, result):
        LEDGER.effect(self.state.id, "delete_file", path="b.txt")
        return "gone"


class Safe(Asking):
    @start()
    @human_feedback(**ASKING, default_outcome="rejected")
    def ask(self):
        return {"path": "a.txt"}

    @listen("approved")
    def delete(self, result):
        return noted(self, "delete_file")

    @listen("rejected")
    def leave(self, result):
        return "left"


class Free(Asking):
    @start()
    @human_feedback(message="What do you think?", provider=agui_feedback_provider)
    def ask(self):
        return "a draft"

    @listen(ask)
    def publish(self, result):
        LEDGER.effect(self.state.id, "publish", said=result.feedback)
        return "published"


class Two(Asking):
    @start()
    @human_feedback(**ASKING)
    def ask(self):
        return {"path": "a.txt"}

    @listen("approved")
    @human_feedback(**{**ASKING, "message": "Really?", "emit": ["sure", "no"]})
    def again(self, result):
        return {"path": "a.txt"}

    @listen("sure")
    def delete(self, result):
        return noted(self, "delete_file")

    @listen("no")
    def leave(self, result):
        return "left"


MODES = {"outcome": {"emit_interrupt_outcome": True}, "default": {}}
app = FastAPI()
for mode, how in MODES.items():
    for flow in (Gate, Slow, Safe, Free, Two, Pair):
        add_crewai_flow_fastapi_endpoint(app, flow(), path=f"/{mode}/{flow.__name__.lower()}", **how)

if __name__ == "__main__":
    serve(app, list(MODES), ("ag-ui-crewai", "crewai"), GIVEN.port)
