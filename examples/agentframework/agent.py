"""An agent of Microsoft Agent Framework that asks before it deletes a file, as an AG-UI endpoint."""

import json
import os
import uuid

import uvicorn
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    ResponseStream,
    tool,
)
from agent_framework_ag_ui import AgentFrameworkAgent, add_agent_framework_fastapi_endpoint
from fastapi import FastAPI


@tool(approval_mode="always_require")
def delete_file(path: str) -> str:
    """Delete a file."""
    print(f"deleted {path}", flush=True)  # here the file would go
    return f"Deleted {path}."


class Scripted(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Calls delete_file with the last word of the user's message, then says that it is done."""

    def _inner_get_response(self, *, messages, stream=False, options=None, **kwargs):
        async def updates():
            last = messages[-1]
            if last.role == "user":
                arguments = json.dumps({"path": last.text.split()[-1]})
                said = Content.from_function_call(call_id=f"call_{uuid.uuid4().hex}", name="delete_file", arguments=arguments)
            else:
                said = Content.from_text(text="That is all.")
            yield ChatResponseUpdate(contents=[said], role="assistant", message_id=uuid.uuid4().hex)

        async def whole():
            return ChatResponse.from_updates([update async for update in updates()])

        return ResponseStream(updates(), finalizer=ChatResponse.from_updates) if stream else whole()


client = Scripted()  # a real model goes here, such as OpenAIChatClient()
agent = AgentFrameworkAgent(agent=Agent(client=client, name="agent", tools=[delete_file]))
app = FastAPI()
add_agent_framework_fastapi_endpoint(app, agent, "/", single_user=True)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ["AGENT_PORT"]), log_level="warning")
