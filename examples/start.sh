#!/usr/bin/env bash
# Installs what the example in the current folder needs, starts its agent and Holdpoint in front of
# it, and ends both on Ctrl-C. The run.sh of each example sets AGENT_PORT and calls this.
#
# HOLDPOINT is a binary to use instead of a fresh build, VENV a virtual environment that has the
# packages of requirements.txt already. HOLDPOINT_* variables reach Holdpoint as they are.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

if [ -z "${HOLDPOINT:-}" ]; then
	HOLDPOINT=$root/bin/holdpoint
	(cd "$root" && go build -o "$HOLDPOINT" ./cmd/holdpoint)
fi

if [ -f package.json ]; then
	# npm writes this file last: it says that all packages are there.
	[ -f node_modules/.package-lock.json ] || npm ci --no-audit --no-fund
	agent=(node_modules/.bin/node agent.mjs)
else
	if [ -z "${VENV:-}" ]; then
		VENV=.cache/venv
		# The list of packages is copied last: it says that all of them are there.
		if ! cmp -s requirements.txt "$VENV/installed.txt"; then
			rm -rf "$VENV"
			python3 -m venv "$VENV"
			"$VENV/bin/pip" install --quiet --no-deps -r requirements.txt
			cp requirements.txt "$VENV/installed.txt"
		fi
	fi
	agent=("$VENV/bin/python" agent.py)
fi

# A shell has its background jobs ignore Ctrl-C, so this one ends them.
trap 'trap - EXIT; kill $(jobs -p) 2>/dev/null; wait; exit' EXIT
trap 'exit 0' INT TERM

export AGENT_PORT HOLDPOINT_LISTEN=${HOLDPOINT_LISTEN:-127.0.0.1:7080}
"${agent[@]}" &
until (: <"/dev/tcp/127.0.0.1/$AGENT_PORT") 2>/dev/null; do
	kill -0 $! 2>/dev/null || exit 1 # it has said why
	sleep 0.2
done
echo "The agent is on 127.0.0.1:$AGENT_PORT, Holdpoint on $HOLDPOINT_LISTEN."
"$HOLDPOINT" &
wait -n
