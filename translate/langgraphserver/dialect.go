// Package langgraphserver translates LangGraph's own server: `langgraph dev`, langgraph-api in
// Python and JavaScript, and the Platform. No AG-UI adapter is needed in front of it.
//
// For one run of a client, Holdpoint sends several requests to the server:
//
//	POST /threads                     only before an ordinary run: gets or creates the thread
//	GET  /threads/{t}/state           the state and open questions before the run
//	POST /threads/{t}/runs/stream     the run: input, or command.resume with the answers
//	GET  /threads/{t}/state           the state after the run
//
// Only the third request carries answers, so only its outcome can be in doubt. A resume begins with
// the second request. If the thread does not ask the same questions any more, Holdpoint sends no
// answer. If the connection breaks during the third request, the run continues at the server, and
// GET /threads/{t}/runs/{run}/stream joins the run again.
//
// Questions are in `__interrupt__` frames of the run, with the ids and values of the graph. The
// package langgraphapi reads the questions and makes the answers. Answers are sent as LangGraph's
// map of ids. A server without ids gets the bare value, and only if a single question is open.
//
// At a static breakpoint the server sends an empty `__interrupt__`. A yes is sent as input:null. A
// no, or a cancel of all questions, ends the thread's task (POST /threads/{t}/state, as_node
// "__end__").
//
// Limits:
//
//   - While a question is open, the server would run a new message and forget the question.
//     Holdpoint prevents this with its record, and by reading the state before each run.
//   - A client cannot edit a message that the server already has. Holdpoint refuses such a run.
//   - If a server has lost a thread, it begins a new thread with all messages of the client.
//
// RAN in a comment means that the behaviour was seen on a running server: langgraph-api 1.5.1,
// 1.1.1 and 0.0.56 for JavaScript, and 0.16.7 for Python. The e2e tests run the first and the last
// of these versions (TestLangGraphServerApprovals).
package langgraphserver

import (
	"encoding/json"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/langgraphapi"
	"holdpoint/translate/kit"
)

// Name is the dialect's name in HOLDPOINT_DIALECT.
const Name = "langgraph-server"

var (
	_ translate.Guard = (*Dialect)(nil)
	_ translate.Freer = (*Dialect)(nil)

	_ translate.Describer = (*Dialect)(nil)
)

// Options are the settings of the dialect, HOLDPOINT_LANGGRAPH_SERVER_*.
type Options struct {
	Assistant string `env:"ASSISTANT" means:"nothing" doc:"graph or assistant of every run: a name in langgraph.json, or an assistant's uuid. The dialect langgraph-server requires it"`
	// Cancel is the value that a graph gets for a cancelled answer if other answers of the same
	// resume are not cancelled. If all answers are cancelled, the graph gets no answer, and its
	// task is ended.
	Cancel kit.JSON `shared:"cancel" means:"no or null"`
	// Allow lists additional requests of the server's own API that Holdpoint forwards. Without
	// Allow it forwards only requests that read a single thread or public data.
	Allow kit.Requests `env:"ALLOW" means:"nothing" doc:"requests of the server's own API that pass in addition to those of docs/langgraph-server.md: a method and a path, separated by commas or lines, such as GET /store/items. * stands for one segment. Everyone who reaches Holdpoint can send them"`
}

// Needs returns the name of the required option if it is missing, or "".
func (o Options) Needs() string {
	if o.Assistant == "" {
		return "ASSISTANT"
	}
	return ""
}

// Check returns the errors in the options.
func (o Options) Check() []error {
	return kit.WrongOption("ALLOW", o.Allow.Check(controlsRun))
}

// A Dialect implements translate.Guard.
type Dialect struct {
	assistant string
	cancel    json.RawMessage
	allow     kit.Requests
}

// New returns the dialect. If o.Cancel is empty, the graph gets false for a cancelled answer. warn
// may be nil.
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

// Route implements translate.Foreign. The client's runs are sent to the root path. The server's own
// paths for threads and runs, and those of its other protocols (a2a, mcp), share the record of the
// root path. A request to one of them could answer a question without Holdpoint, or restart a
// thread that waits.
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

// Frees implements translate.Freer. A cancel only ends the thread's task, and only if the task
// still asks.
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
