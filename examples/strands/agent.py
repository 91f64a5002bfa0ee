"""A Strands agent that asks before it deletes a file, as an AG-UI endpoint."""

import json
import os
import uuid

import uvicorn
from ag_ui_strands import StrandsAgent, StrandsAgentConfig, ToolBehavior, add_strands_fastapi_endpoint
from fastapi import FastAPI
from strands import Agent, tool
from strands.models import Model


@tool
def delete_file(path: str) -> str:
    """Delete a file."""
    print(f"deleted {path}", flush=True)  # here the file would go
    return f"Deleted {path}."


class Scripted(Model):
    """Calls delete_file with the last word of the user's message, then says that it is done."""

    def update_config(self, **kwargs) -> None: ...

    def get_config(self) -> dict:
        return {"model_id": "scripted"}

    def structured_output(self, *args, **kwargs):
        raise NotImplementedError

    async def stream(self, messages, tool_specs=None, system_prompt=None, **kwargs):
        last = messages[-1]["content"][0]
        yield {"messageStart": {"role": "assistant"}}
        if "text" in last:
            call = {"name": "delete_file", "toolUseId": f"tooluse_{uuid.uuid4().hex}"}
            yield {"contentBlockStart": {"start": {"toolUse": call}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps({"path": last["text"].split()[-1]})}}}}
        else:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "That is all."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if "text" in last else "end_turn"}}


model = Scripted()  # a real model goes here, such as BedrockModel()
asking = StrandsAgentConfig(tool_behaviors={"delete_file": ToolBehavior(interrupt_on_call=True)})
agent = Agent(model=model, tools=[delete_file], callback_handler=None)
app = FastAPI()
add_strands_fastapi_endpoint(app, StrandsAgent(agent=agent, name="agent", config=asking), "/")

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ["AGENT_PORT"]), log_level="warning")
