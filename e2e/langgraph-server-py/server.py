"""LangGraph's own server for Python, with its in-memory runtime, behind the port of ../langgraph-server/server.mjs."""

import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
front = os.path.join(os.path.dirname(here), "langgraph-server", "server.mjs")
os.execvp("node", ["node", front, "--python", sys.executable, "--app", here, *sys.argv[1:]])
