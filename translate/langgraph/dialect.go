// Package langgraph translates the AG-UI adapters of LangGraph: ag-ui-langgraph for Python and
// @ag-ui/langgraph for TypeScript, every version from 2025-06 on, with CopilotKit's layers on top
// of them.
//
// They announce a pause by CUSTOM on_interrupt events. From 0.0.43 on they also use the interrupt
// outcome if they are told to, and take the array `resume`. Earlier ones take the answer in
// forwardedProps.command.resume only, which the later ones still take, with a warning in their log.
//
// The answer to one question goes in the array, if the stream shows an adapter that takes it
// (entry.go). All else goes in command.resume. Both have it in LangGraph's own id map, {"<native
// id>": value}. LangGraph gives an answer of the map to the question of that id and to no other,
// also if another run of the thread, or somebody past Holdpoint, has asked something else since.
// Where the stream shows no id, the answer goes without one, and LangGraph gives it to whatever
// waits. If another run came to another question, only denials go then (kit.RefuseContested).
//
// Every adapter passes the map on unchanged, and every value keeps its type. Of several entries of
// the array an adapter makes a sentinel object that LangGraph does not know (ag-ui issue 2178). Of
// a cancelled entry it makes a true value, which the usual `if interrupt(...)` takes for a yes.
// Neither is ever sent.
//
// RAW events show the tasks of the graph (trail.go). They show whether a resumed run goes on or
// began anew. They also show whether several calls may get the answer to one question; only denials
// are then handed on.
//
// The dialect does not act on what a stream cannot show:
//
//   - Without RAW events, an answer to a thread that the backend has lost may look like an ordinary
//     run from the beginning.
//   - A static breakpoint looks like the end of a run.
//   - Adapters that report the first question only do not send the second of two parallel ones.
//
// If a node fails at an answer, the answer stays in the checkpoint for good, and every later answer
// meets the same error. So payloads and decisions are judged before anything is sent.
//
// RAN in a comment says that it was seen on a running backend.
package langgraph

import (
	"encoding/json"
	"iter"
	"sync"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/langgraphapi"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// Name of the dialect.
const Name = "langgraph"

// Options of the dialect, HOLDPOINT_LANGGRAPH_*.
type Options struct {
	// Cancel is what the graph gets for a cancelled answer. LangGraph has no cancel, and no value
	// means no to every graph. An object is true to `if interrupt(...)`, even {"approved":false}.
	// null and false have no keys, so a graph that reads one fails. false runs nothing in either
	// kind of graph. An object with the key __agui_cancelled__ is the adapter's own sentinel. It
	// gets the interrupt_id, for graphs that look for it. Reviews of tool calls have their own
	// decision for a cancel.
	Cancel kit.JSON `shared:"cancel" means:"no or null"`
}

// warning returns what an operator should know of the options, "" for nothing.
func (o Options) warning() string {
	if len(o.Cancel) == 0 || langgraphapi.Falsy(json.RawMessage(o.Cancel)) {
		return ""
	}
	return logCancelLikeYes
}

// A Dialect implements translate.Dialect.
type Dialect struct {
	cancel json.RawMessage
	warn   translate.Warn
	blind  sync.Once
}

// New makes the dialect. Without Cancel it is false. warn may be nil. It is told once if questions
// come and nobody can tell which call gets the answer.
func New(o Options, warn translate.Warn) (*Dialect, error) {
	if warn == nil {
		warn = func(string, ...any) {}
	}
	if text := o.warning(); text != "" {
		warn(text, "variable", "HOLDPOINT_CANCEL")
	}
	if len(o.Cancel) == 0 {
		o.Cancel = kit.JSON("false")
	}
	return &Dialect{cancel: json.RawMessage(o.Cancel), warn: warn}, nil
}

var _ translate.Describer = (*Dialect)(nil)

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

// Replies implements translate.HistoryReader. No message answers a question of this dialect. But
// another backend could take one for a decision.
func (*Dialect) Replies(in agui.RunInput, spoken string) iter.Seq[translate.Reply] {
	return microsoft.Strays(in, spoken == Name)
}

// AnswerIn implements translate.HistoryReader.
func (*Dialect) AnswerIn(agui.Message, translate.Reply, agui.Interrupt) (agui.Answer, bool) {
	return agui.Answer{}, false
}

// Sign implements translate.Signer. It signs a CUSTOM on_interrupt with a string value, unless that
// is Mastra's. It signs an outcome with metadata.langgraph, which every version of the adapters
// sets (READ interrupts.py of 0.0.43 and 0.0.47, RAN on both in TypeScript), or with a reason of
// LangGraph's. The form of an id proves nothing: other backends have ids of 32 hex digits too, and
// the id map would be no answer to them.
func (*Dialect) Sign(ev agui.Event, _ *translate.Request) bool {
	switch ev.Type {
	case agui.Custom:
		return kit.Announced(ev) == kit.LangGraph
	case agui.RunFinished:
		for i := range kit.Interrupts(ev) {
			if i.Get("metadata.langgraph").IsObject() || i.Get("reason").Str == langgraphapi.ReasonDefault {
				return true
			}
		}
	}
	return false
}

// Begin implements translate.Dialect.
func (d *Dialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	if r.Pause.ID == "" {
		return plainOut(r.Input.Raw), d.plainRun(r), nil
	}
	out, answered, err := d.resume(r)
	if err != nil {
		return translate.Out{}, nil, err
	}
	return out, &run{d: d, r: r, answered: answered, before: keptOf(r.Pause)}, nil
}

// Early implements translate.Early. A pause is announced at the end of its run. The events that
// show where it was asked come before.
func (d *Dialect) Early(r *translate.Request) translate.Run { return d.plainRun(r) }

func (d *Dialect) plainRun(r *translate.Request) *run {
	return &run{d: d, r: r.Plain()}
}

// plainOut returns an ordinary run as it came, without what an older adapter may fail at (pydantic
// models that forbid extra keys).
func plainOut(raw []byte) translate.Out {
	body := agui.DeleteKey(agui.DeleteKey(raw, "protocolVersion"), "resume")
	if len(body) == len(raw) {
		return translate.Out{}
	}
	return translate.Out{Body: body}
}

// Answers implements translate.Dialect.
func (*Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	return langgraphapi.Answers(in, p)
}
