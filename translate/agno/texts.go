package agno

// The texts of errors that a client reads in RUN_ERROR.
const (
	textSameID   = "call %q of interrupt %q has the id of an earlier call with other arguments, and agno may run the earlier one. Deny or cancel it"
	textNoCancel = "cannot be cancelled: agno would run the tool with the model's arguments. Answer it, or cancel all open questions"
	textWrong    = "not what agno accepts: want "
)

// The agent of the backend has no database, so agno forgets a paused run, and the answer to its
// question cannot continue it. Give the agent a database: Agent(db=..). The line is written once.
const logNoDatabase = "agno cannot continue a paused run of an agent without a database: give the agent one (Agent(db=..))"

// The questions that a person reads if the agent sent no text.
const (
	askInput    = "The agent wants input for the tool %s."
	askQuestion = "The agent asks a question."
)

// resultDenied is the text that the model reads for a no without a note. For an external execution
// and for user input it is sent as an error: the execution then fails, and the input is refused.
const resultDenied = "rejected by the user"
