// Package langgraphserver translates LangGraph's own server: `langgraph dev`, langgraph-api in
// Python and JavaScript, and the Platform. No AG-UI adapter is needed in front of it.
//
// One run of a client is several requests to the server:
//
//	POST /threads                     in an ordinary run: the thread, created if it is unknown
//	GET  /threads/{t}/state           the state and open questions before the run
//	POST /threads/{t}/runs/stream     the run: input, or command.resume with the answers
//	GET  /threads/{t}/state           the state after the run
//
// Only the third request carries answers, so only its outcome can be in doubt. A resume begins with
// the second request: if the thread does not ask the same questions any more, no answer is sent. If
// the connection breaks during the third request, the run continues at the server, and GET
// /threads/{t}/runs/{run}/stream joins it again.
//
// Questions are in `__interrupt__` frames of the run, with ids and values of the graph. The package
// langgraphapi reads them and makes the answers. Answers are sent as LangGraph's map of ids. A
// server without ids gets the bare value, and only if a single question is open.
//
// A static breakpoint asks with an empty `__interrupt__`. Its yes is input:null. Its no ends the
// thread's task, as does a cancel of all questions (POST /threads/{t}/state, as_node "__end__").
//
// What cannot be done:
//
//   - While a question is open, the server runs a new message and forgets the question.
//     Holdpoint prevents this with its record, and by reading the state before each run.
//   - A message that the server has cannot be edited. Such a run is refused.
//   - A server that has lost its threads begins a new one with all messages of the client.
//
// Facts: RAN on langgraph-api 1.5.1, 1.1.1 and 0.0.56 for JavaScript and 0.16.7 for Python. e2e
// runs the first and the last of these versions (TestLangGraphServerApprovals).
package langgraphserver

import (
	"encoding/json"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/langgraphapi"
	"holdpoint/translate/kit"
)

// Name of the dialect.
const Name = "langgraph-server"

var (
	_ translate.Guard = (*Dialect)(nil)
	_ translate.Freer = (*Dialect)(nil)

	_ translate.Describer = (*Dialect)(nil)
)

// Options of the dialect, HOLDPOINT_LANGGRAPH_SERVER_*.
type Options struct {
	Assistant string `env:"ASSISTANT" means:"nothing" doc:"graph or assistant of every run: a name in langgraph.json, or an assistant's uuid. The dialect langgraph-server requires it"`
	// Cancel is the value that a graph gets for a cancelled answer if other answers are not cancelled.
	// If all are cancelled, the graph gets no answer: its task is ended.
	Cancel kit.JSON `shared:"cancel" means:"no or null"`
	// Allow lists requests of the server's own API that pass in addition to those that only read one
	// thread or public data.
	Allow kit.Requests `env:"ALLOW" means:"nothing" doc:"requests of the server's own API that pass in addition to those of docs/langgraph-server.md: a method and a path, separated by commas or lines, such as GET /store/items. * stands for one segment. Everyone who reaches Holdpoint can send them"`
}

// Needs returns the name of the option that is missing, or "".
func (o Options) Needs() string {
	if o.Assistant == "" {
		return "ASSISTANT"
	}
	return ""
}

// Check returns the errors in the options.
func (o Options) Check() []error {
	if err := o.Allow.Check(controlsRun); err != nil {
		return []error{kit.WrongOption("ALLOW", err)}
	}
	return nil
}

// A Dialect implements translate.Guard.
type Dialect struct {
	assistant string
	cancel    json.RawMessage
	allow     kit.Requests
}

// New returns the dialect. If o.Cancel is empty, a cancel is false. warn may be nil.
func New(o Options, warn translate.Warn) (*Dialect, error) {
	if len(o.Cancel) == 0 {
		o.Cancel = kit.JSON("false")
	}
	if !langgraphapi.Falsy(json.RawMessage(o.Cancel)) && warn != nil {
		warn(logCancelLikeYes,
			"variable", "HOLDPOINT_CANCEL")
	}
	for _, one := range o.Allow {
		if warn != nil {
			warn(logAllowed, "variable", "HOLDPOINT_LANGGRAPH_SERVER_ALLOW", "request", one.String())
		}
	}
	return &Dialect{assistant: o.Assistant, cancel: json.RawMessage(o.Cancel), allow: o.Allow}, nil
}

// Interpret implements translate.Interpreter.
func (*Dialect) Interpret(p agui.Pause, answers []agui.Answer, read []agui.Reading) {
	langgraphapi.Interpret(p, answers, read)
}

// Describe implements translate.Describer.
func (*Dialect) Describe(p agui.Pause, i *agui.Interrupt) (translate.Subject, bool) {
	return langgraphapi.Describe(p, i)
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Answers implements translate.Dialect.
func (*Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	return langgraphapi.Answers(in, p)
}

// Route implements translate.Foreign. Runs are at the root. The server's own paths for threads and
// runs have the same record, and so do those of its other protocols, because each could answer
// without Holdpoint, or restart a thread that waits.
func (*Dialect) Route(path string) (string, bool) {
	path = strings.Trim(path, "/")
	if path == "" {
		return "/", true
	}
	for part := range strings.SplitSeq(path, "/") {
		switch part {
		case "threads", "runs", "a2a", "mcp":
			return "/", true
		}
	}
	return "/", false
}

// Frees implements translate.Freer. A cancel ends the thread's task if it still asks, and does
// nothing else.
func (*Dialect) Frees(*agui.Pause) bool { return true }

// Begin implements translate.Dialect.
func (d *Dialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	c := d.newChat(r)
	if r.Pause.ID == "" {
		return c.ensure(), &run{chat: c, step: creating}, nil
	}
	if err := c.prepareAnswers(); err != nil {
		return translate.Out{}, nil, err
	}
	return c.readState(), &run{chat: c, step: readingState}, nil
}
