"""Aegra, an open LangGraph Server, on the PostgreSQL that DATABASE_URL names. See ../serving.py."""

import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))

from serving import options, serve  # noqa: E402

given = options()
os.environ.update(AEGRA_CONFIG=os.path.join(here, "aegra.json"), AUTH_TYPE="noop", HOST="127.0.0.1", PORT=str(given.port or 2026))

from aegra_api.main import app  # noqa: E402

serve(app, ["agent"], ("aegra-api", "langgraph"), given.port)
