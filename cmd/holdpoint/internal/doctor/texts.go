package doctor

// The texts of doctor that a user reads: the verdict, what Holdpoint cannot do with a backend's
// answer, and notes. Each text says what doctor saw and what the user can do. The file words.go has
// the labels of the report, and marks.go the signs of each framework.
const (
	// The verdict.
	verdictKeeps   = "the backend asks a question, and Holdpoint brings it to the client and the answer back"
	verdictPlain   = "nothing to do in this run"
	verdictCannot  = "there is something that Holdpoint cannot do, see \"cannot\" below"
	verdictNothing = "nothing to judge"

	// What Holdpoint cannot do.
	cannotEncoding    = "it has the Content-Encoding %s although none was asked for, and Holdpoint does not read that: let the backend send it plain"
	cannotAISDK       = "it is the AI SDK's stream, which Holdpoint does not read: approvals in it pass unguarded, and a yes that is sent twice runs twice"
	cannotProtobuf    = "it is in AG-UI's protobuf form, which Holdpoint neither asks for nor reads"
	cannotUnknown     = "nothing in it is an event of AG-UI, or of a native Strands or superagent server that Holdpoint recognizes. If it is one of these, name it (-dialect)"
	cannotFrame       = "a frame is larger than 32 MiB (HOLDPOINT_MAX_FRAME_BYTES)"
	cannotNoEnd       = "the stream has no terminal event, so a client gets RUN_ERROR %s: the answer was cut off, or the backend does not end its runs"
	cannotNoStream    = "the answer is not an event stream (Content-Type: %s): a client gets RUN_ERROR %s"
	cannotOtherError  = "a client gets RUN_ERROR %s (docs/errors.md)"
	notSchemaQuestion = ", without a schema: Holdpoint cannot check an answer before the backend gets it"

	// Notes.
	noteOpenCalls = "these calls have no result in the answer: %s. If the client declares the tool, the call is the client's to answer (-tools). " +
		"If the backend waits for a person there, name the tools: HOLDPOINT_TOOLS=%s (docs/tool-call.md). Otherwise Holdpoint lets the call pass, and does not protect it"
	noteOneMore    = "Holdpoint would send the backend one more request here, to learn what the question is. doctor sends only one"
	noteNobody     = "no question is asked in this run, as in most runs. %s"
	noteRecord     = "To be sure, record one that pauses: run curl -N with a request that makes the agent ask, write its output to a file, then run holdpoint doctor FILE"
	noteMessage    = "To be sure, give a message that makes the agent ask (-message)"
	noteNoDialect  = "Holdpoint recognizes a dialect by the form of a question, so it cannot recognize one in a run without a question"
	noteTanStack   = "the client is TanStack AI's: Holdpoint adds TanStack's binding to each question, so that the client shows its buttons (docs/browser.md)"
	noteCopilotKit = "the client declares no protocolVersion, as CopilotKit's runtime does. A card of CopilotKit that reads event.value " +
		"gets an AG-UI interrupt there, and no longer the agent's own value: set HOLDPOINT_CLIENT=native, or change the card (docs/copilotkit.md)"
	noteOwnError = "the backend's own error reaches the client as RUN_ERROR"

	// Why there is no answer to judge.
	whyAssistant = "LangGraph's server refuses the run: it may not have the assistant (-assistant)"
	whyWho       = "the backend requires a login: give its token with -header or -header-file"
	whyNoAgent   = "the backend has no agent at this address (docs/troubleshooting.md#i-see-404)"
	whyRedirect  = "the backend redirects: run doctor with the address that it names"
	whyNotARun   = "the backend does not accept a RunAgentInput here: a server that does not speak AG-UI needs -dialect"
	whyError     = "the backend answered with an error: its log may have the reason"
	whyTime      = "the backend sent nothing before the time was over: give it more (-timeout)"
	whyEmpty     = "it is empty"

	// What doctor refuses, and how it fails.
	refusedAddress    = "the address cannot be read"
	refusedScheme     = "want an address http://host/path or https://host/path"
	refusedUser       = "an address has no user and password here: give them with -header"
	refusedRecording  = "a run of %s is several requests: give doctor the address of the server"
	refusedOwnRun     = "doctor's own run was refused: %s"
	failedUnreachable = "the backend cannot be reached"
	failedReason      = failedUnreachable + ": %s"
)

// Signs of a framework in an answer, and the rows of the dialects in the report.
const (
	nameDraft           = "AG-UI's draft of interrupts"
	namePhrases         = "Questions in words"
	nameStandard        = "Any other backend with the interrupt outcome"
	nameToolCall        = "Any other backend that asks by a call"
	signLangChain       = "events of LangChain's stream (rawEvent or RAW)"
	signLangGraphServer = "frames of a LangGraph Server (rawEvent)"
	signLangGraph       = "interrupts with metadata.langgraph"
	signAgentFramework  = "interrupts with metadata.agent_framework"
	signStrands         = "RAW events with the source strands"
	signAG2             = "interrupts with metadata.ag2"
	signADK             = "interrupts with metadata.adk"
	signCrewAI          = "interrupts with the reason crewai:human_feedback"
	signCrewAIEvent     = "CUSTOM on_interrupt with an interrupt of CrewAI's"
	signMastra          = "interrupts with the reason mastra:tool_suspend"
	signMastraEvent     = "CUSTOM on_interrupt with a call that suspends"
	signAgno            = "RAW events with the source agno"
	signTanStack        = "interrupts with TanStack's binding in metadata"
	signDialect         = "it asks as the dialect %s does"
	adapterADK          = "ag-ui-adk with the interrupt outcome, as 0.11.0 has it"
	adapterCrewAI       = "ag-ui-crewai with emit_interrupt_outcome, as 1.0.0 has it"
	adapterMastra       = "@ag-ui/mastra with the interrupt outcome, as 1.1.2 has it and 1.0.3 has not"
	adapterAG2          = "ag2 with the interrupt outcome, as 1.2.1 has it"
	adapterCrewAIEvent  = "ag-ui-crewai without emit_interrupt_outcome, as 1.0.0 is by default"
	adapterMastraEvent  = "@ag-ui/mastra without the interrupt outcome, as 1.0.3 has none and 1.1.2 has it off"
	adapterUnknown      = "its adapter"
	versionFrom43       = "%s 0.0.43 or later"
	versionTo42         = "%s up to 0.0.42"
	versionUnknown      = "%s, of a version that this answer does not tell"
	adapterDotNet       = "the request_approval of the .NET samples; the stream does not tell a version"
	versionFromRC8      = "1.0.0rc8 or later"
	versionB260114      = "1.0.0b260114 to b260219"
	versionToB260219    = "up to 1.0.0b260219"
)

// Labels of the report.
const (
	labelNoType      = "(no type of AG-UI)"
	labelFreeText    = "(free text)"
	labelNoDialect   = "dialect     not shown by this answer"
	labelNotShown    = "not shown by this answer"
	labelCutOff      = "cut off"
	labelNoTerminal  = "no terminal event"
	labelEndsWith    = "ends with %s"
	labelWithSchema  = ", with a schema for the answer"
	labelEvents      = "events      what the backend sent, and what a client gets"
	labelDoesNotWork = "  does not work: %s\n"
)

// What is wrong with doctor's arguments, and the errors with which it ends its own requests.
const (
	refusedAssistant   = "-dialect %s and -assistant go together"
	failedSecondRun    = "doctor sends one run"
	failedOwnRun       = "doctor: Holdpoint does not take its own run: %s"
	failedEnough       = "doctor: enough was read"
	failedSecondAnswer = "a recording has one answer"
)

// DefaultMessage is the user's message in the harmless run.
const DefaultMessage = "Hello. Please only say hello."
