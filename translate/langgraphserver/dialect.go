// Package langgraphserver translates LangGraph's own server: `langgraph dev`, langgraph-api in
// Python and JavaScript, the Platform. It stands in the place of an AG-UI adapter.
//
// One run of a client is several requests to the server:
//
//	POST /threads                     an ordinary run: the thread, created if it is unknown
//	GET  /threads/{t}/state           what the thread holds and waits for
//	POST /threads/{t}/runs/stream     the run: input, or command.resume with the answers
//	GET  /threads/{t}/state           what came of it
//
// Only the third carries answers, so only that one can be in doubt. A resume begins with the
// second: if the thread does not ask the same any more, nothing is sent. If the connection breaks
// in the third, GET /threads/{t}/runs/{run}/stream joins the run again. The server goes on
// meanwhile.
//
// Questions come in `__interrupt__` frames of the run, and their ids and values are the graph's
// own. The package langgraphapi says what they mean and what an answer is. They go back as
// LangGraph's map of ids. A server without ids gets the bare value, and only where one question is
// open.
//
// A static breakpoint asks by an empty `__interrupt__`. Its yes is input:null. Its no ends the
// thread's task, as a cancel of every question does (POST /threads/{t}/state, as_node "__end__").
//
// What cannot be done:
//
//   - The server runs a new message while it asks something, and forgets the question. Holdpoint's
//     record, and a look at the state before each run, hold it.
//   - A message that the server has cannot be edited: the run is refused.
//   - A server that has lost its threads begins them anew with all that the client has said.
//
// Facts: RAN on langgraph-api 1.5.1, 1.1.1 and 0.0.56 for JavaScript and 0.16.7 for Python.
// e2e runs the first and the last of them (TestLangGraphServerApprovals).
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
	Assistant string `env:"ASSISTANT" means:"nothing" doc:"the graph or assistant that every run is for: a name in langgraph.json, or an assistant's uuid. langgraph-server does not start without it"`
	// Cancel is what a graph gets for a cancelled answer beside one that is not. Where everything
	// is cancelled, the graph gets nothing: its task ends.
	Cancel kit.JSON `shared:"cancel" means:"no or null"`
	// Allow are requests of the server's own API that a client may make beside those that only read
	// one thread, or what is the same for everybody.
	Allow kit.Requests `env:"ALLOW" means:"nothing" doc:"requests of the server's own API that pass beside those of docs/langgraph-server.md: a method and a path, by commas or lines, such as GET /store/items. * stands for one segment. Whoever reaches Holdpoint can make them"`
}

// Needs returns what must be set.
func (o Options) Needs() string {
	if o.Assistant == "" {
		return "ASSISTANT"
	}
	return ""
}

// Check returns what is wrong with the options.
func (o Options) Check() []error {
	if err := o.Allow.Check(steers); err != nil {
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

// New makes the dialect. Without Cancel it is false. warn may be nil.
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

// Route implements translate.Foreign. Runs are for the root. The server's own places for threads
// and runs are the same place, and so are those of its other protocols: each could answer past the
// record, or restart a thread that waits.
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

// Frees implements translate.Freer. A cancel ends the thread's task if that still asks, and does
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
	return c.look(), &run{chat: c, step: looking}, nil
}
