package langgraphserver

import (
	"encoding/json"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/aguiwriter"
	"holdpoint/translate/internal/langgraphapi"
	"holdpoint/translate/kit"
)

// A chat is one run of a client. It consists of several exchanges with the server.
type chat struct {
	d      *Dialect
	r      *translate.Request
	thread string // the server's thread id
	nonce  string // written into the run's metadata, to find the run in the list of runs; may be ""
	out    *writer

	// unsent are the client's messages that are not sent, because the thread has an open question.
	unsent     []agui.Message
	before     state // the state before the run
	after      state // the state after the run
	afterKnown bool  // whether after is known

	aegra bool // the server is Aegra, an open server with the same protocol

	answers // the answers, if the client's run is a resume

	// These fields are read from the run's stream.
	run                string // the run's id, "" until it was received
	frames             int    // number of frames read; a joined stream repeats them
	joinAttempts       int
	asked              []langgraphapi.Native
	askedAt            map[string]int // the index in asked, keyed by id or, without an id, by value
	atStaticBreakpoint bool           // the run stopped at a static breakpoint
	hasUpdates         bool           // the stream had an updates frame, so its questions are complete
	keys               map[string]bool
	trail              langgraphapi.TaskTrace
}

// private is the dialect's state of a pause. It is stored as JSON in Pause.Private.
type private struct {
	Natives    []langgraphapi.Native `json:"natives"`
	Checkpoint string                `json:"checkpoint,omitempty"`
	Tasks      []string              `json:"tasks,omitempty"` // see langgraphapi.TaskTrace.Outermosts
}

func (d *Dialect) newChat(r *translate.Request) *chat {
	c := &chat{d: d, r: r, thread: threadOf(r.Input.ThreadID), out: newWriter(r), keys: map[string]bool{}, aegra: r.Backend == aegra}
	if r.NewID != nil {
		c.nonce = r.NewID()
	}
	return c
}

// aegra is the value of translate.Result.Backend for a server of Aegra. If a run has the stream
// mode events, Aegra sends no other mode, does not notice that its thread asks, and refuses every
// answer: "thread is not in interrupted state" (RAN aegra-api 0.6.0). A thread of Aegra has a
// user_id, and a thread of LangGraph's own servers does not.
const aegra = "aegra"

var asJSON = map[string][]string{"Accept": {"application/json"}}

// ensure returns the request that gets the thread. The server creates the thread if it is unknown.
func (c *chat) ensure() translate.Out {
	return translate.Out{Path: "/threads", Header: asJSON, Body: []byte(`{"thread_id":"` + c.thread +
		`","if_exists":"do_nothing","metadata":{"agui_thread_id":` + aguiwriter.Quoted(agui.Shorten(c.r.Input.ThreadID)) + `}}`)}
}

// readState returns the request that reads the thread's state.
func (c *chat) readState() translate.Out {
	return translate.Out{Method: "GET", Path: "/threads/" + c.thread + "/state", Header: asJSON, Body: []byte{}}
}

// list returns the request that lists the thread's runs, newest first.
func (c *chat) list() translate.Out {
	return translate.Out{Method: "GET", Path: "/threads/" + c.thread + "/runs", Header: asJSON, Body: []byte{}}
}

// join returns the request that reads the run's stream again from its beginning.
func (c *chat) join() translate.Out {
	return translate.Out{Method: "GET", Path: "/threads/" + c.thread + "/runs/" + c.run + "/stream", Header: map[string][]string{
		"Last-Event-Id": {"-1"},
	}, Body: []byte{}}
}

// start returns the request that starts a run. key is "input" or "command", and what is its value.
func (c *chat) start(key string, what []byte) translate.Out {
	o := kit.AppendText([]byte{'{'}, "assistant_id", c.d.assistant)
	o = kit.AppendMember(o, `"`+key+`"`, string(what))
	if config := configOf(c.r.Input); config != nil {
		o = kit.AppendMember(o, `"config"`, string(config))
	}
	// The mode events sends steps, tools and the events that a graph dispatches with
	// dispatch_custom_event. The mode messages sends texts and calls, updates and values send
	// questions and state, and custom sends what a graph writes itself.
	modes := `["events","values","updates","messages-tuple","custom"]`
	if c.aegra {
		modes = `["values","updates","messages-tuple","custom"]`
	}
	o = kit.AppendMember(o, `"stream_mode"`, modes)
	o = kit.AppendMember(o, `"stream_subgraphs"`, "true")
	o = kit.AppendMember(o, `"stream_resumable"`, "true")
	gone := "cancel"
	if c.resumes { // an approved call must run even if the connection closes
		gone = "continue"
	}
	o = kit.AppendText(o, "on_disconnect", gone)
	o = kit.AppendText(o, "multitask_strategy", "reject")
	if c.nonce != "" {
		o = kit.AppendMember(o, `"metadata"`, `{"holdpoint_run":`+aguiwriter.Quoted(c.nonce)+`}`)
	}
	return translate.Out{Path: "/threads/" + c.thread + "/runs/stream", Body: append(o, '}'), Resumes: c.resumes}
}

// update returns the request that writes values into the thread's state as the output of the given
// node.
func (c *chat) update(values json.RawMessage, node string) translate.Out {
	return translate.Out{Path: "/threads/" + c.thread + "/state", Header: asJSON, Resumes: true,
		Body: []byte(`{"values":` + string(values) + `,"as_node":` + aguiwriter.Quoted(node) + `}`)}
}

// begin returns the exchange that starts an ordinary run on a thread whose state is known. It
// returns an error if the server would not accept the messages of the run.
func (c *chat) begin(takesNew bool) (*translate.Exchange, *agui.RunError) {
	messages, _, err := newMessages(c.r.Input.Messages, c.before)
	if err != nil {
		return nil, err
	}
	out := c.start("input", inputOf(c.r.Input, c.before, messages))
	out.TakesNew = takesNew
	return &translate.Exchange{Out: out, Run: &run{chat: c, step: streaming}}, nil
}
