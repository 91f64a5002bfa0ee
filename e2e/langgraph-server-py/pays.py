"""The agent of ../langgraph-mcp/elicits.py, whose MCP server asks before it pays."""

import json
import os

from elicits import agent


def effect(thread: str, name: str, args: dict) -> None:
    with open(os.path.join(os.environ["LEDGER"], "effects.jsonl"), "a") as f:
        f.write(json.dumps({"thread": thread, "name": name, "args": args}) + "\n")


async def pays(_config):
    return await agent(effect)
