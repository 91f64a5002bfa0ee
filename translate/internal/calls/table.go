// Package calls is the engine of the dialects whose backends ask by a tool call without a result,
// and take a tool message on that call for the answer. Such a dialect is a Table: which calls ask
// and for what kind of answer, how an answer of each kind is said and read, how the answers travel,
// and what an error and a result prove. What only one backend does is the dialect's own code around
// the Run.
package calls

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A Table says how the backends of one dialect ask and are answered.
type Table struct {
	Dialect string
	Backend string // its name in texts for people

	// Ask returns what a call without a result asks, and false if it asks nothing. The engine does
	// not call it for tools that the request declares: those calls are the client's own.
	Ask func(c agui.Call, r *translate.Request) (Question, bool)
	// Kinds are the kinds of questions.
	Kinds []*Kind

	Resume Place
	// DenialError is the member error of a tool message that denies. "" leaves the member out.
	DenialError string
	// Skip reports whether nothing is sent for an answer. nil: each answer is sent.
	Skip func(p agui.Pause, k *Kind, a agui.Answer) bool
	// Refuse returns an error if an answer that does not deny must not be sent. nil: each may.
	Refuse func(r *translate.Request, i agui.Interrupt) error
	// cleaned returns the input without what an earlier pause has left in it, and history the
	// messages that precede the answers; see Plain.
	cleaned func(r *translate.Request) agui.RunInput
	history func(r *translate.Request, calls map[string]bool) []agui.Message
	// Errors are what the backend's errors say of the answers, if nothing ran before.
	Errors []Error
	// Ends reports of an end that is not a PlainEnd that its run may have asked by a call all the
	// same.
	Ends func(ev agui.Event) bool
	// Wrap returns the dialect's own run around a Run. nil: the Run is all.
	Wrap func(Run) translate.Run

	// The history of a request, see Replies.

	// Own is the beginning of the names of the backend's own tools, "" for none. No other backend
	// has such a tool, so their calls ask even if nobody knows what the backend speaks.
	Own     string
	OwnRare byte // a letter that Own has once, and other texts seldom; 0: each text is searched whole
	// Owner returns how a call of the tool asks. The engine does not call it for tools that the
	// request declares. known reports that the backend speaks the dialect. nil: as Ask says of a
	// call of the tool without arguments.
	Owner func(tool string, known bool) Owner
	// Reads reports whether the backend may read a decision in a tool message, whatever its call.
	// nil: if a kind's Words have to do with it.
	Reads func(m *ToolMessage) bool
	// Judge changes what Replies says of a message on one call. nil: the backend looks for answers
	// in the last messages.
	Judge func(one *translate.Reply, m *ToolMessage)
}

// A Place is where the answers travel in the messages of a resume.
type Place int

const (
	// Alone: the answers are all messages, and the results of the client's own calls follow them.
	Alone Place = iota
	// WithCalls: as Alone, and a message with the calls that ask precedes them.
	WithCalls
	// Last: behind the history and the results of the client's own calls. See Plain.
	Last
)

// An Error is an error of the backend that tells what became of the answers. Each field that is set
// has to fit.
type Error struct {
	Code, Prefix, Part, Suffix string
	Fate                       translate.Fate
}

// fate returns what an error says of the answers. It is Finished if the table does not know it.
func (t *Table) fate(ev agui.Event) translate.Fate {
	text, code := ev.Get("message").Str, ev.Get("code").Str
	for _, e := range t.Errors {
		if (e.Code == "" || e.Code == code) && strings.HasPrefix(text, e.Prefix) && strings.Contains(text, e.Part) && strings.HasSuffix(text, e.Suffix) {
			return e.Fate
		}
	}
	return translate.Finished
}

func (t *Table) kind(name string) *Kind {
	for _, k := range t.Kinds {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// PlainEnd reports whether a terminal event is a RUN_FINISHED without an interrupt outcome.
func PlainEnd(ev agui.Event) bool {
	if ev.Type != agui.RunFinished || !ev.Valid() {
		return false
	}
	outcome := agui.View(ev.JSON).Get("outcome")
	return !outcome.Exists() || outcome.Get("type").Str == "success"
}

// Answers reads the entries of resume and command.resume, in the words of the questions. Tool
// messages answer too; see Replies.
func (t *Table) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	list, err := kit.Answers(in, p)
	for n := range list {
		if i := p.Interrupt(list[n].ID); i != nil {
			if k, _ := t.keptOf(*i); k != nil {
				list[n] = k.heard(list[n])
			}
		}
	}
	return list, err
}

// AnswerIn implements translate.HistoryReader.
func (t *Table) AnswerIn(m agui.Message, reply translate.Reply, i agui.Interrupt) (agui.Answer, bool) {
	a, _, ok := t.Answer(m, i)
	return a, ok && !reply.Past
}

// Decides implements translate.DecisionReader.
func (t *Table) Decides(m agui.Message, last bool, _ string) bool {
	object := gjson.ParseBytes(m.JSON)
	return t.reads(&ToolMessage{Object: object, Contents: kit.Members(object, "content"), Last: last})
}

// Harmless implements translate.DecisionReader.
func (*Table) Harmless(m agui.Message) agui.Message { return kit.Listed(m) }

// ReadsDecisions implements translate.DecisionReader.
func (t *Table) ReadsDecisions(spoken string) bool { return spoken == "" || spoken == t.Dialect }

// reads calls Reads. Without it a content decides if a kind reads a decision in it, or if it has
// the member that decides, in any spelling and whatever else is in it.
func (t *Table) reads(m *ToolMessage) bool {
	if t.Reads != nil {
		return t.Reads(m)
	}
	return slices.ContainsFunc(m.Contents, func(content gjson.Result) bool {
		return slices.ContainsFunc(t.Kinds, func(k *Kind) bool {
			if k.Words == nil {
				return false
			}
			_, ok := k.Read(content.String())
			return ok || len(kit.Members(kit.ParseText(content), k.Words.Key)) > 0
		})
	})
}
