package main

// The texts of this package that an operator reads: errors in the environment and on the command
// line, and log lines of the levels WARN and ERROR. An error says what is wrong, what is wanted,
// and gives an example. The comment of a log line says what it means and what to do;
// docs/warnings.md is made from these comments.

// What is wrong with an address of a backend (HOLDPOINT_UPSTREAM).
const (
	textOneAddress    = "want one address, such as http://localhost:8000/agent; each further agent is a route of its own (docs/routes.md)"
	textNoScheme      = "scheme missing, want http:// or https://, such as http://localhost:8000/agent"
	textNotAddress    = "not an address, want something like http://localhost:8000/agent"
	textScheme        = "scheme %q is not supported, want http:// or https://"
	textUserInAddress = "an address has no user and password here; put a line such as Authorization: Basic ... into the file of HOLDPOINT_UPSTREAM_HEADERS_FILE"
	textNoHost        = "host missing, want something like http://localhost:8000/agent"
	textPort          = "port %q is out of range, want 1 to 65535"
	textFragment      = "a fragment (#) is never sent to a server, leave it out"
	textPlainUpstream = "UPSTREAM begins with http://, so there is no TLS: want https:// there, or leave this out"
)

// What is wrong with an origin (HOLDPOINT_CORS_ORIGINS).
const (
	textNotOrigin      = "not an origin, want one such as https://app.example.com"
	textStarAndList    = "want either * or a list: * admits all pages without credentials, a list admits its pages with them"
	textNullOrigin     = "null is the origin of every sandboxed page and every file, want one such as https://app.example.com"
	textOriginNoScheme = "scheme missing, want something like https://app.example.com"
	textOriginScheme   = "scheme %q has no pages with an origin, want http or https, or an application's own such as capacitor"
	textOriginTail     = "an origin has no path, query or user, leave out what begins at %q"
	textOriginExample  = "not an origin, want something like https://app.example.com or http://localhost:3000"
	textOwnPort        = "%[2]s has the port %[1]s by default, and a browser leaves it out of the origin: leave it out here too"
	textOriginIPv6     = "not an IPv6 address as a browser writes it, such as [::1]"
	textStarPlace      = "* may stand for the first part of a name only, such as https://*.example.com"
	textStarTooWide    = "* would let every site in, want at least https://*.example.com"
	textOriginHost     = "not a host name as a browser writes it (letters other than a to z become xn--...)"
)

// What is wrong with other variables of the process or of a route.
const (
	textMemory        = "want at least 32MiB, or off"
	textOneOf         = "want one of %s"
	textNoUpstream    = "HOLDPOINT_UPSTREAM is not set, want the address of the backend, such as http://localhost:8000/agent"
	textRoutesGap     = "%sPATH: there is no %sPATH: number the routes from 0, without a gap"
	textRouteNotSet   = "%s%s is not set, want %s"
	textWantPath      = "the path below which the agent is, such as /billing"
	textWantName      = "a name for the agent, such as billing: its records in the store, and its lines in log, metrics and audit, have that name"
	textWantUpstream  = "the address of its backend, such as http://localhost:8000/agent"
	textUpstreamOnly  = "it is for the agent of HOLDPOINT_UPSTREAM, which is not set: set %s%s for a route"
	textRouteOfAll    = "HOLDPOINT_UPSTREAM is already the agent of all paths that no route has: leave one of the two out"
	textSamePath      = "%s is the same path (capital and small letters count as equal): give each agent a path of its own"
	textSameName      = "%s is the same name, and agents of one name would share their threads: give each agent a name of its own"
	textNotOfRoute    = "%s: a route cannot have this for itself, set %s for all agents"
	textRemoved       = "%s is not a variable of Holdpoint any more: %s"
	textInjectOnly    = "%s is for holdpoint inject only"
	textUnknown       = "%s is not a variable of Holdpoint, did you mean %s?"
	textUnknownInject = "%s is not a variable of holdpoint inject: it takes those that holdpoint -h %s prints, and HOLDPOINT_LOG_LEVEL and HOLDPOINT_LOG_FORMAT"
)

// What is wrong with several variables together.
const (
	textProbesTaken       = "HOLDPOINT_LISTEN has the same address (%s): give the probes one of their own, such as 127.0.0.1:7081"
	textDeskTakenByRuns   = "HOLDPOINT_LISTEN has the same address (%s): give the desk one of its own, such as :7082"
	textDeskTakenByProbes = "HOLDPOINT_ADMIN_LISTEN has the same address (%s): give the desk one of its own, such as :7082"
	textOwnRuns           = "this is where Holdpoint itself listens (HOLDPOINT_LISTEN %s), want the backend's address"
	textOwnProbes         = "this is where Holdpoint's probes are (HOLDPOINT_ADMIN_LISTEN %s): set another address there, or off"
	textOwnDesk           = "this is where Holdpoint's desk is (HOLDPOINT_DESK_LISTEN %s), want the backend's address"
	textPeersUnused       = "no header of these peers is read: set HOLDPOINT_PRINCIPAL_HEADER or HOLDPOINT_TENANT_HEADER, or leave this out"
	textPeersOnSocket     = "a client of the unix socket of HOLDPOINT_LISTEN has no address, so no header would be believed: want host:port there, such as :7080"
	textStoreNotShared    = "no other process can share this store: set Redis or PostgreSQL as HOLDPOINT_STORE, or an address here, such as :7082"
	textNoDeskPeers       = "HOLDPOINT_DESK_TRUSTED_PEERS is not set (nor HOLDPOINT_TRUSTED_PEERS), and no header is believed without it: want the networks of the proxy that sets the header, such as 10.0.0.0/8, or a unix socket for HOLDPOINT_DESK_LISTEN"
	textDeskPeersAll      = "it has all IPv4 or all IPv6 addresses, so anybody who reaches the desk could name himself as he likes: set HOLDPOINT_DESK_TRUSTED_PEERS to the network of the desk's proxy, such as 10.0.0.0/8"
	textSameAudience      = "it is the same as HOLDPOINT_JWT_AUDIENCE: the agent gets its users' tokens, and could answer its own questions with them. Want an audience for the desk alone, such as holdpoint-desk"
	textNoDeskListen      = "HOLDPOINT_DESK_LISTEN is not set, want the address of the desk, such as :7082"
	textDeskHasAgent      = "HOLDPOINT_UPSTREAM: holdpoint desk has no agent of its own: leave this and the routes out, or start holdpoint run, which can have a desk as well"
	textDeskAlone         = "no other process can share it, so the desk would see no questions: want the Redis or PostgreSQL of the agents, such as redis://redis.internal:6379"
)

// What is wrong on the command line.
const (
	textHealthcheck     = "healthcheck takes live, ready or started, got %q"
	textCheckArguments  = "check takes one argument at most, desk or inject, got %q"
	textStoreGot        = "store takes one argument, schema, got %q"
	textStoreArgument   = "store takes one argument, schema"
	textNoArgument      = "%s takes no argument, got %q"
	textServeOption     = "-serve is an option of demo only"
	textDeskOption      = "-desk is an option of demo only"
	textAllOption       = "-all is an option of check only"
	textServeOrDesk     = "demo takes -serve or -desk, not both"
	textNoCommand       = "no command %q"
	textNoTopic         = "there is no topic %q, want one of %s"
	textAuditCommand    = "want holdpoint audit verify FILE..."
	textAuditFiles      = "audit verify takes the files of an audit, the oldest first"
	textSet             = "want HOLDPOINT_NAME=value"
	textReplayArguments = "replay takes one file or -, got %d arguments"
	textReplayStep      = "-step reads the terminal, so replay cannot read - from it: give it a file"
	textReplayRequest   = "a scenario has requests of its own: -request is for the recorded answer of a backend"
	textReplayEmpty     = "the recording is empty"
	textDoctorArguments = "doctor takes one address, file or -, got %d arguments"
	textDoctorTimeout   = "-timeout %v: want more than 0, such as 60s"
	textDoctorTools     = "-tools: %s: want a JSON array of tools, or a request that has them"
)

// Why Holdpoint does not start. The line is followed by the end of the process.
const (
	// Holdpoint does not start, because the audit log cannot be opened. The line has the reason:
	// check that the file of HOLDPOINT_AUDIT can be written, and that no other process has it open.
	logNoAudit = "cannot open the audit"

	// Holdpoint does not start, because an OTEL_ variable is wrong. The line has the reason:
	// correct the variable, or unset it to send no traces.
	logNoSpans = "cannot make spans"

	// Holdpoint does not start, because it cannot listen on an address. The line has the variable
	// with the address, and a hint if another process listens there: end that process, or set
	// another address.
	logNoListen = "cannot listen"

	// Holdpoint does not start, because it cannot use the store of HOLDPOINT_STORE. The line has
	// the reason, such as a file that another process has open: remove the reason, then start
	// again.
	logNoStore = "cannot open the store"

	// Holdpoint does not start, because the webhook cannot be prepared. The line has the reason:
	// correct what it names.
	logNoWebhook = "cannot start the webhook"

	// The process does not start. The line has the reason: correct what it names, then start again.
	logNoStart = "cannot start"

	// The listener failed while Holdpoint was running, and the process ends with exit code 1. The
	// line has the reason; whatever supervises Holdpoint starts it again.
	logNoServe = "cannot serve"
)

// Lines about the settings, at start and in holdpoint check.
const (
	// HOLDPOINT_CORS_ORIGINS is *, so any web page can send runs and read their answers through the
	// browser of a person who opens it. List the origins of your own pages instead, such as
	// https://app.example.com.
	logEveryOrigin = "pages of every origin may read answers: any page can reach Holdpoint through the browser of a person who opens it"

	// No variable says who a user is, and Holdpoint listens on all addresses of the machine.
	// Anybody who reaches it and has a thread id can see and answer the open questions of that
	// thread. Name the user (HOLDPOINT_PRINCIPAL_HEADER or HOLDPOINT_JWT_ISSUER), or listen on
	// loopback behind a proxy that admits only your users.
	logNoUsersPublic = "Holdpoint knows no users, and listens for everybody: the thread id is the key to a thread's open questions"

	// No variable says who a user is, so anybody who can connect and has a thread id can see and
	// answer the open questions of that thread. Name the user (HOLDPOINT_PRINCIPAL_HEADER or
	// HOLDPOINT_JWT_ISSUER), or be sure that only one user, or a backend that checks users itself,
	// can connect.
	logNoUsers = "Holdpoint knows no users: whoever knows a thread id can see and answer its open questions"

	// HOLDPOINT_TRUSTED_PEERS has all IPv4 or all IPv6 addresses, so anybody who connects can set
	// the header that names the user. List only the network of the proxy that sets it, such as
	// 10.0.0.0/8.
	logEveryPeer = "every address may name the user in a header: anybody who reaches Holdpoint can pass for anybody"

	// HOLDPOINT_TRUSTED_PEERS has loopback. In a pod, the agent and each tool that it runs share
	// that address, and could answer their own questions in the name of a user. Use a unix socket
	// that they do not reach, or tokens (HOLDPOINT_JWT_ISSUER).
	logLocalPeer = "programs of this machine may name the user in a header: in a pod, the agent and its tools can too"

	// The store is in memory, so the owners of threads are lost with the process, and a user who
	// has the id of another user's thread can take it over after a restart. Set HOLDPOINT_STORE to
	// a file, Redis or PostgreSQL, or give each user threads of his own
	// (HOLDPOINT_THREAD_NAMESPACE).
	logOwnersLost = "a restart forgets whose thread is whose: the first user who then sends a thread's id owns it, and reads what the backend keeps of it"

	// HOLDPOINT_JWT_JWKS_URL begins with http://, so a program on the network path can replace the
	// keys with which tokens are checked. Use https://.
	logPlainKeys = "the issuer's keys come over plain HTTP: whoever can change that traffic can sign tokens for anybody"

	// Records in a shared store are kept by the agent's name, and this agent has none. Set
	// HOLDPOINT_NAME to a different name in each Holdpoint that uses the store for another agent.
	logNoName = "HOLDPOINT_NAME is not set: another agent on this store, at the same path, would share threads with this one"

	// With a store that is not in memory, HOLDPOINT_ADDRESS_SHARE limits how many request bodies
	// one client address may send at a time, and does not limit its open questions. There is
	// nothing to do, unless you counted on that limit.
	logAddressShare = "HOLDPOINT_ADDRESS_SHARE bounds the bodies that are being read, and not the questions: only the store in memory has shares"

	// A client may send a longer conversation than the agent can send back in one frame. Set
	// HOLDPOINT_MAX_FRAME_BYTES to at least HOLDPOINT_MAX_REQUEST_BYTES, or give the process more
	// memory if the two follow from its limit.
	logSmallFrames = "HOLDPOINT_MAX_FRAME_BYTES is less than HOLDPOINT_MAX_REQUEST_BYTES: an agent that repeats the whole conversation in one frame fails with FRAME_TOO_LARGE in a long chat"
)

// Lines about the desk and the webhook.
const (
	// Another process asked the question, and this desk cannot judge an answer to it with its own
	// settings. The line has the agent, the dialect and the reason. Give the desk the same options
	// of the dialect as the agent's Holdpoint, or decide in the chat.
	logNotDecidedHere = "the questions of an agent cannot be decided here"

	// A decision of the desk is saved, but Holdpoint does not send it to the agent by itself: the
	// agent gets it with the next request of the chat. The line says which settings are the reason
	// (why). Change them if decisions should be sent at once.
	logWaitsForChat = "what is decided at the desk waits for the chat's next request"

	// With HOLDPOINT_CLIENT=native Holdpoint sends no run of its own, so the agent gets a decision
	// of the desk only with the next request of the chat. Choose another value if decisions should
	// be sent at once.
	logNativeWaits = "what is decided at the desk waits for the chat's next request: HOLDPOINT_CLIENT is native, and nothing is made for such a client"

	// The receiver of the webhook did not accept these events in time, and Holdpoint will not send
	// them again. Find out why it fails, and read what it missed from the audit log or from the
	// desk.
	logNoticesLost = "events for the webhook were given up: its receiver has not taken them"
)

// Lines about files that are read again, and about the end of the process.
const (
	// A file has changed, but Holdpoint cannot use its new content, and continues with the old one.
	// The line has the variable and the reason: correct the file, and Holdpoint reads it again
	// within seconds.
	logNotReloaded = "not read again: what was read before stays in effect"

	// The process was draining and got TERM before its streams had ended, so it ends them now with
	// PROXY_DRAINING. The grace period is shorter than the drain: make it longer than
	// HOLDPOINT_DRAIN_DELAY and HOLDPOINT_DRAIN_TIMEOUT together with 5s more.
	logDrainCut = "the drain was cut short by a signal, running streams are told and cut"

	// A second signal came while the process was draining, so it ends its streams at once and exits
	// with code 1. If nobody sent it on purpose, the supervisor's time to stop is too short.
	logSecondSignal = "stopped by a second signal, running streams are cut"

	// Some connections had not ended when the time for the end of the process was over, and were
	// closed. A client that reads too slowly is the usual cause; if it happens often, make
	// HOLDPOINT_DRAIN_TIMEOUT longer.
	logCutAtDeadline = "connections were cut at the deadline"

	// Some streams were still open when HOLDPOINT_DRAIN_TIMEOUT was over, and ended with
	// PROXY_DRAINING. An answer that was on its way then may or may not have been carried out, and
	// the thread's next request says so. Make the timeout longer if runs need more time.
	logNotInOrder = "streams did not end in order"
)

// What the commands print, and what they ask for.
const (
	textAuditBroken     = "%d lines, head %s: not whole, %d problems\n"
	textIgnored         = "%s is ignored: Kubernetes sets such names for a Service called holdpoint\n"
	textDemoServe       = "holdpoint: demo -serve: %v; %sLISTEN names another address\n"
	textOpenPage        = "Open that page, sign in with the token, and decide. Ctrl-C ends it."
	textDemoDesk        = "%w; %sDESK_LISTEN names another address"
	textOwnCertificate  = "the injector makes its certificate itself"
	textCertificateEnds = "the certificate ends %s\n"
	textEnter           = "Enter shows the next frame of the backend."
	textUsage           = "holdpoint: %s\n\nusage: holdpoint [run|desk|inject|check|demo|store schema|audit verify|doctor|replay|healthcheck|drain|reload|version|help]\n\nholdpoint -h tells more.\n"
	textMoreVariables   = "\nThere are %d more. holdpoint -h TOPIC lists all of a topic:\n\n"
	textNineTenths      = "nine tenths of the container's limit"
	textOfLimit         = "of the limit of memory"
	textListensThere    = "another process listens there. A Holdpoint that was told to stop keeps the address for HOLDPOINT_DRAIN_DELAY, and ends within HOLDPOINT_DRAIN_TIMEOUT after that"
)

// What a variable that was removed is now.
const (
	textNowExternal = "it is HOLDPOINT_TOOLS=name=external;name=external now"
	textNowInput    = "it is HOLDPOINT_TOOLS=name=input;name=input now"
	textNowApproval = "it is HOLDPOINT_TOOLS=name=approval;name=approval now"
	textNowCancel   = "it is HOLDPOINT_CANCEL now"
)

// Why what is decided at the desk waits for the chat.
const (
	textNoStoreKeys = "HOLDPOINT_STORE_KEYS is not set, so the store keeps no input of a run"
	textNoReplicas  = "HOLDPOINT_STORE_REPLICAS is not set, so Redis may forget that an answer was sent"
	textStandby     = "PostgreSQL cannot be asked, or has a standby that it does not wait for, so it may forget that an answer was sent (synchronous_standby_names)"
)

// The topics of holdpoint -h, and the description of the one variable that no field has.
const (
	topicAgent    = "The agent"
	topicListen   = "Listeners and TLS"
	topicStore    = "Where questions are kept, and for how long"
	topicRuns     = "Bounds and times of runs, and the end of the process"
	topicWho      = "Who asks"
	topicDesk     = "The desk"
	topicObserve  = "Log, audit and webhook"
	topicOptions  = "Options of dialects"
	topicInjector = "The injector (holdpoint inject)"
	docRoute      = "path below which another agent is, such as /billing. HOLDPOINT_ROUTES_0_NAME and HOLDPOINT_ROUTES_0_UPSTREAM go with it, and what else is said of this agent alone; the next agent's are HOLDPOINT_ROUTES_1_PATH and so on (docs/routes.md)"
)

// What holdpoint check, the log and the list of files say of a value.
const (
	textForAll      = "%s (for all)"                 // a route has the value of all agents
	textClaim       = "claim %s of tokens of %s"     // where a principal comes from
	textSessionKeys = "keys of sessions at the desk" // what is read again
)

const usageHead = `Holdpoint is a reverse proxy for AI agents that speak AG-UI. It turns the pauses of an agent backend
into AG-UI interrupts, and sends the client's answers to the backend in the backend's own form.

usage: holdpoint [command]

  run      start the proxy (also without a command)
  desk     start the desk alone, for all agents that share a store; needs no HOLDPOINT_UPSTREAM
  inject   start the webhook that adds Holdpoint as a sidecar to pods of Kubernetes; inject -h has
           its variables (docs/injector.md)
  check    validate the configuration, and print what is set and what follows from it, without
           secrets; with -all: every variable. check desk: that of the desk alone. check inject:
           that of the injector
  demo     show a pause and its answer in this terminal; needs no configuration
           with -serve: keep a scripted agent and Holdpoint running, for curl or another client
           with -desk: answer a question on the desk's page, and see the run continue
  store schema
           print the SQL that makes the tables of a PostgreSQL store, for a DBA
  healthcheck [live|ready|started]
           ask the running process, as a probe does; exit 0 if it is. The default is live
  drain    make the running process not ready, and wait until its streams have ended
  reload   have the running process read its files again
  audit verify [-head seq:hash] FILE...
           read the files of an audit, the oldest first, and report lines that were removed or changed
  doctor [-json] URL|FILE|-
           send one harmless run to a backend, or read the recorded answer of one, and report how it
           pauses and how Holdpoint translates it (docs/doctor.md). doctor -h has its options
  replay [-step] FILE|-
           play a scenario, or the recorded answer of a backend, and print each frame received, each
           frame sent, and why, with all payloads (docs/debugging.md). replay -h has its options
  version  print the version
  help     print this text (also -h); help TOPIC: all variables of a topic

Environment variables configure it. Only HOLDPOINT_UPSTREAM must be set, or a route. An empty variable
counts as unset. A size is bytes or has a unit (16MiB, 8MB). A duration is as Go writes it (15s, 1h30m).
Each variable with a secret has a second one, its name with _FILE at the end, for a file with the value.

To begin with:

`

const replayUsage = "usage: holdpoint replay [-step] [-request file] [-set HOLDPOINT_NAME=value] FILE|-\n\n" +
	"FILE is a scenario (NAME.txtar), or the answer of a backend as curl -N or curl -iN writes it.\n" +
	"What is printed has all payloads."

const doctorUsage = "usage: holdpoint doctor [-json] [-message text] [-header 'Name: value'] [-header-file file] " +
	"[-timeout 60s] [-protocol-version 1.0] [-dialect name] [-assistant name] [-tools file] URL|FILE|-"
