"""Deterministic LangGraph graphs for the end-to-end tests. No model is called.

Rules that every graph keeps:

- a user message that starts with "plain" is an ordinary message: it is answered with an echo and nothing else
  ("plain hold NAME" waits at the gate NAME first), so that "the thread goes on" can be tested everywhere;
- any other message starts the graph's own scene;
- whatever would touch the world is counted in LEDGER, per thread, so that a test can prove that nothing ran
  twice and that nothing denied ran at all.
"""

import asyncio
import inspect
import json
import random
import threading
import uuid
from typing import Annotated, Any, Callable, Literal

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import Send, interrupt
from typing_extensions import TypedDict


class Ledger:
    """What really happened, per thread. With a file it outlives the process that is killed in mid-run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: dict[str, dict[str, Any]] = {}
        self._file = None

    def persist(self, path: str) -> None:
        try:
            with open(path, encoding="utf-8") as old:
                for line in old:
                    kind, thread, what = json.loads(line)
                    self._add(kind, thread, what)
        except FileNotFoundError:
            pass
        self._file = open(path, "a", encoding="utf-8")

    def _add(self, kind: str, thread: str, what: Any) -> None:
        self._threads.setdefault(thread, {"runs": [], "nodes": [], "effects": []})[kind].append(what)

    def add(self, kind: str, thread: str, what: Any) -> None:
        with self._lock:
            self._add(kind, thread, what)
            if self._file is not None:
                self._file.write(json.dumps([kind, thread, what]) + "\n")
                self._file.flush()

    def of(self, thread: str) -> dict[str, Any]:
        with self._lock:
            kept = self._threads.get(thread, {"runs": [], "nodes": [], "effects": []})
            counts: dict[str, int] = {}
            for effect in kept["effects"]:
                counts[effect["name"]] = counts.get(effect["name"], 0) + 1
            return {"counts": counts, **{k: list(v) for k, v in kept.items()}}


LEDGER = Ledger()


class Gates:
    """Places where a node waits until the test says go on. One process, one event loop."""

    LONGEST = 120.0

    def __init__(self) -> None:
        self._events: dict[str, asyncio.Event] = {}
        self.reached: set[str] = set()

    def _event(self, name: str) -> asyncio.Event:
        return self._events.setdefault(name, asyncio.Event())

    async def wait(self, name: str) -> None:
        self.reached.add(name)
        await asyncio.wait_for(self._event(name).wait(), self.LONGEST)

    def open(self, name: str) -> None:
        self._event(name).set()


GATES = Gates()


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    log: list[str]


class Scripted(BaseChatModel):
    """A chat model that streams what its script says."""

    script: Callable[[list], list[AIMessageChunk]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "Scripted":
        return self

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        for chunk in self.script(messages):
            generation = ChatGenerationChunk(message=chunk)
            if run_manager:
                run_manager.on_llm_new_token(chunk.content, chunk=generation)
            yield generation

    def _generate(self, messages, stop=None, run_manager=None, **kwargs) -> ChatResult:
        whole = None
        for generation in self._stream(messages, stop, run_manager, **kwargs):
            whole = generation.message if whole is None else whole + generation.message
        return ChatResult(generations=[ChatGeneration(message=whole)])


def say(id: str, *parts: str) -> list[AIMessageChunk]:
    chunks = [AIMessageChunk(id=id, content=part) for part in parts]
    return chunks + [AIMessageChunk(id=id, content="", response_metadata={"finish_reason": "stop"})]


def call_tools(id: str, calls: list[tuple[str, str, dict]]) -> list[AIMessageChunk]:
    chunks = []
    for index, (call_id, name, args) in enumerate(calls):
        text = json.dumps(args)
        chunks.append(AIMessageChunk(id=id, content="", tool_call_chunks=[
            {"index": index, "id": call_id, "name": name, "args": "", "type": "tool_call_chunk"}]))
        for part in (text[:9], text[9:]):
            chunks.append(AIMessageChunk(id=id, content="", tool_call_chunks=[
                {"index": index, "id": None, "name": None, "args": part, "type": "tool_call_chunk"}]))
    return chunks + [AIMessageChunk(id=id, content="", response_metadata={"finish_reason": "tool_calls"})]


def last_text(messages: list) -> str:
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            return message.content if isinstance(message.content, str) else json.dumps(message.content)
    return ""


def is_plain(messages: list) -> bool:
    return last_text(messages).startswith("plain")


def thread_of(config: RunnableConfig) -> str:
    return config["configurable"]["thread_id"]


def next_id(state: dict) -> str:
    return f"ai-{len(state['messages'])}"


ECHO = Scripted(script=lambda messages: say(f"ai-{len(messages)}", "echo: ", last_text(messages)))


async def echo(state: State, config: RunnableConfig) -> dict:
    words = last_text(state["messages"]).split()
    if len(words) == 3 and words[1] == "hold":
        await GATES.wait(words[2])
    LEDGER.add("nodes", thread_of(config), "echo")
    return {"messages": [await ECHO.ainvoke(state["messages"])]}


def scene(**nodes: Callable) -> StateGraph:
    """A graph whose entry is the echo for an ordinary message, and else the first of nodes."""
    graph = StateGraph(State)
    graph.add_node("echo", echo)
    for name, node in nodes.items():
        graph.add_node(name, node)
    graph.add_edge("echo", END)
    first = next(iter(nodes), "echo")
    graph.add_conditional_edges(START, lambda s: "echo" if is_plain(s["messages"]) else first, list({"echo", first}))
    return graph


def line(*graph_and_names: Any) -> StateGraph:
    graph, *names = graph_and_names
    for one, two in zip(names, [*names[1:], END]):
        graph.add_edge(one, two)
    return graph


async def obey(answer: Any, thread: str) -> None:
    """What a test can ask of a resumed node, in the answer itself: wait at a gate, fail after the deed."""
    if isinstance(answer, dict) and answer.get("hold"):
        await GATES.wait(answer["hold"])
    if isinstance(answer, dict) and answer.get("boom"):
        raise RuntimeError("the node failed after its side effect")


PLAN = Scripted(script=lambda messages: say(f"ai-{len(messages)}", "I need ", "your ", "approval."))


async def plan(state: State, config: RunnableConfig) -> dict:
    LEDGER.add("nodes", thread_of(config), "plan")
    return {"messages": [await PLAN.ainvoke(state["messages"])], "log": ["plan"]}


def asking(value: Any, effect: str, approved: Callable[[Any], bool]) -> Callable:
    """A node that asks with value and does effect once if the answer is an approval."""

    async def ask(state: State, config: RunnableConfig) -> dict:
        thread = thread_of(config)
        LEDGER.add("nodes", thread, "ask")
        answer = interrupt(value)
        if approved(answer):
            LEDGER.add("effects", thread, {"name": effect, "answer": answer, "type": type(answer).__name__})
            await obey(answer, thread)
        else:
            LEDGER.add("nodes", thread, "refused")
        return {"messages": [AIMessage(id=next_id(state), content="The answer was " + json.dumps(answer))]}

    return ask


def says_approved(answer: Any) -> bool:
    return isinstance(answer, dict) and answer.get("approved") is True


APPROVAL = {"question": "Delete 3 files?", "files": ["a", "b", "c"], "message": "Please confirm"}
SCHEMA = {"message": "How many copies?", "reason": "input_required", "responseSchema": {
    "type": "object", "properties": {"count": {"type": "integer", "minimum": 1}}, "required": ["count"]}}
INBOX = [{"action_request": {"action": "send_email", "args": {"to": "bob@example.org"}},
          "config": {"allow_ignore": True, "allow_respond": True, "allow_edit": True, "allow_accept": True},
          "description": "Send this mail?"}]
COPILOT = {"__copilotkit_interrupt_value__": "What is your name?",
           "__copilotkit_messages__": [{"type": "ai", "id": "ck-1", "content": "What is your name?", "tool_calls": []}]}

approve = line(scene(plan=plan, ask=asking(APPROVAL, "delete", says_approved)), "plan", "ask")

# The usual pattern in the wild: whatever is true is a yes. A cancelled answer must not be one.
truthy = line(scene(ask=asking("Delete everything?", "delete", bool)), "ask")



async def wait(state: State, config: RunnableConfig) -> dict:
    """"do NAME GATE" waits at the gate; "do NAME" does not."""
    words = last_text(state["messages"]).split()
    if len(words) == 3:
        await GATES.wait(words[2])
    return {"log": ["wait"]}


async def ask_by_name(state: State, config: RunnableConfig) -> dict:
    """Asks about NAME, and does it. So two runs of a thread ask different things."""
    name = last_text(state["messages"]).split()[1]
    return await asking({"message": f"Do {name}?"}, name, says_approved)(state, config)


by_name = line(scene(wait=wait, ask=ask_by_name), "wait", "ask")

text = line(scene(ask=asking("What is your name?", "greet", lambda a: a is not None and a is not False)), "ask")

schema = line(scene(ask=asking(SCHEMA, "copy", lambda a: isinstance(a, dict) and "count" in a)), "ask")

copilot = line(scene(ask=asking(COPILOT, "greet", lambda a: bool(a))), "ask")

chat = scene()


async def decide(state: State, config: RunnableConfig) -> dict:
    """Agent Inbox: list in, list out."""
    thread = thread_of(config)
    LEDGER.add("nodes", thread, "decide")
    response = interrupt(INBOX)[0]
    kind = response["type"]
    if kind in ("accept", "edit"):
        args = response["args"]["args"] if kind == "edit" else INBOX[0]["action_request"]["args"]
        LEDGER.add("effects", thread, {"name": "send_email", "answer": args, "type": kind})
    else:
        LEDGER.add("nodes", thread, "refused")
    return {"messages": [AIMessage(id=next_id(state), content="inbox: " + json.dumps(response))]}


inbox = line(scene(decide=decide), "decide")


async def two(state: State, config: RunnableConfig) -> dict:
    """Two interrupts of one node, one after the other: LangGraph gives both the same id."""
    thread = thread_of(config)
    LEDGER.add("nodes", thread, "two")
    first = interrupt({"step": 1, "message": "First?"})
    second = interrupt({"step": 2, "message": "Second?"})
    for name, answer in (("first", first), ("second", second)):
        if says_approved(answer):
            LEDGER.add("effects", thread, {"name": name, "answer": answer, "type": "dict"})
    return {"messages": [AIMessage(id=next_id(state), content=json.dumps([first, second]))]}


sequential = line(scene(two=two), "two")


async def fail(state: State, config: RunnableConfig) -> dict:
    LEDGER.add("nodes", thread_of(config), "fail")
    raise RuntimeError("kaput")


boom = line(scene(plan=plan, fail=fail), "plan", "fail")


def branch(name: str) -> Callable:
    async def node(state: State, config: RunnableConfig) -> dict:
        thread = thread_of(config)
        LEDGER.add("nodes", thread, name)
        answer = interrupt({"action": name.upper(), "message": f"May {name} go on?"})
        if says_approved(answer):
            LEDGER.add("effects", thread, {"name": name, "answer": answer, "type": "dict"})
        else:
            LEDGER.add("nodes", thread, f"{name} refused")
        return {}

    return node


async def join(state: State, config: RunnableConfig) -> dict:
    LEDGER.add("nodes", thread_of(config), "join")
    return {"messages": [AIMessage(id=next_id(state), content="Both were answered.")]}


def parallel_graph() -> StateGraph:
    graph = StateGraph(State)
    for name, node in (("echo", echo), ("a", branch("a")), ("b", branch("b")), ("join", join)):
        graph.add_node(name, node)
    graph.add_conditional_edges(START, lambda s: ["echo"] if is_plain(s["messages"]) else ["a", "b"], ["echo", "a", "b"])
    graph.add_edge("echo", END)
    graph.add_edge(["a", "b"], "join")
    graph.add_edge("join", END)
    return graph


parallel = parallel_graph()


async def delete_by_value(given: dict, config: RunnableConfig) -> dict:
    """Asks with a value of its own, and takes one of its own for the yes."""
    answer = interrupt({"action": "delete_file", "args": given})
    if isinstance(answer, dict) and answer.get("go") is True:
        LEDGER.add("effects", thread_of(config), {"name": "delete_file", "args": answer["args"]})
    return {"messages": [AIMessage(id=f"told-{given['path']}-{uuid.uuid4().hex}", content="The answer was " + json.dumps(answer))]}


def values_graph() -> StateGraph:
    """A task for each file of "delete a.txt, delete b.txt"."""
    graph = StateGraph(State)
    graph.add_node("echo", echo)
    graph.add_node("delete", delete_by_value)
    graph.add_conditional_edges(START, lambda s: ["echo"] if is_plain(s["messages"]) else [
        Send("delete", {"path": part.removeprefix("delete ")}) for part in last_text(s["messages"]).split(", ")], ["echo", "delete"])
    graph.add_edge("echo", END)
    graph.add_edge("delete", END)
    return graph


@tool
async def send_email(to: str, body: str, config: RunnableConfig) -> str:
    """Send an email."""
    LEDGER.add("effects", thread_of(config), {"name": "send_email", "answer": {"to": to, "body": body}, "type": "tool"})
    return f"sent to {to}"


@tool
async def delete_file(path: str, config: RunnableConfig) -> str:
    """Delete a file."""
    LEDGER.add("effects", thread_of(config), {"name": "delete_file", "answer": {"path": path}, "type": "tool"})
    return f"deleted {path}"


def agent_script(messages: list) -> list[AIMessageChunk]:
    if not messages:  # started without input, as a model would answer it
        return say("ai-0", "Hello, ", "how can I help?")
    if is_plain(messages):
        return say(f"ai-{len(messages)}", "echo: ", last_text(messages))
    if isinstance(messages[-1], ToolMessage):
        results = [str(m.content) for m in messages if isinstance(m, ToolMessage)]
        return say(f"ai-{len(messages)}", "Done: ", " | ".join(results))
    turn = len(messages)
    return call_tools(f"ai-{turn}", [
        (f"call-{turn}-1", "send_email", {"to": "bob@example.org", "body": "hi"}),
        (f"call-{turn}-2", "delete_file", {"path": "notes.txt"}),
    ])


async def inner(state: State, config: RunnableConfig) -> dict:
    return await asking({"message": "Inside?"}, "inside", says_approved)(state, config)


def subgraph_graph() -> StateGraph:
    """The question is asked in a subgraph."""
    sub = StateGraph(State)
    sub.add_node("inner", inner)
    sub.add_edge(START, "inner")
    sub.add_edge("inner", END)
    return line(scene(plan=plan, sub=sub.compile()), "plan", "sub")


subgraph = subgraph_graph()


async def round_of(state: State, config: RunnableConfig) -> dict:
    """Asks once more each time round, for as long as the answer is yes: a new task, hence a new id."""
    thread = thread_of(config)
    number = len(state.get("log") or []) + 1
    LEDGER.add("nodes", thread, "round")
    answer = interrupt({"message": f"Round {number}?"})
    if not says_approved(answer):
        return {"log": [*(state.get("log") or []), "end"]}
    LEDGER.add("effects", thread, {"name": "round", "answer": answer, "type": "dict"})
    return {"log": [*(state.get("log") or []), "yes"]}


def loop_graph() -> StateGraph:
    graph = scene(round_of=round_of)
    graph.add_conditional_edges("round_of", lambda s: END if s["log"][-1] == "end" else "round_of", ["round_of", END])
    return graph


loop = loop_graph()


@tool
async def ask_a(x: int, config: RunnableConfig) -> str:
    """Asks before it acts."""
    if says_approved(interrupt({"message": "Tool a?", "x": x})):
        LEDGER.add("effects", thread_of(config), {"name": "a", "answer": x, "type": "tool"})
        return "a did it"
    return "a did not"


@tool
async def ask_b(y: int, config: RunnableConfig) -> str:
    """Asks before it acts."""
    if says_approved(interrupt({"message": "Tool b?", "y": y})):
        LEDGER.add("effects", thread_of(config), {"name": "b", "answer": y, "type": "tool"})
        return "b did it"
    return "b did not"


async def two_calls(state: State, config: RunnableConfig) -> dict:
    turn = next_id(state)
    return {"messages": [AIMessage(id=turn, content="", tool_calls=[
        {"id": f"{turn}-a", "name": "ask_a", "args": {"x": 1}, "type": "tool_call"},
        {"id": f"{turn}-b", "name": "ask_b", "args": {"y": 2}, "type": "tool_call"}])]}


# Two tools of one node ask: both questions come from one task, hence with one id.
tools = line(scene(model=two_calls, tools=ToolNode([ask_a, ask_b])), "model", "tools")


class Bare(TypedDict, total=False):
    """A state without the conversation: of a workflow on shared state."""

    done: int


async def bare_ask(state: Bare, config: RunnableConfig) -> dict:
    thread = thread_of(config)
    LEDGER.add("nodes", thread, "ask")
    answer = interrupt({"message": "Delete 3 files?"})
    if says_approved(answer):
        LEDGER.add("effects", thread, {"name": "delete", "answer": answer, "type": "dict"})
    return {"done": 1}


async def replacing_ask(state: State, config: RunnableConfig) -> dict:
    """Replaces the conversation by a summary of it."""
    await bare_ask({}, config)
    return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), AIMessage(content="We have cleaned up.")]}


async def ask_again(state: dict, config: RunnableConfig) -> dict:
    """Asks the same as long as the answer is yes."""
    thread = thread_of(config)
    LEDGER.add("nodes", thread, "ask")
    answer = interrupt({"message": "One more?"})
    if not says_approved(answer):
        return {"done": -1}
    LEDGER.add("effects", thread, {"name": "delete", "answer": answer, "type": "dict"})
    return {"done": (state.get("done") or 0) + 1}


class Talk(State, total=False):
    done: int


def first_asks(state: type, node: Callable, again: bool = False) -> StateGraph:
    """A graph whose first node is the one that asks, on a plain edge."""
    graph = StateGraph(state)
    graph.add_node("ask", node)
    graph.add_edge(START, "ask")
    if again:
        graph.add_conditional_edges("ask", lambda s: END if s["done"] < 0 else "ask", ["ask", END])
    else:
        graph.add_edge("ask", END)
    return graph


async def slow(name: str, config: RunnableConfig) -> str:
    """Asks after a time that is another each time it is called, so that two of them come in any order."""
    thread = thread_of(config)
    turn = LEDGER.of(thread)["nodes"].count(name)
    LEDGER.add("nodes", thread, name)
    await asyncio.sleep(random.Random(f"{thread} {name} {turn}").uniform(0.001, 0.06))
    if says_approved(interrupt({"message": f"Run {name}?"})):
        LEDGER.add("effects", thread, {"name": name, "answer": True, "type": "tool"})
        return f"{name} ran"
    return f"{name} was denied"


@tool
async def delete_all(path: str, config: RunnableConfig) -> str:
    """Asks before it deletes."""
    return await slow("delete_all", config)


@tool
async def read_one(path: str, config: RunnableConfig) -> str:
    """Asks before it reads."""
    return await slow("read_one", config)


@tool
async def look_up(word: str, config: RunnableConfig) -> str:
    """Asks nobody."""
    LEDGER.add("nodes", thread_of(config), "look_up")
    return "found"


def calling(*calls: tuple[str, dict]) -> StateGraph:
    """A model that calls the tools in one turn, and the prebuilt ToolNode."""
    async def model(state: State, config: RunnableConfig) -> dict:
        turn = next_id(state)
        return {"messages": [AIMessage(id=turn, content="", tool_calls=[
            {"id": f"{turn}-{n}", "name": name, "args": args, "type": "tool_call"} for n, (name, args) in enumerate(calls)])]}

    return line(scene(model=model, tools=ToolNode([delete_all, read_one, look_up])), "model", "tools")


def beside_clients(*names: str) -> StateGraph:
    """A turn with a call that wants an approval and one of a tool that the client declares. The turn ends when both have
    their results: the graph waits for that of the client's as for a message."""

    def waiting(state: State) -> set:
        made = {c["id"]: c["name"] for m in state["messages"] for c in getattr(m, "tool_calls", None) or []}
        return {name for id, name in made.items() if id not in {getattr(m, "tool_call_id", "") for m in state["messages"]}}

    async def model(state: State, config: RunnableConfig) -> dict:
        turn = next_id(state)
        results = [str(m.content) for m in state["messages"] if isinstance(m, ToolMessage)]
        if results:
            return {"messages": [AIMessage(id=turn, content="results: " + "; ".join(results))]}
        return {"messages": [AIMessage(id=turn, content="", tool_calls=[
            {"id": f"{turn}-{n}", "name": name, "args": {"what": "x"}, "type": "tool_call"} for n, name in enumerate(names)])]}

    async def gate(state: State, config: RunnableConfig) -> dict:
        call = next(c for m in state["messages"] for c in getattr(m, "tool_calls", None) or [] if c["name"] == "delete_file")
        content = "denied"
        if says_approved(answer := interrupt({"message": "Delete the file?", "what": call["args"]})):
            LEDGER.add("effects", thread_of(config), {"name": "delete", "answer": answer, "type": "tool"})
            content = "deleted"
        return {"messages": [ToolMessage(id=next_id(state), content=content, tool_call_id=call["id"])]}

    graph = scene(model=model, gate=gate)
    graph.add_conditional_edges("model", lambda s: "gate" if "delete_file" in waiting(s) else END, ["gate", END])
    graph.add_conditional_edges("gate", lambda s: END if waiting(s) else "model", ["model", END])
    return graph


def one_call_script(messages: list) -> list[AIMessageChunk]:
    """Deletes a file, and nothing else."""
    if is_plain(messages) or isinstance(messages[-1], ToolMessage):
        return agent_script(messages)
    turn = len(messages)
    return call_tools(f"ai-{turn}", [(f"call-{turn}-1", "delete_file", {"path": "notes.txt"})])


def per_call(script: Callable) -> Any:
    """The same review, with an interrupt for each call (langchain 1.4.6 and later)."""
    return create_agent(
        model=Scripted(script=script),
        tools=[send_email, delete_file],
        middleware=[HumanInTheLoopMiddleware(interrupt_mode="per_call", interrupt_on={
            "send_email": True,
            "delete_file": {"allowed_decisions": ["approve", "reject"], "description": "Deleting needs an OK"},
        })],
        checkpointer=InMemorySaver(),
    )


class Order(TypedDict):
    env: Literal["staging", "prod"]
    count: int


async def order(state: State, config: RunnableConfig) -> dict:
    """Says itself what an answer looks like (langgraph 1.2.12 and later), and LangGraph judges it by that."""
    thread = thread_of(config)
    LEDGER.add("nodes", thread, "order")
    answer = interrupt({"message": "Which environment?"}, response_schema=Order)
    LEDGER.add("effects", thread, {"name": "deploy", "answer": answer, "type": type(answer).__name__})
    return {"messages": [AIMessage(id=next_id(state), content="Deployed " + json.dumps(answer))]}


def of_today() -> dict[str, Any]:
    """Graphs that need what older packages do not have."""
    graphs = {}
    if "response_schema" in inspect.signature(interrupt).parameters:
        graphs["ordered"] = line(scene(order=order), "order").compile(checkpointer=InMemorySaver())
    if "interrupt_mode" in inspect.signature(HumanInTheLoopMiddleware.__init__).parameters:
        graphs["percall"], graphs["percallone"] = per_call(agent_script), per_call(one_call_script)
    return graphs


def compiled() -> dict[str, Any]:
    """name -> graph, each with its own in-memory checkpointer."""
    graphs = {name: builder.compile(checkpointer=InMemorySaver()) for name, builder in {
        "approve": approve, "byname": by_name, "truthy": truthy, "text": text, "schema": schema, "copilot": copilot, "chat": chat,
        "inbox": inbox, "sequential": sequential, "boom": boom, "parallel": parallel, "values": values_graph(), "subgraph": subgraph, "loop": loop,
        "tools": tools, "bare": first_asks(Bare, bare_ask), "replaces": first_asks(State, replacing_ask),
        "bareagain": first_asks(Bare, ask_again, again=True), "talkagain": first_asks(Talk, ask_again, again=True),
        "clientlast": beside_clients("delete_file", "pick_colour"), "clientfirst": beside_clients("pick_colour", "delete_file"),
        "atonce": calling(("delete_all", {"path": "/"}), ("read_one", {"path": "a.txt"})),
        "besidefree": calling(("delete_all", {"path": "/"}), ("look_up", {"word": "x"}))}.items()}
    graphs["hitl"] = create_agent(
        model=Scripted(script=agent_script),
        tools=[send_email, delete_file],
        middleware=[HumanInTheLoopMiddleware(interrupt_on={
            "send_email": True,
            "delete_file": {"allowed_decisions": ["approve", "reject"], "description": "Deleting needs an OK"},
        })],
        checkpointer=InMemorySaver(),
    )
    # A cancel cannot be said to it: Holdpoint gives the question up, and the next run asks it again.
    graphs["noreject"] = create_agent(
        model=Scripted(script=agent_script),
        tools=[send_email, delete_file],
        middleware=[HumanInTheLoopMiddleware(interrupt_on={name: {"allowed_decisions": ["approve"]} for name in ("send_email", "delete_file")})],
        checkpointer=InMemorySaver(),
    )
    return graphs | of_today()
