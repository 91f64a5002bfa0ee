"""Serves the agent of elicits.py as an AG-UI endpoint of ag-ui-langgraph, POST /<mode>/agent. See serving.py.

Modes: "default" announces its questions by CUSTOM events, "outcome" by the interrupt outcome.
"""

import asyncio
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver

from elicits import agent
from serving import LEDGER, options, serve

MODES = {"default": {}, "outcome": {"emit_interrupt_outcome": True, "enable_legacy_on_interrupt_event": False}}

given = options()
app = FastAPI()
for mode, more in MODES.items():
    graph = asyncio.run(agent(lambda thread, name, args: LEDGER.effect(thread, name, **args), checkpointer=InMemorySaver()))
    add_langgraph_fastapi_endpoint(app, LangGraphAgent(name=mode, graph=graph, **more), f"/{mode}/agent")
serve(app, list(MODES), ("ag-ui-langgraph", "langchain", "fastmcp", "mcp"), given.port)
