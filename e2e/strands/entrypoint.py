"""An agent on Bedrock AgentCore Runtime that deletes files, and asks a person before it does.

docs/strands.md shows this file, and the end-to-end tests run it as it is, behind Holdpoint and with a scripted model.
"""

import os

from bedrock_agentcore.runtime import BedrockAgentCoreApp
from strands import Agent, tool
from strands.hooks import BeforeToolCallEvent, HookProvider, HookRegistry
from strands.session.file_session_manager import FileSessionManager

app = BedrockAgentCoreApp()
model = None  # the default of strands, a model of Bedrock


@tool
def delete_files(paths: list[str]) -> str:
    """Delete files."""
    for path in paths:
        os.remove(path)
    return "deleted " + ", ".join(paths)


class Approval(HookProvider):
    """Asks before files are deleted. The answer is a string, for that is what Holdpoint sends by default."""

    def register_hooks(self, registry: HookRegistry, **kwargs) -> None:
        registry.add_callback(BeforeToolCallEvent, self.approve)

    def approve(self, event: BeforeToolCallEvent) -> None:
        if event.tool_use["name"] != "delete_files":
            return
        approval = event.interrupt("myapp-approval", reason={"paths": event.tool_use["input"]["paths"]})
        if approval.lower() != "y":
            event.cancel_tool = "the user did not allow to delete these files"


@app.entrypoint
async def invoke(payload, context):
    # The session manager keeps the pause: without one it is gone with the agent object.
    sessions = FileSessionManager(session_id=context.session_id, storage_dir=os.environ.get("SESSIONS", "sessions"))
    agent = Agent(model=model, tools=[delete_files], hooks=[Approval()], session_manager=sessions, callback_handler=None)
    async for event in agent.stream_async(payload["prompt"]):
        yield event


if __name__ == "__main__":
    app.run()
