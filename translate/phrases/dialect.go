// Package phrases makes a confirmation of a question that a backend asks only in words: its run
// ends as if it was complete, and the last text contains a phrase such as "shall I proceed". The
// answer is sent as a user message.
//
// It is for AG-UI backends that cannot pause. It is off unless its phrases are configured, because
// it guesses. auto asks it last. The default phrases are superagent's. They are found anywhere in
// the text, in any case.
//
// It makes two kinds of mistakes:
//
//   - "Do you want me to" is ordinary chat. "Here is the plan. Do you want me to explain step 2?"
//     becomes a question with two buttons. Until it is answered or cancelled, nothing else can be
//     said in the thread. So does a text that quotes a phrase, or contains "no confirmation
//     required". A list of the backend's own sentences works better than the default list.
//   - A question in other words, in another language, or in a run with an open tool call stays
//     ordinary chat. So does a question in a conversation that is over HOLDPOINT_TRANSCRIPT_BYTES.
//
// If a person types "yes" while the question is open, that is new input and is refused like any
// other new input (PENDING_INTERRUPTS). The dialect does not read words as an approval. Only
// resume, the button, answers the question.
//
// What happens after the answer depends on the backend's model, which reads the text that a person
// would have typed. The answer is a part of the conversation, and not a decision on one action. A
// backend that can really wait should do so.
//
// The answer follows the question in the messages for the backend, and by a MESSAGES_SNAPSHOT at
// the start of the resumed run also in the client's history, so that later runs have it too. It is
// the last message that the backend reads. A "yes" that was typed, refused, and sent again with a
// denial must not be the last one. So other new messages are sent in a second exchange, after the
// backend has replied to the answer. A client appends the answer after such messages; the dialect
// moves it to its place for the backend (see order).
//
// A backend without a memory only has the history. So the dialect removes an approval whose run
// failed or is in doubt from the history, and refuses a run whose last message is an approval.
// Under auto it does this, and moves answers, only on routes where it has asked.
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

// Name is the name of the dialect.
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

// New makes the dialect.
func New(o Options, _ translate.Warn) (*Dialect, error) {
	if err := errors.Join(o.Check()...); err != nil {
		return nil, fmt.Errorf("phrases: %w", err)
	}
	o = o.withDefaults()
	return &Dialect{phrases: o.Ask, yes: string(o.Yes), no: string(o.No)}, nil
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Sign implements translate.Signer. It claims a plain end after a text that asks. End checks
// whether the text belongs to this run.
func (d *Dialect) Sign(ev agui.Event, r *translate.Request) bool {
	return ev.Type == agui.RunFinished && plainEnd(ev) && d.lastText(r.Transcript) != nil
}

// Replies implements translate.HistoryReader. No message answers a question of this dialect. It
// returns messages that another backend could read as a decision.
func (*Dialect) Replies(in agui.RunInput, spoken string) iter.Seq[translate.Reply] {
	return microsoft.NativeApprovals(in, spoken == Name)
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
	before := kit.WithoutMessages(r.NewMessages, kit.NewWithoutResults(r, results)) // the new results
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
