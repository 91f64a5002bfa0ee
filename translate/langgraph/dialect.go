// Package langgraph translates the AG-UI adapters of LangGraph: ag-ui-langgraph for Python and
// @ag-ui/langgraph for TypeScript, every version from 2025-06 on, with CopilotKit's layers on top
// of them.
//
// They announce a pause by CUSTOM on_interrupt events. From 0.0.43 on they also send the interrupt
// outcome if they are configured to, and accept the array `resume`. Earlier versions accept the
// answer only in forwardedProps.command.resume. Later ones still accept it there, with a warning in
// their log.
//
// The answer to a single question is sent in the array, if the stream shows an adapter that accepts
// it (entry.go). All other answers are sent in command.resume. Both have the form of LangGraph's
// own id map, {"<native id>": value}. LangGraph gives a value of the map only to the question with
// that id, even if another run of the thread, or a client without Holdpoint, has raised another
// question since. Where the stream shows no id, the answer is sent without one, and LangGraph gives
// it to whichever question is open. If another run raised a question since, only denials are then
// sent (kit.RefuseContested).
//
// Every adapter passes the map on unchanged, and every value keeps its type. From several entries
// of the array an adapter makes an object that LangGraph does not understand (ag-ui issue 2178).
// From a cancelled entry it makes an object, which the usual `if interrupt(...)` reads as a yes.
// The dialect never sends either.
//
// RAW events show the tasks of the graph (tasktrace.go). They show whether a resumed run continues
// or started again. They also show whether several calls may get the answer to one question. Then
// only denials are sent.
//
// Some facts are not in the stream, so the dialect cannot act on them:
//
//   - Without RAW events, an answer to a thread that the backend has lost may look like an
//     ordinary run from the beginning.
//   - A static breakpoint looks like the end of a run.
//   - Adapters that report only the first question do not send the second of two parallel ones.
//
// If a node fails at an answer, the answer stays in the checkpoint for good, and every later answer
// meets the same error. So the dialect checks payloads and decisions before it sends anything.
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

// Name of the dialect.
const Name = "langgraph"

// Options of the dialect, HOLDPOINT_LANGGRAPH_*.
type Options struct {
	// Cancel is the value that the graph gets for a cancelled answer. LangGraph has no cancel, and no
	// value means no to every graph. `if interrupt(...)` reads every object as true, even
	// {"approved":false}. A graph that reads a key fails at null and false. false runs nothing in
	// either kind of graph. An object with the key __agui_cancelled__ is the adapter's own object for
	// a cancel. The dialect adds the interrupt_id to it, for graphs that read it. Reviews of tool
	// calls have a decision of their own for a cancel.
	Cancel kit.JSON `shared:"cancel" means:"no or null"`
}

// warning returns the log line for risky options, or "".
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

// New returns the dialect. If o.Cancel is empty, a cancel is false. warn may be nil. It is called
// once if a backend asks in a way that does not show which call gets the answer.
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

// Replies implements translate.HistoryReader. No message answers a question of this dialect. It
// yields messages that another backend could read as a decision.
func (*Dialect) Replies(in agui.RunInput, spoken string) iter.Seq[translate.Reply] {
	return microsoft.NativeApprovals(in, spoken == Name)
}

// AnswerIn implements translate.HistoryReader.
func (*Dialect) AnswerIn(agui.Message, translate.Reply, agui.Interrupt) (agui.Answer, bool) {
	return agui.Answer{}, false
}

// Sign implements translate.Signer. A CUSTOM on_interrupt with a string value is LangGraph's,
// unless the value is Mastra's. An outcome is LangGraph's if it has metadata.langgraph, which every
// version of the adapters sets (READ interrupts.py of 0.0.43 and 0.0.47, RAN on both in
// TypeScript), or a reason of LangGraph. The form of an id proves nothing, because other backends
// have ids of 32 hex digits too, and would not understand the id map.
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

// Early implements translate.EarlyReader. A pause is announced only at the end of its run, and the
// events that show the task of its question precede the announcement.
func (d *Dialect) Early(r *translate.Request) translate.Run { return d.plainRun(r) }

func (d *Dialect) plainRun(r *translate.Request) *run {
	return &run{d: d, r: r.Plain()}
}

// plainOut returns an ordinary run without the members at which an older adapter may fail (pydantic
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
