// Package calls is the engine of the dialects whose backends ask by a tool call without a result
// and read a tool message for that call as the answer. Such a dialect is a Table. It defines which
// calls ask and for which kind of answer, how answers of each kind are written and read, how they
// are sent, and what errors and results prove. Code for a single backend belongs to its dialect, in
// a run around the Run.
package calls

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A Table defines how the backends of one dialect ask and are answered. Dialect, Backend, Ask and
// Kinds are required.
type Table struct {
	Dialect string // the name of the dialect
	Backend string // the backend's name in texts for people

	// Ask returns the question of a call without a result, or false if the call does not ask. It is
	// not called for tools that the request declares, because these calls belong to the client.
	Ask func(c agui.Call, r *translate.Request) (Question, bool)
	// Kinds are the kinds of the questions that Ask returns.
	Kinds []*Kind

	// Resume is where the backend looks for the answers.
	Resume Place
	// DenialError is the value of the member "error" in a tool message that denies, or "" for no
	// such member.
	DenialError string
	// Skip reports whether an answer is not sent, such as a cancel without a content for the backend.
	// If it is nil, each answer is sent.
	Skip func(p agui.Pause, k *Kind, a agui.Answer) bool
	// Refuse returns an error if an answer that does not deny must not be sent. If it is nil, each
	// answer may be sent.
	Refuse func(r *translate.Request, i agui.Interrupt) error
	// withoutOldCalls returns the input without the calls that earlier pauses have left, and history
	// the messages that precede the answers; see Plain.
	withoutOldCalls func(r *translate.Request) agui.RunInput
	history         func(r *translate.Request, calls map[string]bool) []agui.Message
	// Errors are the backend's errors that tell the fate of the answers, if nothing ran before. The
	// first that matches counts. After any other error the answers count as used.
	Errors []Error
	// Ends reports whether a run may have asked by a call although its end is not a PlainEnd.
	Ends func(ev agui.Event) bool
	// Wrap returns the dialect's own run around a Run. It may be nil.
	Wrap func(Run) translate.Run

	// The following fields are for the history of a request, see Replies.

	// Own is the prefix of the names of the backend's own tools, or "". No other backend has such a
	// tool, so their calls ask even if the backend's dialect is unknown.
	Own     string
	OwnRare byte // a letter that occurs once in Own and rarely in texts, or 0 to search each text completely
	// Owner returns the owner of a call of the tool. It is not called for tools that the request
	// declares. known reports that the backend speaks the dialect. If Owner is nil, Ask is called for
	// the tool without arguments.
	Owner func(tool string, known bool) Owner
	// Reads reports whether the backend would read a decision in a tool message, whatever call it is
	// for. Proxy refuses or changes such a message if no question is on record. So Reads must return
	// true for every spelling that the backend accepts, and false for the result of an ordinary tool,
	// or the backend never gets that result. If it is nil, the Words of the kinds are used, and a
	// Value or Content decides nothing.
	Reads func(m *ToolMessage) bool
	// Judge changes a reply for a message on one call. If it is nil, the backend looks for answers in
	// the last messages.
	Judge func(one *translate.Reply, m *ToolMessage)
}

// A Place is where the answers are in the messages of a resume.
type Place int

const (
	// Alone: the messages are only the answers, followed by the results of the client's own calls.
	Alone Place = iota
	// WithCalls: as Alone, after a message with the calls that ask.
	WithCalls
	// Last: after the history and the results of the client's own calls. See Plain.
	Last
)

// An Error is an error of the backend that tells the fate of the answers. Code is the code of the
// RUN_ERROR. Prefix, Part and Suffix are parts of its message. Each field that is set must match.
type Error struct {
	Code, Prefix, Part, Suffix string
	Fate                       translate.Fate
}

// fate returns the fate of the answers after an error. It is Finished if the table does not have
// the error.
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

// Answers implements translate.Dialect. It reads the entries of resume and command.resume, and
// converts them to the words of the questions. Tool messages are answers too; see Replies.
func (t *Table) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	list, err := kit.Answers(in, p)
	for n := range list {
		if i := p.Interrupt(list[n].ID); i != nil {
			if k, _ := t.keptOf(*i); k != nil {
				list[n] = k.normalize(list[n])
			}
		}
	}
	return list, err
}

// AnswerIn implements translate.HistoryReader.
func (t *Table) AnswerIn(m agui.Message, reply translate.Reply, i agui.Interrupt) (agui.Answer, bool) {
	a, _, ok := t.Answer(m, i)
	return a, ok && !reply.TooLate
}

// Decides implements translate.DecisionReader.
func (t *Table) Decides(m agui.Message, last bool, _ string) bool {
	object := gjson.ParseBytes(m.JSON)
	return t.reads(&ToolMessage{Object: object, Contents: kit.Members(object, "content"), Last: last})
}

// Harmless implements translate.DecisionReader.
func (*Table) Harmless(m agui.Message) agui.Message { return kit.AsList(m) }

// ReadsDecisions implements translate.DecisionReader.
func (t *Table) ReadsDecisions(spoken string) bool { return spoken == "" || spoken == t.Dialect }

// reads calls Reads. If Reads is nil, a content decides if a kind reads a decision in it, or if it
// has the member that decides, in any spelling.
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
