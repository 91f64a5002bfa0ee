// Package phrases turns a question that a backend asks only in words into a confirmation. The run
// of such a backend ends as if it was complete, and its last text contains a phrase such as "shall
// I proceed". The client gets an interrupt, and its answer is sent to the backend as a user
// message.
//
// The dialect is for AG-UI backends that cannot pause. It is off unless its phrases are configured,
// because it guesses. The dialect auto tries it after all others. The default phrases are those of
// superagent. A phrase is found anywhere in the text, in upper or lower case.
//
// The dialect makes two kinds of mistakes:
//
//   - It takes ordinary chat for a question. "Here is the plan. Do you want me to explain step 2?"
//     becomes a question with two buttons, and the thread accepts no other message until the
//     question is answered or cancelled. A text that quotes a phrase, or contains "no confirmation
//     required", also becomes a question. A list of the backend's own sentences works better than
//     the default list.
//   - It misses a question in other words, in another language, or in a run with an open tool call.
//     It also misses a question in a conversation that is over HOLDPOINT_TRANSCRIPT_BYTES. Such a
//     question stays ordinary chat.
//
// If a person types "yes" while the question is open, Holdpoint refuses the message like any other
// new input (PENDING_INTERRUPTS). The dialect does not read typed words as an approval. Only
// resume, which the client's button sends, answers the question.
//
// The backend's model decides what happens after the answer. It reads the text that a person would
// have typed. The answer is a part of the conversation, and not a decision on one action. If a
// backend can really wait for an answer, it should do so instead.
//
// In the messages for the backend, the answer directly follows the question. A MESSAGES_SNAPSHOT at
// the start of the resumed run adds it to the client's history too, so that later runs have it. The
// answer must be the last message that the backend reads. Otherwise a "yes" that was typed,
// refused, and sent again together with a denial would be the last message. So other new messages
// are sent in a second exchange, after the backend has replied to the answer. A client appends the
// answer after such messages, and in later runs the dialect moves it back behind its question (see
// order).
//
// A backend without a memory of its own acts on the history. So the dialect removes an approval
// from the history if its run failed or is in doubt, and refuses a run whose last message is an
// approval. If the dialect auto uses it, it does this, and moves answers, only on routes where it
// has asked.
package phrases

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// Name is the dialect's name in HOLDPOINT_DIALECT.
const Name = "phrases"

var (
	_ translate.Signer        = (*Dialect)(nil)
	_ translate.HistoryReader = (*Dialect)(nil)
)

// A Dialect implements translate.Dialect.
type Dialect struct {
	phrases List
	yes, no string
}

// New returns the dialect, or an error if an option is wrong.
func New(o Options, _ translate.Warn) (*Dialect, error) {
	if err := errors.Join(o.Check()...); err != nil {
		return nil, fmt.Errorf("phrases: %w", err)
	}
	o = o.withDefaults()
	return &Dialect{phrases: o.Ask, yes: string(o.Yes), no: string(o.No)}, nil
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Sign implements translate.Signer. It claims the end of a complete run if the last text asks. End
// checks whether the text belongs to this run.
func (d *Dialect) Sign(ev agui.Event, r *translate.Request) bool {
	return ev.Type == agui.RunFinished && plainEnd(ev) && d.lastText(r.Transcript) != nil
}

// Replies implements translate.HistoryReader. No message answers a question of this dialect.
// Replies yields only messages that another backend could read as a decision.
func (*Dialect) Replies(in agui.RunInput, detectedDialect string) iter.Seq[translate.Reply] {
	return microsoft.NativeApprovals(in, detectedDialect == Name)
}

// AnswerIn implements translate.HistoryReader.
func (*Dialect) AnswerIn(agui.Message, translate.Reply, agui.Interrupt) (agui.Answer, bool) {
	return agui.Answer{}, false
}

// Begin implements translate.Dialect.
func (d *Dialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	if r.Pause.ID == "" {
		if d.endsInYes(r.Input.Messages) {
			return translate.Out{}, nil, agui.Errorf(agui.UnknownInterruptID, textNotOpen)
		}
		if list, changed := d.history(r.Input.Messages, r.EndedPauses); changed {
			return translate.Out{Body: agui.SetKey(r.Input.Raw, "messages", agui.MessageList(list))}, d.plainRun(r), nil
		}
		return translate.Out{}, d.plainRun(r), nil
	}
	if r.Pause.Dialect != Name || len(r.Answers) != 1 || len(r.Pause.Interrupts) != 1 {
		return translate.Out{}, nil, kit.Unreadable()
	}
	if err := kit.RefuseContested(r.Pause, r.Answers...); err != nil {
		return translate.Out{}, nil, err
	}
	answer, err := d.message(r.Answers[0])
	if err != nil {
		return translate.Out{}, nil, err
	}
	results, err := kit.ClientResults(r, kit.ClientCalls(r), false)
	if err != nil {
		return translate.Out{}, nil, err
	}
	// before has only the new tool results, unless the history is sent.
	before := kit.WithoutMessages(r.NewMessages, kit.NewWithoutResults(r, results))
	if !r.Sessions {
		before, _ = kit.MessagesBefore(r)
		before, _ = d.history(kit.WithResults(r, before, results), r.EndedPauses)
	}
	r = r.With(r.Input, kit.NewWithoutResults(r, results))
	out := translate.Out{Resumes: true, TakesNew: !slices.ContainsFunc(r.NewMessages, isSpoken)}
	if out.TakesNew {
		before = append(slices.Clone(before), r.NewMessages...)
	} else if len(results) > 0 {
		out.TakesNew, out.UnsentMessages = true, r.NewMessages
	}
	out.Body = kit.WithoutAnswers(r.Input, withAnswer(before, answer))
	return out, &run{d: d, r: r, answer: &answer}, nil
}

func (d *Dialect) plainRun(r *translate.Request) translate.Run { return &run{d: d, r: r} }
