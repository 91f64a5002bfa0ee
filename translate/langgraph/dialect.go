// Package langgraph translates the AG-UI adapters of LangGraph: ag-ui-langgraph for Python and
// @ag-ui/langgraph for TypeScript. It supports every version since June 2025, also with
// CopilotKit's layers on top of it.
//
// The adapters announce a pause by CUSTOM on_interrupt events. From 0.0.43 on they also send the
// interrupt outcome if they are configured to, and accept the array `resume`. Earlier versions
// accept the answer only in forwardedProps.command.resume. Later versions still accept it there,
// with a warning in their log.
//
// If only one question is open, and the stream shows an adapter that accepts the array, the answer
// is sent in the array (entry.go). In all other cases the answers are sent in command.resume. In
// both, the value is LangGraph's own id map, {"<native id>": value}. LangGraph gives a value of the
// map only to the question with that id, even if another run of the thread, or a client without
// Holdpoint, has raised another question since. If the stream shows no id, the answer is sent
// without one, and LangGraph gives it to whichever question is open. If another run raised a
// question since, the dialect then sends only denials (kit.RefuseContested).
//
// Every adapter passes the map on unchanged, and every value keeps its type. If the array has
// several entries, an adapter turns them into an object that LangGraph does not understand (ag-ui
// issue 2178). If an entry is cancelled, an adapter turns it into an object, which the usual `if
// interrupt(...)` reads as a yes. So the dialect never sends several entries, and never a cancelled
// one.
//
// RAW events show the tasks of the graph (tasktrace.go). They show whether a resumed run continues
// or started again. They also show whether several calls may get the answer to one question. In
// that case the dialect sends only denials.
//
// Some facts are not in the stream, so the dialect cannot act on them:
//
//   - Without RAW events, an answer to a thread that the backend has lost may look like an
//     ordinary run from the beginning.
//   - A static breakpoint looks like the end of a run.
//   - Adapters that report only the first question do not send the second of two parallel ones.
//
// If a node fails while it handles an answer, the answer stays in the checkpoint, and every later
// answer meets the same error. So the dialect checks payloads and decisions before it sends
// anything.
//
// RAN in a comment means that the behaviour was seen on a running backend, READ that it was read in
// the source.
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

// Name is the dialect's name in HOLDPOINT_DIALECT.
const Name = "langgraph"

// Options are the settings of the dialect, HOLDPOINT_LANGGRAPH_*.
type Options struct {
	// Cancel is the value that the graph gets for a cancelled answer. LangGraph has no cancel, and
	// no single value means no to every graph. A graph with `if interrupt(...)` reads every object
	// as a yes, even {"approved":false}. A graph that reads a key of the answer fails if the answer
	// is null or false. With false, neither kind of graph runs the action. If the value is an
	// object with the key __agui_cancelled__ (the adapter's own object for a cancel), the dialect
	// adds the interrupt_id, for graphs that read it. Reviews of tool calls have their own decision
	// for a cancel and do not use this value.
	Cancel kit.JSON `shared:"cancel" means:"no or null"`
}

// warning returns the log line for an option that can turn a cancel into a yes, or "".
func (o Options) warning() string {
	if len(o.Cancel) == 0 || langgraphapi.Falsy(json.RawMessage(o.Cancel)) {
		return ""
	}
	return logCancelLikeYes
}

// A Dialect implements translate.Dialect.
type Dialect struct {
	cancel    json.RawMessage
	warn      translate.Warn
	warnBlind sync.Once
}

// New returns the dialect. If o.Cancel is empty, the graph gets false for a cancelled answer. warn
// may be nil. New calls warn if o.Cancel can be read as a yes. A run calls it, once per dialect, if
// the backend asks while several calls wait and the stream does not show which call gets the
// answer.
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

// Replies implements translate.HistoryReader. No message answers a question of this dialect.
// Replies yields only messages that another backend could read as a decision.
func (*Dialect) Replies(in agui.RunInput, detectedDialect string) iter.Seq[translate.Reply] {
	return microsoft.NativeApprovals(in, detectedDialect == Name)
}

// AnswerIn implements translate.HistoryReader.
func (*Dialect) AnswerIn(agui.Message, translate.Reply, agui.Interrupt) (agui.Answer, bool) {
	return agui.Answer{}, false
}

// Sign implements translate.Signer. A CUSTOM on_interrupt event with a string value is from
// LangGraph, unless the value has Mastra's form. An outcome is from LangGraph if one of its
// interrupts has metadata.langgraph, which every version of the adapters sets (READ interrupts.py
// of 0.0.43 and 0.0.47, RAN on both in TypeScript), or a reason that only LangGraph uses. The form
// of an id proves nothing, because other backends also have ids of 32 hex digits, and would not
// understand the id map.
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
	return out, &run{d: d, r: r, answered: answered, previousPause: keptOf(r.Pause)}, nil
}

// Early implements translate.EarlyReader. The backend announces a pause only at the end of the run,
// after the events that show the task of the question.
func (d *Dialect) Early(r *translate.Request) translate.Run { return d.plainRun(r) }

func (d *Dialect) plainRun(r *translate.Request) *run {
	return &run{d: d, r: r.Plain()}
}

// plainOut returns the body of an ordinary run without protocolVersion and resume, because an older
// adapter may fail if they are present (its pydantic models forbid extra keys). It returns a zero
// Out if the body has neither.
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
