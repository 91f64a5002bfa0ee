"""A CrewAI flow that asks before it deletes a file, as an AG-UI endpoint."""

import os

os.environ.setdefault("CREWAI_STORAGE_DIR", os.path.abspath(".cache"))  # where paused flows are kept
os.environ.update(CREWAI_DISABLE_TELEMETRY="true", OTEL_SDK_DISABLED="true", CREWAI_TRACING_ENABLED="false")

import crewai.llm
import uvicorn
from ag_ui_crewai import CopilotKitState, add_crewai_flow_fastapi_endpoint, agui_feedback_provider
from crewai import BaseLLM
from crewai.flow.flow import Flow, listen, start
from crewai.flow.human_feedback import human_feedback
from fastapi import FastAPI


class Scripted(BaseLLM):
    """Is asked which option an answer means: the yes only if the answer is the word "approved"."""

    def __init__(self) -> None:
        super().__init__(model="scripted")

    def call(self, messages, *args, **kwargs):
        prompt = messages if isinstance(messages, str) else messages[-1]["content"]
        return "approved" if "feedback: approved\n" in prompt.lower() else "rejected"

    def supports_function_calling(self) -> bool:
        return False


model = Scripted()  # a real model goes here, such as LLM("openai/gpt-5")
crewai.llm.LLM = lambda *args, **kwargs: model  # goes with the scripted model
ASKING = {"emit": ["approved", "rejected"], "default_outcome": "rejected", "llm": model, "provider": agui_feedback_provider}


class Delete(Flow[CopilotKitState]):
    _skip_auto_memory = True  # or CrewAI wants a vector store

    @start()
    @human_feedback(message="Delete the file?", **ASKING)
    def ask(self):
        return self.state.messages[-1]["content"].split()[-1]

    @listen("approved")
    def delete(self, result):
        print(f"deleted {result.output}", flush=True)  # here the file would go
        return f"Deleted {result.output}."

    @listen("rejected")
    def leave(self, result):
        return "The person said no."


app = FastAPI()
add_crewai_flow_fastapi_endpoint(app, Delete(), path="/")

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ["AGENT_PORT"]), log_level="warning")
