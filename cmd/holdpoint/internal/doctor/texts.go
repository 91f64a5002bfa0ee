package doctor

// The texts of this room, in one place: the verdict, what Holdpoint cannot do with an answer, and
// notes. Each says what was seen and what can be done. words.go has the labels of the report, and
// marks.go the signs of a framework.
const (
	// The verdict.
	verdictKeeps   = "the backend asks, and Holdpoint keeps the contract for it"
	verdictPlain   = "nothing to do in this run"
	verdictCannot  = "there is something that Holdpoint cannot do, see \"cannot\" below"
	verdictNothing = "nothing to judge"

	// What Holdpoint cannot do.
	cannotEncoding    = "it has the Content-Encoding %s although none was asked for, and Holdpoint does not read that: let the backend send it plain"
	cannotAISDK       = "it is the AI SDK's stream, which Holdpoint does not read: approvals in it pass unguarded, and a yes that is sent twice runs twice"
	cannotProtobuf    = "it is in AG-UI's protobuf form, which Holdpoint neither asks for nor reads"
	cannotUnknown     = "nothing in it is an event of AG-UI, or of a native Strands or superagent server that Holdpoint knows by sight. If it is one of those, name it (-dialect)"
	cannotFrame       = "a frame is larger than 32 MiB (HOLDPOINT_MAX_FRAME_BYTES)"
	cannotNoEnd       = "the stream has no terminal event, so a client is told %s: it is cut, or the backend does not end its runs"
	cannotNoStream    = "the answer is not an event stream (Content-Type: %s): a client is told %s"
	cannotOtherError  = "a client is told RUN_ERROR %s (docs/errors.md)"
	notSchemaQuestion = ", without a schema: nobody can judge the answer before the backend gets it"

	// Notes.
	noteOpenCalls = "these calls have no result in the answer: %s. If the client declares the tool, the call is the client's to answer (-tools). " +
		"If the backend waits for a person there, name the tools: HOLDPOINT_TOOLS=%s (docs/tool-call.md). Else Holdpoint lets it pass and keeps no contract there"
	noteOneMore    = "Holdpoint would send the backend one more request here, to learn what it asks. doctor sends one only"
	noteNobody     = "nobody is asked in this run, as in most. %s"
	noteRecord     = "Record one that pauses to be sure: curl -N with a request that makes the agent ask, its output to a file, then holdpoint doctor FILE"
	noteMessage    = "Give a message that makes the agent ask to be sure (-message)"
	noteNoDialect  = "Holdpoint knows a dialect by how it asks. It cannot tell one from a run in which nobody is asked"
	noteTanStack   = "the client is TanStack AI's: Holdpoint binds each question to the run that tells it, so that the client draws its controls (docs/browser.md)"
	noteCopilotKit = "the client declares no protocolVersion, as CopilotKit's runtime does. A card of CopilotKit that reads event.value " +
		"gets an AG-UI interrupt there, and no longer the agent's own value: set HOLDPOINT_CLIENT=native, or change the card (docs/copilotkit.md)"
	noteOwnError = "the backend's own error is told as RUN_ERROR"

	// Why there is nothing to judge.
	whyAssistant = "LangGraph's server does not take the run: it may not know the assistant (-assistant)"
	whyWho       = "the backend wants to know who asks: give its token by -header or -header-file"
	whyNoAgent   = "the backend has no agent at this address (docs/troubleshooting.md#i-see-404)"
	whyRedirect  = "the backend redirects: ask the address that it names"
	whyNotARun   = "the backend does not take a RunAgentInput here: a server that does not speak AG-UI needs -dialect"
	whyError     = "the backend answered with an error: its log may say which"
	whyTime      = "nothing came before the time was up: give it more (-timeout)"
	whyEmpty     = "it is empty"

	// What doctor does not do.
	refusedAddress    = "the address cannot be read"
	refusedScheme     = "want an address http://host/path or https://host/path"
	refusedUser       = "user and password do not belong into the address: give them by -header"
	refusedRecording  = "a run of %s is several requests: give doctor the address of the server"
	refusedOwnRun     = "the run is refused by Holdpoint: %s"
	failedUnreachable = "the backend cannot be reached"
	failedReason      = failedUnreachable + ": %s"
)
