// Package calls is the engine of dialects whose backends ask by a tool call without a result, and
// read a tool message for that call as the answer. Such a dialect is a Table. The Table defines
// which calls ask, and for which kind of answer. It defines how answers of each kind are written
// and read, and how they are sent. It also defines what the backend's errors and results prove.
// Code for a single backend belongs to its dialect, in a run that wraps Run.
package calls

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A Table defines how the backends of one dialect ask questions, and how these are answered. The
// fields Dialect, Backend, Ask and Kinds are required.
type Table struct {
	Dialect string // the name of the dialect
	Backend string // the backend's name in texts that people read

	// Ask returns the question of a call without a result. It returns false if the call does not
	// ask. It is not called for tools that the request declares, because their calls belong to the
	// client.
	Ask func(c agui.Call, r *translate.Request) (Question, bool)
	// Kinds are the kinds of the questions that Ask returns.
	Kinds []*Kind

	// Resume says where the backend looks for the answers.
	Resume Place
	// DenialError is the value of the member "error" of a tool message with a denial. If it is "",
	// the message has no such member.
	DenialError string
	// Skip reports whether an answer is left out of the request, such as a cancel that the backend
	// cannot read. If Skip is nil, every answer is sent.
	Skip func(p agui.Pause, k *Kind, a agui.Answer) bool
	// Refuse returns an error if the answer to the question i must not be sent. It is called for
	// answers that are not denials. If Refuse is nil, every answer may be sent.
	Refuse func(r *translate.Request, i agui.Interrupt) error
	// withoutOldCalls returns the input without the calls of earlier pauses that have no result.
	// history returns the messages that precede the answers. Plain sets both.
	withoutOldCalls func(r *translate.Request) agui.RunInput
	history         func(r *translate.Request, calls map[string]bool) []agui.Message
	// Errors are the backend's errors that say what became of the answers, unless the backend acted
	// before the error. The first Error that matches counts. After any other error the answers
	// count as used.
	Errors []Error
	// Ends reports whether a run may ask by a call although it does not end with a PlainEnd.
	Ends func(ev agui.Event) bool
	// Wrap returns the dialect's own run, which wraps a Run. It may be nil.
	Wrap func(Run) translate.Run

	// The following fields say how to read the history of a request, see Replies.

	// Own begins the names of the tools with which only this backend asks, or is "". No other
	// backend has such a tool. So a call of it asks a question even if the backend's dialect is
	// unknown.
	Own string
	// a letter that occurs once in Own and rarely in other texts, for a fast search; 0: none
	OwnRare byte
	// Owner returns the owner of a call of the tool. It is not called for tools that the request
	// declares. The parameter known says that the backend speaks the dialect. If Owner is nil, Ask
	// decides, with a call of the tool without arguments.
	//
	// If the owner of a call is Asks, every tool message on it counts as a decision. If it is not
	// an answer on record, the package proxy removes it together with the call. So if the backend
	// itself sends results of the calls that ask, Owner must return Others, as in translate/agno.
	// Then only a message that Reads claims is a decision.
	Owner func(tool string, known bool) Owner
	// Reads reports whether the backend would read a tool message as a decision, for any call. If
	// no question is on record, the package proxy refuses or changes such a message. So Reads must
	// return true for every spelling that the backend accepts. It must return false for the result
	// of an ordinary tool, because the backend would never get that result. If Reads is nil, a
	// message is a decision if the Words of one of the kinds read it as one. Kinds with Value or
	// Content then decide nothing.
	Reads func(m *ToolMessage) bool
	// Judge completes a reply for a message on one call. If it is nil, the backend is taken to read
	// answers only in the last messages.
	Judge func(one *translate.Reply, m *ToolMessage)
}

// A Place says where the answers are in the messages of a resume.
type Place int

const (
	// Alone means that the messages are the answers and then the results of the client's own calls,
	// and nothing else.
	Alone Place = iota
	// WithCalls means the same messages as Alone, after a message with the calls that ask.
	WithCalls
	// Last means that the answers are the last messages. They follow the history and the results of
	// the client's own calls. See Plain.
	Last
)

// An Error describes an error of the backend that says what became of the answers. Code is the code
// of the RUN_ERROR. Prefix, Part and Suffix are parts of its message. All fields that are set must
// match.
type Error struct {
	Code, Prefix, Part, Suffix string
	Fate                       translate.Fate
}

// fate returns what became of the answers if the run ended with the RUN_ERROR ev. It returns
// Finished if no Error of the table matches.
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

// PlainEnd reports whether a terminal event is a RUN_FINISHED without an outcome, or with the
// outcome success.
func PlainEnd(ev agui.Event) bool {
	if ev.Type != agui.RunFinished || !ev.Valid() {
		return false
	}
	outcome := agui.View(ev.JSON).Get("outcome")
	return !outcome.Exists() || outcome.Get("type").Str == "success"
}

// Answers implements translate.Dialect. It reads the entries of the resume array and
// command.resume, and converts each answer to the keys that its question's kind uses. Tool messages
// are answers too; see Replies.
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
func (t *Table) Decides(m agui.Message, isLast bool, _ string) bool {
	object := gjson.ParseBytes(m.JSON)
	return t.reads(&ToolMessage{Object: object, Contents: kit.Members(object, "content"), Last: isLast})
}

// Harmless implements translate.DecisionReader.
func (*Table) Harmless(m agui.Message) agui.Message { return kit.AsList(m) }

// ReadsDecisions implements translate.DecisionReader.
func (t *Table) ReadsDecisions(detectedDialect string) bool {
	return detectedDialect == "" || detectedDialect == t.Dialect
}

// reads reports whether the backend would read the tool message as a decision. It calls Reads. If
// Reads is nil, a content is a decision if one of the kinds reads it as a decision, or if it has
// the kind's member for the decision, in any spelling.
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
