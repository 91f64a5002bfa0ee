"""Deterministic Strands agents for the end-to-end tests, with a model that follows a script. No model is called.

A user message is a command and the thread that it is for: "delete a.txt @THREAD". The tools get the thread in their
arguments, so that what they do is counted per thread wherever they run. A message that begins with "plain" is answered
with an echo and nothing else, so that "the thread goes on" can be tested everywhere.

  delete A B        one call            think A     as delete, with reasoning before it
  pair A B          two calls at once   ask         the tool itself asks
  each A B          one after the other twice       the tool asks twice
  mix A             one that needs nobody's leave beside one that does
  client-last A     one call, and behind it one of a tool that the client declares; client-first A: before it
  slow GATE A       the tool waits at a gate after it did its work
  linger GATE       a tool that needs nobody's leave waits at a gate
  hand A            the agent that deletes is a tool of this one
  boom              the model dies in the middle; boom-after A: when the tool has run

What would touch the world is counted in LEDGER and really touches it: files are deleted, in a folder for each thread.
"""

import json
import pathlib

from strands import Agent, ToolContext, tool
from strands.hooks import BeforeNodeCallEvent, BeforeToolCallEvent, HookProvider, HookRegistry
from strands.multiagent import GraphBuilder, Swarm
from strands.session.file_session_manager import FileSessionManager

from ledger import GATES, LEDGER
from model import Inspector, Scripted

try:  # newer than 1.40
    from strands.hooks import BeforeToolsEvent
    from strands.vended_interventions.hitl import HumanInTheLoop
except ImportError:
    BeforeToolsEvent = HumanInTheLoop = None


# ---- the tools -----------------------------------------------------------------------------------------------------


def delete(tool_name: str, paths: list[str]) -> str:
    """Count, then delete: a file that is gone already is counted too."""
    files = [pathlib.Path(path) for path in paths]
    LEDGER.add("effects", files[0].parent.name, {"name": tool_name, "args": {"paths": [f.name for f in files]}})
    for file in files:
        file.unlink()
    return "deleted " + ", ".join(f.name for f in files)


@tool
def delete_files(paths: list[str]) -> str:
    """Delete files."""
    return delete("delete_files", paths)


@tool
async def delete_slowly(paths: list[str], gate: str) -> str:
    """Delete files, and wait at a gate before that is told."""
    done = delete("delete_slowly", paths)
    await GATES.wait(gate)
    return done


@tool
async def linger(gate: str, thread: str) -> str:
    """Wait at a gate; needs nobody's leave."""
    LEDGER.add("effects", thread, {"name": "linger", "args": {}})
    await GATES.wait(gate)
    return "waited"


@tool
def list_files(thread: str) -> list:
    """List files; needs nobody's leave."""
    LEDGER.add("effects", thread, {"name": "list_files", "args": {}})
    return sorted(f.name for f in (LEDGER.folder / thread).iterdir())


@tool(context=True)
def ask_user(tool_context: ToolContext, question: str, thread: str) -> str:
    """Ask the user."""
    answer = tool_context.interrupt("ask_user", reason=question)
    LEDGER.add("effects", thread, {"name": "ask_user", "args": {"answer": answer}})
    return json.dumps({"answer": answer})


@tool(context=True)
def ask_twice(tool_context: ToolContext, thread: str) -> str:
    """Ask the user, and ask again."""
    first = tool_context.interrupt("first", reason={"message": "Which environment?", "step": 1})
    second = tool_context.interrupt("second", reason={"message": f"Really {first}?", "step": 2})
    LEDGER.add("effects", thread, {"name": "ask_twice", "args": {"first": first, "second": second}})
    return json.dumps({"first": first, "second": second})


# ---- those who ask -------------------------------------------------------------------------------------------------

DELETES = ("delete_files", "delete_slowly")


def names(paths: list[str]) -> list[str]:
    return [pathlib.Path(path).name for path in paths]


class Approval(HookProvider):
    """The hook of the documentation: whatever is no string has no lower()."""

    def register_hooks(self, registry: HookRegistry, **kwargs) -> None:
        registry.add_callback(BeforeToolCallEvent, self.approve)

    def approve(self, event: BeforeToolCallEvent) -> None:
        if event.tool_use["name"] not in DELETES:
            return
        approval = event.interrupt("myapp-approval", reason={"paths": names(event.tool_use["input"]["paths"])})
        if approval.lower() != "y":
            event.cancel_tool = f"denied with {approval}"


class Trust(HookProvider):
    """The session example of the documentation: t is a yes for all later calls of the tool too."""

    def register_hooks(self, registry: HookRegistry, **kwargs) -> None:
        registry.add_callback(BeforeToolCallEvent, self.approve)

    def approve(self, event: BeforeToolCallEvent) -> None:
        name = event.tool_use["name"]
        if name not in DELETES or event.agent.state.get(f"{name}-approval") == "t":
            return
        approval = event.interrupt(f"{name}-approval", reason={"paths": names(event.tool_use["input"]["paths"])})
        if approval.lower() not in ("y", "t"):
            event.cancel_tool = f"denied with {approval}"
        event.agent.state.set(f"{name}-approval", approval.lower())


class Chain(HookProvider):
    """Asks two questions one after the other about one call."""

    def register_hooks(self, registry: HookRegistry, **kwargs) -> None:
        registry.add_callback(BeforeToolCallEvent, self.approve)

    def approve(self, event: BeforeToolCallEvent) -> None:
        if event.tool_use["name"] not in DELETES:
            return
        for name in ("safety", "cost"):
            if event.interrupt(name, reason=f"Is the {name} fine?") != "y":
                event.cancel_tool = f"denied for its {name}"
                return


class Batch(HookProvider):
    """Asks once about all calls of a message. On the wire there is nothing of it but Python's repr of the result."""

    def register_hooks(self, registry: HookRegistry, **kwargs) -> None:
        registry.add_callback(BeforeToolsEvent, self.approve)

    def approve(self, event) -> None:
        calls = [b["toolUse"] for b in event.message["content"] if "toolUse" in b]
        reason = {"message": "Run all of it, don't you \"think\"?", "tools": tuple(c["name"] for c in calls), "more": None}
        if event.interrupt("batch", reason=reason) != "y":
            event.cancel = "denied"


class NodeApproval(HookProvider):
    """Asks before a node of a graph or swarm runs."""

    def register_hooks(self, registry: HookRegistry, **kwargs) -> None:
        registry.add_callback(BeforeNodeCallEvent, self.approve)

    def approve(self, event: BeforeNodeCallEvent) -> None:
        if event.node_id != "cleanup":
            return
        if event.interrupt("node-approval", reason={"node": event.node_id}).lower() != "y":
            event.cancel_node = "denied"


class Enveloped(HookProvider):
    """A hook as ag_ui_strands wants it: the answer comes in an envelope."""

    def register_hooks(self, registry: HookRegistry, **kwargs) -> None:
        registry.add_callback(BeforeToolCallEvent, self.approve)

    def approve(self, event: BeforeToolCallEvent) -> None:
        if event.tool_use["name"] not in DELETES:
            return
        answer = event.interrupt("myapp-approval", reason={"paths": names(event.tool_use["input"]["paths"])})
        response = answer.get("response")
        if not isinstance(response, dict) or response.get("approved") is not True:
            event.cancel_tool = f"denied with {json.dumps(answer)}"


# ---- the agents ----------------------------------------------------------------------------------------------------


def agent(*hooks: HookProvider, tools: tuple = (), **options) -> Agent:
    every = [delete_files, delete_slowly, linger, list_files, ask_user, ask_twice, *tools]
    return Agent(model=Scripted(), tools=every, hooks=list(hooks), callback_handler=None, system_prompt="You delete files.", **options)


def boss(**options) -> Agent:
    """Its only tool that deletes is another agent."""
    cleaner = Agent(name="cleaner", model=Scripted(), tools=[delete_files], hooks=[Approval()], callback_handler=None, system_prompt="You delete files.")
    return Agent(model=Scripted(), tools=[cleaner.as_tool(name="cleaner", description="Deletes files.")], callback_handler=None, **options)


def graph(session_manager=None):
    """inspector, then cleanup, which is asked for as a node and then by its own hook."""
    builder = GraphBuilder()
    builder.add_node(Agent(name="inspector", model=Inspector(), callback_handler=None), "inspector")
    builder.add_node(agent(Approval(), name="cleanup"), "cleanup")
    builder.add_edge("inspector", "cleanup")
    builder.set_entry_point("inspector")
    builder.set_hook_providers([NodeApproval()])
    builder.set_execution_timeout(60)
    builder.set_graph_id("graph")
    if session_manager:
        builder.set_session_manager(session_manager)
    return builder.build()


def branches(session_manager=None):
    """Two agents at once, each of which asks for itself."""
    builder = GraphBuilder()
    for name in ("left", "right"):
        builder.add_node(agent(Approval(), name=name), name)
        builder.set_entry_point(name)
    builder.set_execution_timeout(60)
    builder.set_graph_id("branches")
    if session_manager:
        builder.set_session_manager(session_manager)
    return builder.build()


def swarm(session_manager=None):
    return Swarm([agent(Approval(), name="cleanup")], hooks=[NodeApproval()], session_manager=session_manager, id="swarm")


# name -> what makes one for a session
AGENTS = {
    "docs": lambda **options: agent(Approval(), **options),
    "trust": lambda **options: agent(Trust(), **options),
    "chain": lambda **options: agent(Chain(), **options),
    "boss": boss,
    "graph": graph,
    "branches": branches,
    "swarm": swarm,
}
if BeforeToolsEvent:
    AGENTS["batch"] = lambda **options: agent(Batch(), **options)
    AGENTS["hitl"] = lambda **options: agent(interventions=[HumanInTheLoop(allowed_tools=["linger", "list_files", "ask_user", "ask_twice"], enable_trust=True)], **options)


def kept(name: str, session: str):
    """Made anew from what its session manager has on disk."""
    manager = FileSessionManager(session_id=f"{name}-{session}", storage_dir=str(LEDGER.folder.with_suffix(".sessions")))
    return AGENTS[name](session_manager=manager)
