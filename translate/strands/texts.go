package strands

// The texts of errors that a client reads in RUN_ERROR.
const (
	textTwinIDs      = "two open interrupts have one id at the backend: only the same answer can be given to both"
	textMoreThanText = "the message has other parts than text, and this backend's prompt accepts only text: send the message without them"
	textEmpty        = "the message is empty: send one with text. The agent keeps the conversation itself, so there is nothing else to send"
	textToolMessage  = "the last message is the result of a tool: the agent calls only its own tools, and accepts no results from the client"
	textNotUser      = "the last message is not a user's, so there is nothing to send: the agent keeps the conversation itself"
	textNoUser       = "none of the messages is a user's, so there is nothing to send: the agent keeps the conversation itself"

	textTooManyQuestions = "the backend asks more than %d questions at once, or questions of more than %d bytes"
	textUnreadable       = "the agent stopped to ask, but its questions cannot be read from its stream: let the server send result.interrupts as JSON"
	textForceStop        = "the agent's event loop stopped with an error"
	textBrokeOff         = "the backend closed the connection before its agent said anything. A server that catches no errors also does this if its agent waits for an answer " +
		"to a question that is not known here"
	textLostInBody = "the agent stopped to ask, and its server returned only the message, without the question. Let the server stream: %s"
	textNotList    = "the backend did not get the answers as a list: its entrypoint must pass the prompt on unchanged (body in HOLDPOINT_STRANDS_FILE)"
	textLost       = "the agent waits for the answer to a question that is not known here, and the TypeScript SDK does not repeat it: " +
		"answer the question where it was asked, or continue in another thread"
	textStuck      = "the agent still waits for the answers of a run that failed, and cannot be asked for its questions again (%s): continue in another thread, or reset the agent's session"
	textIDsUnknown = "their ids are not known any more"
	textMediaType  = "the backend answered %d with a media type that is not supported; plain text is read with \"text\": true in HOLDPOINT_STRANDS_FILE, which is right only if the agent never asks"
	textNoList     = "the backend answered %d to a list of answers: its prompt accepts only a string, so its questions cannot be answered; " +
		"let it accept what stream_async accepts"
	textNoQuestion   = "the agent waits for an answer, and does not send its question"
	textFailsIfAsked = "the agents wait for an answer, and fail when they are asked for their question. A graph with a denied node always fails so: " +
		"continue in another thread, or reset the session of the agents"
	textNoResult = "the stream ended at a tool call without its result, so the agent may have stopped to ask: let the server send every event of the agent, " +
		"including tool_interrupt_event and result"
	textFailed             = "the agents failed"
	textNoQuestionInStream = "the agent waits for an answer, and its stream does not have the question: let the server send every event of the agent"
	textUnknownJSON        = "the backend's answer is JSON of an unknown form"
	textNoEnd              = "the backend sent texts and no end: if its agent never asks anything, set \"text\": true in HOLDPOINT_STRANDS_FILE to show them"
	textNoAgentResult      = "the backend's stream ended without the agent's result"
)

// textAnsweredBefore is added to a question that a person reads.
const textAnsweredBefore = " (It was answered before, in a run that failed, and that answer may have been carried out.)"

// The texts of errors in the file of HOLDPOINT_STRANDS_FILE. An operator reads them when Holdpoint
// starts, and in the output of holdpoint check.
const (
	textNotHeaders         = `want an object such as {"X-Session": "$session"}`
	textNotHeader          = "%q is not the name of a header"
	textEmptyHeader        = "%s is empty"
	textHeaderCharacter    = "the value of %s has a character that a header cannot have"
	textHeaderPlaceholder  = "%q is not a placeholder of headers, want $session"
	textOwnHeader          = "%s cannot be set here, because Holdpoint sets it"
	textHeaderTwice        = "%s is in the file twice"
	textNotPaths           = `want a list of paths, such as ["/invocations", "/agents/*"]`
	textNotPath            = "%q is not a path in its shortest form, want for example /agents/*"
	textNotSwitch          = "want true or false"
	textNotBody            = `want a JSON object with the value "$prompt" once, such as {"input":{"prompt":"$prompt"}}`
	textUnknownPlaceholder = "%q is not a placeholder, want one of %s"
)

// A rule of HOLDPOINT_STRANDS_FILE has answers sent in another form than a string. A hook that was
// written for strings throws at such an answer, even at a denial, and @strands-agents/sdk 1.19.0
// then runs the tool. Use bool, envelope and raw only for hooks and tools that are known to accept
// them. The line is written when Holdpoint starts.
const logAnswerForm = "@strands-agents/sdk 1.19.0 runs the tool when a hook throws, and a hook written for a string throws at any other answer, even a denial: bool, envelope and raw are right only for hooks and tools that are known to accept them"

// The lines with which a server streams, for textLostInBody.
const (
	codeStreamPython     = "async for event in agent.stream_async(payload[\"prompt\"]): yield event"
	codeStreamTypeScript = "for await (const event of agent.stream(prompt)) res.write(JSON.stringify(event) + \"\\n\")"
)

// Errors about a repr, which the program compares.
const (
	textNameTwice   = "a name stands twice"
	textNoInterrupt = "no interrupt"
)
