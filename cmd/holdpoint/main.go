// Holdpoint is a reverse proxy for AI agents that speak AG-UI. It sits in front of an agent's
// backend. It turns the backend's way of pausing into AG-UI interrupts, and hands the answers of
// the next run to the backend in the backend's own form.
//
// This package is the binary: configuration, subcommands, signals. Package proxy has what happens
// to a run. Package translate has what a backend means by its events. The environment configures
// the binary, because that is how a container is configured. There is no configuration file. An
// empty variable counts as unset. Sizes are bytes or have a unit (16MiB, 8MB). Durations are as Go
// writes them (15s, 1h30m).
//
//	holdpoint [run]     start the proxy
//	holdpoint desk      start the desk alone, for all agents that share a store
//	                    (docs/desk.md#one-desk-for-many-agents)
//	holdpoint check [-all]
//	                    validate the configuration, print what is set and what follows from it,
//	                    secrets cut; exit 2 with every error at once; -all: print every variable;
//	                    check desk: that of holdpoint desk
//	holdpoint demo      show a pause and its answer in a terminal, with a scripted backend; with -serve
//	                    keep that backend and Holdpoint running, for curl or another client; with
//	                    -desk answer a question on the desk's page, and see the run go on
//	holdpoint store schema
//	                    print the SQL that makes the tables of a PostgreSQL store, for a DBA
//	holdpoint healthcheck [live|ready|started]
//	                    ask the admin listener of the running process, for probes in an image without
//	                    a shell; exit 0 if it is. Without a word: live
//	holdpoint drain     make the running process not ready, and wait until its streams have ended,
//	                    for preStop hooks
//	holdpoint audit verify [-after seq:hash] [-head seq:hash] FILE...
//	                    read the files of an audit, the oldest first, and say which line was taken out
//	                    or changed; exit 1 if one was. -head: a head that the log has
//	holdpoint doctor [-json] URL|FILE|-
//	                    send one harmless run to a backend, or read the recorded answer of one, and
//	                    tell how it pauses and what Holdpoint makes of it (docs/doctor.md)
//	holdpoint version   print the version
//
// # Environment
//
//   - HOLDPOINT_UPSTREAM (required): address of the backend, http or https. The path of a request
//     is appended to its path
//   - HOLDPOINT_UPSTREAM_HEADERS_FILE (none): file with headers to add to every request to the
//     backend, one line Name: value for each. It is read at start and on HUP
//   - HOLDPOINT_UPSTREAM_CA_FILE (none): file with the authorities that the backend's certificate
//     must come from (PEM), in place of the system's. It is read again when it changes
//   - HOLDPOINT_UPSTREAM_CERT_FILE (none): file with the certificate that Holdpoint shows the
//     backend (PEM)
//   - HOLDPOINT_UPSTREAM_KEY_FILE (none): file with its private key (PEM)
//   - HOLDPOINT_UPSTREAM_SERVER_NAME (none): name that the backend's certificate must have, in
//     place of the host of HOLDPOINT_UPSTREAM
//   - HOLDPOINT_UPSTREAM_HTTP2 (false): speak HTTP/2 to the backend: if it offers that where there
//     is TLS, else from the first byte
//   - HOLDPOINT_UPSTREAM_KEEP_ALIVE (900ms): how long a connection to the backend may wait for its
//     next run. Keep it below the backend's own limit, or runs fail now and then: gunicorn closes
//     an idle connection after 2s, uvicorn and Node after 5s. A longer time saves connecting anew
//     to a backend that is far away
//   - HOLDPOINT_PRESERVE_HOST (false): send the client's Host header to the backend instead of the
//     upstream's
//   - HOLDPOINT_NAME (none): the agent's name. Agents that share a store need one each, or threads
//     of one id at one path would be one thread
//   - HOLDPOINT_DIALECT (auto): how the backend pauses. auto finds it in the stream. Values: auto,
//     adk, agent-framework, agno, agui, aws-strands, draft, langgraph, langgraph-server, mastra,
//     phrases, request-approval, strands, superagent, tool-call
//   - HOLDPOINT_CLIENT (auto): how a client is told of a pause: by the outcome, by a CUSTOM
//     on_interrupt beside the outcome (both), or in the backend's own form (native). auto decides
//     by the request. Values: auto, outcome, both, native
//   - HOLDPOINT_ANSWERS (none): what a yes and a no are to an agent that takes any value for an
//     answer, such as interrupt() of LangGraph: names of what it asks about, the yes and the no as
//     JSON, for each. Globs, name;name. $arguments in the yes is what the call is to run with,
//     $reason in the no why (docs/answers.md)
//   - HOLDPOINT_SESSIONS (false): true: the backend keeps the conversation of each thread, and its
//     clients send new messages only. An answer goes to it without the conversation
//     (docs/contract.md#a-backend-that-keeps-the-conversation)
//   - HOLDPOINT_CORS_ORIGINS (none): origins whose pages may read the answers: origin;origin, such
//     as https://app.example.com or https://*.example.com, or * for all pages without credentials.
//     Holdpoint then answers preflights, sets the CORS headers in the backend's place, and allows
//     any request header. Without it, the backend's own CORS headers count (docs/browser.md)
//   - HOLDPOINT_DESK_HEADERS_FILE (none): file with headers, one line Name: value for each, that a
//     request of Holdpoint's own has in place of the credentials of the run that asked. They are
//     Holdpoint's rights, not that user's. It is read at start and on HUP
//   - HOLDPOINT_ROUTES_0_PATH (none): path below which another agent is, such as /billing.
//     HOLDPOINT_ROUTES_0_NAME and HOLDPOINT_ROUTES_0_UPSTREAM go with it, and what else is said of
//     this agent alone; the next agent's are HOLDPOINT_ROUTES_1_PATH and so on (docs/routes.md)
//   - HOLDPOINT_LISTEN (:7080): address to listen on, host:port or unix:///path/of.sock
//     (docs/operations.md#unix-sockets). Port 0 takes a free port, and the log names it
//   - HOLDPOINT_TLS_CERT_FILE (none): file with the certificate of the listener, and those between
//     it and its authority (PEM). With it HOLDPOINT_LISTEN speaks TLS only, HTTP/2 included. It is
//     read again when it changes (docs/limits.md#tls)
//   - HOLDPOINT_TLS_KEY_FILE (none): file with its private key (PEM)
//   - HOLDPOINT_TLS_CLIENT_CA_FILE (none): file with authorities (PEM). A client then needs a
//     certificate of theirs
//   - HOLDPOINT_H2C (false): take HTTP/2 without TLS too, from clients that know of it
//   - HOLDPOINT_MAX_HEADER_BYTES (64KiB): largest header of a request. A larger one gets 431
//   - HOLDPOINT_HEADER_TIMEOUT (10s): how long the header of a request may take, and a TLS
//     handshake. A slower header gets 408
//   - HOLDPOINT_KEEP_ALIVE (2m): how long a connection may wait for its next request. A load
//     balancer in front must wait for less
//   - HOLDPOINT_MAX_CONNECTIONS (20000): how many connections of clients there may be at once.
//     Above it the answer is 503
//   - HOLDPOINT_ADDRESS_CONNECTIONS (none): how many of them one client address may have (for IPv6,
//     a network of 64 bits). Above it the answer is 429. HOLDPOINT_TRUSTED_PEERS have no such bound
//   - HOLDPOINT_ADMIN_LISTEN (127.0.0.1:7081): address of /healthz, /readyz, /startupz and
//     /buildinfo, in the same forms, or off (docs/operations.md). If the default is in use
//     Holdpoint goes on without; if a given one is, it does not start
//   - HOLDPOINT_PPROF (false): open Go's profiles at /debug/pprof/ on the admin listener
//   - HOLDPOINT_STORE (memory://): where pauses are kept (docs/state.md). memory:// loses them on a
//     restart. bolt:///var/lib/holdpoint/state.db is a file for one process.
//     postgres://user@host/database and redis://host:6379 are for several, also rediss://,
//     redis+sentinel:// and redis+cluster://
//   - HOLDPOINT_STORE_PASSWORD (none): password of HOLDPOINT_STORE, so that its address need not
//     hold one
//   - HOLDPOINT_STORE_PASSWORD_FILE (none): file with that password. It is read at start and on HUP
//   - HOLDPOINT_STORE_REPLICAS (none): how many replicas of Redis must have a question, or the
//     claim of an answer, before it counts. Without them it fails
//   - HOLDPOINT_STORE_ENTRIES (100000): how many threads may wait for an answer. Above it a new
//     question gets STORE_FULL. memory:// counts threads that can be replayed too, and gives those
//     up first. The other stores are counted every 5s, so that several replicas can go a little
//     over it
//   - HOLDPOINT_STORE_BYTES (512MiB): how much memory:// holds in all, roughly counted. For room it
//     gives up results first, then the snapshots of pauses, and never a pause
//   - HOLDPOINT_STORE_RECORD_BYTES (1MiB): how large the record of one thread may be, roughly
//     counted. Above it the messages and the state for replays are left out, and never the pause
//   - HOLDPOINT_STORE_KEYS (none): keys that records are sealed with, the newest first:
//     id:key,id:key with 32 bytes in base64 each. The word plain in the place of a key lets records
//     be read that are not sealed
//   - HOLDPOINT_STORE_KEYS_FILE (none): file with the value of STORE_KEYS. It is read at start and
//     on HUP
//   - HOLDPOINT_PAUSE_RETENTION (720h): how long a pause is kept that nobody answers
//   - HOLDPOINT_REPLAY_TTL (24h): how long the same answers get the same result again
//   - HOLDPOINT_STORE_OUTAGE (refuse): what becomes of runs without answers while the store cannot
//     be asked: they are refused, or go to the backend, also on a thread that waits for an answer.
//     A run with answers is always refused. Values: refuse, pass
//   - HOLDPOINT_INTERRUPT_TTL (0): expiry for interrupts that have none; 0 gives none. Clients up
//     to 0.0.59 lock a thread whose interrupt has expired
//   - HOLDPOINT_MAX_REQUEST_BYTES (16MiB): largest body of a run. A larger one gets 413
//   - HOLDPOINT_BODY_BYTES (256MiB): memory for all request bodies that are being read, a quarter
//     of it for small ones. Above it the answer is 503
//   - HOLDPOINT_ADDRESS_SHARE (100%): how much of BODY_BYTES, and of a store in memory, one client
//     address may have (for IPv6, a network of 64 bits). Behind an ingress or a runtime all users
//     have one address
//   - HOLDPOINT_MAX_FRAME_BYTES (32MiB): largest frame of the backend's stream. Adapters repeat the
//     whole conversation in one frame, so it must be larger than MAX_REQUEST_BYTES
//   - HOLDPOINT_TRANSCRIPT_BYTES (4MiB): how much of a stream is kept for snapshots. Above it a
//     snapshot is left out
//   - HOLDPOINT_STREAM_IDLE_TIMEOUT (1h): how long a backend may send nothing in a stream, not even
//     a heartbeat; 0 is for ever
//   - HOLDPOINT_RESUME_IDLE_GRACE (15m): how long a run with answers is waited for after its client
//     was told UPSTREAM_IDLE. Then its answers are in doubt, and its thread takes other runs
//   - HOLDPOINT_HEARTBEAT (15s): how often a client that hears nothing gets a comment, at least 1s;
//     0 is never
//   - HOLDPOINT_WRITE_TIMEOUT (1m): how long a client may read nothing while something is being
//     written to it, at least 1s. It is cut then
//   - HOLDPOINT_HEADER_UNDERSCORES (refuse): what becomes of a request with a header whose name has
//     an underscore, which some backends take for another header
//     (docs/limits.md#requests-that-are-refused). drop takes out the header only. Values: refuse,
//     drop, pass
//   - HOLDPOINT_ON_DISCONNECT (cancel): what becomes of a run whose client leaves: its request to
//     the backend is cancelled, or read on for an hour at most, so that a question is kept that it
//     comes to. Until then its thread takes no other run. A run that carries answers is always read
//     on. Values: cancel, finish
//   - HOLDPOINT_DRAIN_DELAY (5s): how long connections are still taken after TERM or a drain, while
//     load balancers learn that it is not ready
//   - HOLDPOINT_DRAIN_TIMEOUT (20s): how long open streams run on after that, any length. What is
//     left then gets PROXY_DRAINING. With 5s more the two must fit the grace period of whoever
//     kills (docs/operations.md#the-grace-period)
//   - HOLDPOINT_TENANT_HEADER (none): header that names the tenant. Threads of two tenants are two
//     threads, whatever their ids (docs/principals.md)
//   - HOLDPOINT_PRINCIPAL_HEADER (none): header that names the user, set by a proxy in front. A
//     thread belongs to the user of its first run, and nobody else gets through
//     (docs/principals.md)
//   - HOLDPOINT_TRUSTED_PEERS (none): networks of the proxy that sets these headers:
//     network;network, such as 10.0.0.0/8. From everybody else they are refused
//   - HOLDPOINT_JWT_ISSUER (none): issuer (iss) of the bearer tokens that name the user, in place
//     of a header. A request without a valid token is refused
//   - HOLDPOINT_JWT_AUDIENCE (none): audience (aud) that a token must be for
//   - HOLDPOINT_JWT_JWKS_URL (none): address of the issuer's keys, a JWK set
//   - HOLDPOINT_JWT_CLAIM (sub): claim of the token whose text is the user
//   - HOLDPOINT_PRINCIPAL_KEY (none): secret keys of at least 32 characters, newest first: key,key.
//     Records name their owner by a hash under them. Required with a user
//   - HOLDPOINT_PRINCIPAL_KEY_FILE (none): file with these keys instead, a line each. It is read at
//     start and on HUP
//   - HOLDPOINT_THREAD_NAMESPACE (none): principal: the backend gets a hash of tenant, user and
//     thread as thread id, so that a thread of another user is another thread (docs/principals.md).
//     Values: none, principal
//   - HOLDPOINT_SHOW_PRINCIPAL (hash): how the audit, the log and the desk name the user: by the
//     keyed hash that the records have, by the name, which the records then have too, or not at
//     all. Values: hash, name, none
//   - HOLDPOINT_DESK_LISTEN (off): address of the API that lists what waits, in the same forms as
//     LISTEN, or off (docs/desk.md). elsewhere: another process on the store has it, and this one
//     carries what is decided there. It wants a token from everybody, on loopback too. With
//     HOLDPOINT_TLS_CERT_FILE it speaks TLS
//   - HOLDPOINT_DESK_AUTH (token): how a caller of the desk says who it is: by a token of
//     DESK_TOKEN_FILE, by the header of a trusted proxy such as oauth2-proxy, or by a bearer token
//     of an issuer (docs/desk.md#who). Values: token, header, jwt
//   - HOLDPOINT_DESK_TOKEN (none): token of the desk's callers, of at least 32 characters. Several
//     with commas, to change one
//   - HOLDPOINT_DESK_TOKEN_FILE (none): file with tokens in lines: a token, or a name, its groups
//     if it has some, and sha256: with the hash of a token. It is read at start and on HUP
//   - HOLDPOINT_DESK_URL (none): address of the desk's page as people open it, such as
//     https://desk.example.com. The events of the webhook have links to it then
//   - HOLDPOINT_DESK_CARRY_WITHIN (1h): how old a decision of the desk may be for Holdpoint to
//     carry it to the backend by itself. An older one waits for the chat. 0: each one does
//   - HOLDPOINT_DESK_CARRY (any): which process of several on the store carries a decision: any, or
//     home, the one that has seen the question. That is for a backend that holds its questions in
//     its own process, with a Holdpoint before each. Values: any, home
//   - HOLDPOINT_DESK_TOOLS (wait): what becomes of a decision where the run declared tools of its
//     client's: it waits for the chat, which alone can answer their calls, or Holdpoint carries it
//     all the same. Values: wait, keep
//   - HOLDPOINT_DESK_PRINCIPAL (none): header (header) or claim (jwt, sub without it) that names a
//     caller of the desk
//   - HOLDPOINT_DESK_GROUPS (none): header or claim that has its groups: with commas between them,
//     or a list
//   - HOLDPOINT_DESK_TRUSTED_PEERS (none): networks of the proxy in front of the desk, whose
//     headers are believed there: network;network. Without it those of TRUSTED_PEERS
//   - HOLDPOINT_DESK_JWT_ISSUER (none): issuer (iss) of the bearer tokens of callers of the desk
//   - HOLDPOINT_DESK_JWT_AUDIENCE (none): audience (aud) that such a token must be for. It is not
//     JWT_AUDIENCE: the agent gets those of its users
//   - HOLDPOINT_DESK_JWT_JWKS_URL (none): address of that issuer's keys, a JWK set
//   - HOLDPOINT_POLICY (none): YAML file that says who has which rights at the desk
//     (docs/desk.md#rights). It is read at start, on HUP, and when it changes. Without it each
//     caller of the desk has all rights
//   - HOLDPOINT_LOG_LEVEL (info): lowest level that is logged, to standard error. Values: debug,
//     info, warn, error
//   - HOLDPOINT_LOG_FORMAT (auto): form of the log. auto is text on a terminal, else json. Values:
//     auto, json, text
//   - HOLDPOINT_AUDIT (off): where to write down who asked and answered what (docs/audit.md): off,
//     stdout, or a file such as file:///var/log/holdpoint/audit.jsonl. One process writes to a file
//   - HOLDPOINT_AUDIT_PAYLOAD (false): true: write the questions, the arguments of their calls and
//     the answers into the audit, and not only digests of them. none: leave out the comments of the
//     desk as well
//   - HOLDPOINT_AUDIT_REQUIRED (false): refuse an answer with AUDIT_UNAVAILABLE if it cannot be
//     written down before it is handed on. Each line is on the disk then before anything goes on
//   - HOLDPOINT_WEBHOOK_URL (none): address that is told of questions and of what becomes of them,
//     by POST (docs/webhook.md). https only, and to a public address, unless WEBHOOK_PRIVATE says
//     otherwise. No proxy of the environment is used
//   - HOLDPOINT_WEBHOOK_URL_FILE (none): file with the value of WEBHOOK_URL
//   - HOLDPOINT_WEBHOOK_EVENTS (none): which events are sent: event,event. Without it those that
//     say that a question was asked and how it ended. There are resume.claimed and resume.released
//     too
//   - HOLDPOINT_WEBHOOK_CONTENT (false): send the questions' messages, the arguments of their calls
//     and the answers as well. They may end on lock screens
//   - HOLDPOINT_WEBHOOK_TEMPLATE_FILE (none): file with a Go template that makes the body, such as
//     those in deploy/webhook
//   - HOLDPOINT_WEBHOOK_SECRET (none): secret that events are signed with (Standard Webhooks):
//     whsec_ and base64. Several with commas sign each event several times, to change one
//   - HOLDPOINT_WEBHOOK_SECRET_FILE (none): file with the value of WEBHOOK_SECRET
//   - HOLDPOINT_WEBHOOK_PRIVATE (false): let the webhook go to a private address or loopback, and
//     by http. Link-local addresses, such as those of a cloud's metadata, stay refused
//   - HOLDPOINT_TOOLS (none): what the unanswered calls of tools ask for, where nothing on the wire
//     says it: name=kind;name=kind, with globs. approval: a yes or a no (tool-call, draft). input:
//     arguments that a person may fill in (agno). external: the tool's result (agno, and
//     long-running tools of ADK). Calls that the request declares are the client's
//   - HOLDPOINT_CANCEL (none): JSON that a backend gets for a cancelled answer, if it knows no
//     cancel: LangGraph's graphs, except in a tool review (false without it), and a v1 backend of
//     the draft ({"cancelled":true} without it). It must be nothing that could be taken for a yes.
//     null is for graphs only
//   - HOLDPOINT_AWS_STRANDS_RULES_FILE (none): JSON file that says by an interrupt's name what
//     hooks and tools get for an answer. Without a rule it is text ("y" and "n") through the
//     TypeScript adapter, and the payload through Python's. It is read at start
//     (docs/strands.md#rules)
//   - HOLDPOINT_TOOL_CALL_YES ({"approved":true}): the content of the tool message for a yes: a
//     JSON object or words. "$arguments" in an object is what the call is to run with, as the
//     person left it
//   - HOLDPOINT_TOOL_CALL_NO ({"approved":false}): the content of the tool message for a no and for
//     a cancel. "$reason" in an object is why. It must be nothing that could be taken for the yes
//   - HOLDPOINT_PHRASES_ASK (none): phrases that ask for a confirmation if the last text of a run
//     holds one: phrase;phrase. default stands for a list of English ones. Without it Holdpoint
//     looks for none
//   - HOLDPOINT_PHRASES_YES (Yes, please proceed.): user message that answers a confirmation with
//     yes
//   - HOLDPOINT_PHRASES_NO (No. Do not do it.): user message that answers it with no, or cancels it
//   - HOLDPOINT_STRANDS_FILE (none): JSON file that describes the Strands server: the body, headers
//     and paths of its requests, what is shown of its stream, and what answers become. It is read
//     at start (docs/strands.md#the-file)
//   - HOLDPOINT_SUPERAGENT_AGENT_ID (none): the agent that every run is for, as GET /api/v1/agents
//     of the backend lists it. superagent does not start without it
//   - HOLDPOINT_SUPERAGENT_ALLOW (none): requests of the server's own API that pass beside those
//     that read (docs/superagent.md): a method and a path, by commas or lines, such as POST
//     /api/v2/files. * stands for one segment. Whoever reaches Holdpoint can make them
//   - HOLDPOINT_LANGGRAPH_SERVER_ASSISTANT (none): the graph or assistant that every run is for: a
//     name in langgraph.json, or an assistant's uuid. langgraph-server does not start without it
//   - HOLDPOINT_LANGGRAPH_SERVER_ALLOW (none): requests of the server's own API that pass beside
//     those of docs/langgraph-server.md: a method and a path, by commas or lines, such as GET
//     /store/items. * stands for one segment. Whoever reaches Holdpoint can make them
//
// # Signals
//
// On TERM or INT the process is not ready at once. On TERM it takes new connections for
// HOLDPOINT_DRAIN_DELAY. Then the listener closes. Running streams go on for
// HOLDPOINT_DRAIN_TIMEOUT at most. What is left then ends with RUN_ERROR PROXY_DRAINING. The exit
// code is 0. A second signal ends the streams at once, in the same way, and the exit code is 1.
//
// On HUP it reads its files of secrets and headers again, and reopens what it logs to
// (docs/operations.md#hup). HUP never ends it.
//
// The interrupts are those of https://docs.ag-ui.com (AG-UI 1.0). The names that Kubernetes injects
// for a Service called holdpoint (HOLDPOINT_SERVICE_HOST, HOLDPOINT_PORT and so on) are ignored.
// Every other unknown HOLDPOINT_ name is an error.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/caarlos0/env/v11"

	"holdpoint/internal/variables"
	"holdpoint/store/stores"
	"holdpoint/translate/dialects"
)

// The exit codes of the process. A second signal while streams run down is an error. A wrong
// configuration or command line is a misuse.
const (
	exitOK     = 0
	exitError  = 1
	exitMisuse = 2
)

func main() {
	os.Exit(command(os.Args[1:], os.Environ(), dialects.All(), terminal{os.Stdin, os.Stdout, os.Stderr}))
}

// A terminal is the three streams of the process. They are files, because a terminal is written to
// in another form.
type terminal struct{ in, out, err *os.File }

// command runs the subcommand that args name. The list are the dialects that there are, with their
// options at the defaults.
func command(args, environ []string, list dialects.List, t terminal) int {
	if len(args) > 0 && args[0] == "audit" {
		return auditCommand(args[1:], t.out, t.err)
	}
	if len(args) > 0 && args[0] == "doctor" {
		return doctorCommand(args[1:], t)
	}
	flags := flag.NewFlagSet("holdpoint", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	serve := flags.Bool("serve", false, "")
	atDesk := flags.Bool("desk", false, "")
	all := flags.Bool("all", false, "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return help(flags.Args(), list, t)
	case err != nil:
		return misuse(t.err, err.Error())
	}
	name := flags.Arg(0)
	if rest := flags.Args(); len(rest) > 1 {
		switch err := flags.Parse(rest[1:]); {
		case errors.Is(err, flag.ErrHelp):
			return help(nil, list, t)
		case err != nil:
			return misuse(t.err, err.Error())
		case name == "help":
			return help(flags.Args(), list, t)
		case name == "store" && flags.NArg() == 1 && flags.Arg(0) == "schema":
			return printSchema(environ, t.out, t.err)
		case name == "check" && flags.NArg() > 0 && flags.Arg(0) == "desk":
			arguments := flags.Args()
			if flags.Parse(arguments[1:]) == nil && flags.NArg() == 0 {
				return check(environ, list, true, *all, t)
			}
			return misuse(t.err, fmt.Sprintf("check takes one argument at most, desk, got %q", arguments))
		case name == "healthcheck" && flags.NArg() == 1:
			return healthcheck(environ, flags.Arg(0), t.out, t.err)
		case name == "store":
			return misuse(t.err, fmt.Sprintf("store takes one argument, schema, got %q", flags.Args()))
		case name == "check" && flags.NArg() > 0:
			return misuse(t.err, fmt.Sprintf("check takes one argument at most, desk, got %q", flags.Args()))
		case flags.NArg() > 0:
			return misuse(t.err, fmt.Sprintf("%s takes no argument, got %q", name, flags.Arg(0)))
		}
	}
	switch {
	case *serve && name != "demo":
		return misuse(t.err, "-serve is an option of demo only")
	case *atDesk && name != "demo":
		return misuse(t.err, "-desk is an option of demo only")
	case *all && name != "check":
		return misuse(t.err, "-all is an option of check only")
	case *serve && *atDesk:
		return misuse(t.err, "demo takes -serve or -desk, not both")
	}
	switch name {
	case "", "run":
		return run(environ, list, false, t.err)
	case "desk":
		return run(environ, list, true, t.err)
	case "check":
		return check(environ, list, false, *all, t)
	case "demo":
		switch {
		case *serve:
			return serveDemo(environ, t)
		case *atDesk:
			return deskDemo(environ, t)
		}
		return showDemo(environ, t)
	case "healthcheck":
		return healthcheck(environ, "live", t.out, t.err)
	case "drain":
		return drain(environ, t.out, t.err)
	case "version":
		printVersion(t.out)
		return exitOK
	case "help":
		return help(nil, list, t)
	}
	if name == "store" {
		return misuse(t.err, "store takes one argument, schema")
	}
	return misuse(t.err, fmt.Sprintf("no command %q", name))
}

// help is `holdpoint -h`, or with a topic all variables of that.
func help(topics []string, list dialects.List, t terminal) int {
	s := newSettings(list)
	switch {
	case len(topics) == 0:
		printUsage(t.out, s)
	case len(topics) > 1 || !printTopic(t.out, s, topics[0]):
		return misuse(t.err, fmt.Sprintf("there is no topic %q, want one of %s", strings.Join(topics, " "), strings.Join(topicWords(s), ", ")))
	}
	return exitOK
}

// printSchema is `holdpoint store schema`. It needs no configuration: of HOLDPOINT_STORE it takes
// the schema with the tables.
func printSchema(environ []string, out, complaints io.Writer) int {
	var s stores.Settings
	group := variables.Group{Prefix: prefix, Options: &s}
	environment := env.ToMap(environ)
	group.Read(environment)
	text, err := s.Schema(environment[prefix+"STORE"] != "")
	if err != nil {
		fmt.Fprintf(complaints, "config: %v\n", group.Wrong("STORE", err))
		return exitMisuse
	}
	fmt.Fprint(out, text)
	return exitOK
}

func misuse(w io.Writer, what string) int {
	fmt.Fprintf(w, "holdpoint: %s\n\nusage: holdpoint [run|desk|check|demo|store schema|audit verify|doctor|healthcheck|drain|version|help]\n\nholdpoint -h tells more.\n", what)
	return exitMisuse
}
