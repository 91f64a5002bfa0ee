package langgraphserver

import (
	"encoding/json"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/aguiwriter"
	"holdpoint/translate/internal/langgraphapi"
	"holdpoint/translate/kit"
)

// A chat is one run of a client, through all its exchanges with the server.
type chat struct {
	d      *Dialect
	r      *translate.Request
	thread string // the server's
	nonce  string // of the run, to find it again; "" if there is none
	out    *writer

	left    []agui.Message // of the client, which the server is not sent because it waits
	before  state          // before the run
	after   state          // and after it
	settled bool           // after is known

	aegra bool // the server is Aegra, an open one with the same protocol

	answers // on a resume

	// What the run's stream showed.
	run     string // its id, "" until the server told it
	frames  int    // pieces that were read, for a join
	joins   int
	asked   []langgraphapi.Native
	askedAt map[string]int // by id, or by the value where there is none
	stops   bool           // at a static breakpoint
	updated bool           // the stream had an updates frame, which has the questions
	keys    map[string]bool
	trail   langgraphapi.Trail
}

// private is what a pause keeps for its resume.
type private struct {
	Natives    []langgraphapi.Native `json:"natives"`
	Checkpoint string                `json:"checkpoint,omitempty"`
	Tasks      []string              `json:"tasks,omitempty"` // see langgraphapi.Trail.Outermosts
}

func (d *Dialect) newChat(r *translate.Request) *chat {
	c := &chat{d: d, r: r, thread: threadOf(r.Input.ThreadID), out: newWriter(r), keys: map[string]bool{}, aegra: r.Backend == aegra}
	if r.NewID != nil {
		c.nonce = r.NewID()
	}
	return c
}

// aegra names Aegra among the backends of the dialect. With the mode events it sends nothing else,
// does not see that its own thread asks, and refuses every answer: "thread is not in interrupted
// state" (RAN aegra-api 0.6.0). Its threads have a user_id, and those of LangGraph's own servers
// have none.
const aegra = "aegra"

var asJSON = map[string][]string{"Accept": {"application/json"}}

// ensure asks for the thread, and creates it if the server does not know it.
func (c *chat) ensure() translate.Out {
	return translate.Out{Path: "/threads", Header: asJSON, Body: []byte(`{"thread_id":"` + c.thread +
		`","if_exists":"do_nothing","metadata":{"agui_thread_id":` + aguiwriter.Quoted(agui.Cut(c.r.Input.ThreadID)) + `}}`)}
}

// look asks for the thread's state.
func (c *chat) look() translate.Out {
	return translate.Out{Method: "GET", Path: "/threads/" + c.thread + "/state", Header: asJSON, Body: []byte{}}
}

// list asks for the thread's runs, the newest first.
func (c *chat) list() translate.Out {
	return translate.Out{Method: "GET", Path: "/threads/" + c.thread + "/runs", Header: asJSON, Body: []byte{}}
}

// join asks for the stream of the run again, from its beginning.
func (c *chat) join() translate.Out {
	return translate.Out{Method: "GET", Path: "/threads/" + c.thread + "/runs/" + c.run + "/stream", Header: map[string][]string{
		"Last-Event-Id": {"-1"},
	}, Body: []byte{}}
}

// start starts a run. what is its input or its command, as a member.
func (c *chat) start(key string, what []byte) translate.Out {
	o := kit.AppendText([]byte{'{'}, "assistant_id", c.d.assistant)
	o = kit.AppendMember(o, `"`+key+`"`, string(what))
	if config := configOf(c.r.Input); config != nil {
		o = kit.AppendMember(o, `"config"`, string(config))
	}
	// events for steps, tools and what a graph tells by hand; messages for texts and calls; updates
	// and values for questions and state; custom for what a graph writes.
	modes := `["events","values","updates","messages-tuple","custom"]`
	if c.aegra {
		modes = `["values","updates","messages-tuple","custom"]`
	}
	o = kit.AppendMember(o, `"stream_mode"`, modes)
	o = kit.AppendMember(o, `"stream_subgraphs"`, "true")
	o = kit.AppendMember(o, `"stream_resumable"`, "true")
	gone := "cancel"
	if c.resumes { // what was approved is carried out, also if nobody listens
		gone = "continue"
	}
	o = kit.AppendText(o, "on_disconnect", gone)
	o = kit.AppendText(o, "multitask_strategy", "reject")
	if c.nonce != "" {
		o = kit.AppendMember(o, `"metadata"`, `{"holdpoint_run":`+aguiwriter.Quoted(c.nonce)+`}`)
	}
	return translate.Out{Path: "/threads/" + c.thread + "/runs/stream", Body: append(o, '}'), Resumes: c.resumes}
}

// update writes into the thread's state. node is the one that the values are of.
func (c *chat) update(values json.RawMessage, node string) translate.Out {
	return translate.Out{Path: "/threads/" + c.thread + "/state", Header: asJSON, Resumes: true,
		Body: []byte(`{"values":` + string(values) + `,"as_node":` + aguiwriter.Quoted(node) + `}`)}
}

// begin returns the exchange of an ordinary run on a thread whose state is known. The error says
// why there can be none.
func (c *chat) begin(takesNew bool) (*translate.Exchange, *agui.RunError) {
	messages, _, err := fresh(c.r.Input.Messages, c.before)
	if err != nil {
		return nil, err
	}
	out := c.start("input", inputOf(c.r.Input, c.before, messages))
	out.TakesNew = takesNew
	return &translate.Exchange{Out: out, Run: &run{chat: c, step: streaming}}, nil
}
