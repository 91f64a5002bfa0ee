#!/usr/bin/env bash
# Starts the agent on 127.0.0.1:8110 and Holdpoint in front of it on 127.0.0.1:7080. Ctrl-C ends both.
cd "$(dirname "$0")"
export AGENT_PORT=${AGENT_PORT:-8110}
export HOLDPOINT_UPSTREAM=http://127.0.0.1:$AGENT_PORT/agui
exec ../start.sh
