#!/usr/bin/env bash
# Starts the agent on 127.0.0.1:8111 and Holdpoint in front of it on 127.0.0.1:7080. Ctrl-C ends both.
cd "$(dirname "$0")"
export AGENT_PORT=${AGENT_PORT:-8111}
export HOLDPOINT_UPSTREAM=http://127.0.0.1:$AGENT_PORT
export HOLDPOINT_DIALECT=langgraph-server HOLDPOINT_LANGGRAPH_SERVER_ASSISTANT=agent
exec ../start.sh
