// Package phrases makes a confirmation of a question that a backend asks in words alone: its run
// ends as if all was well, and the last text holds a phrase such as "shall I proceed". The answer
// goes back as a user message.
//
// It is for AG-UI backends of any kind that have no way to pause. It is off unless its phrases are
// set, because it guesses. auto asks it last. The default phrases are superagent's. They are found
// anywhere in the text, in any case.
//
// It makes two mistakes:
//
//   - "Do you want me to" is ordinary chat. "Here is the plan. Do you want me to explain step 2?"
//     becomes a question with two buttons. Until it is answered or cancelled, nothing else can be
//     said on the thread. So does a text that quotes a phrase, or says "no confirmation required".
//     A list of the backend's own sentences is better than the default one.
//   - A question in other words, in another language, or in a text beside an open tool call stays
//     ordinary chat. So does one in a conversation that is over HOLDPOINT_TRANSCRIPT_BYTES.
//
// If a person types "yes" while the question is open, that is new input and refused
// (PENDING_INTERRUPTS) like any other. The dialect takes no words for an approval. The button,
// resume, is the answer.
//
// What the backend makes of the answer is up to its model. The model is told what a person would
// have typed. That is the answer in a conversation, not a decision that is bound to an action. A
// backend that can really wait should do so.
//
// The message stands behind the question: in what the backend gets, and in the client's history, by
// a MESSAGES_SNAPSHOT at the start of the resumed run, so that later runs have it too. It is the
// last thing that the backend reads. A "yes" that was typed, refused, and comes beside a no must
// not be the last. What a person says beside the answer goes in a second exchange, when the backend
// has replied to the answer. A client adds the answer behind such messages; the dialect puts it
// back in place for the backend (see order).
//
// A backend without a memory goes by the history alone. So the dialect takes a yes whose run failed
// or is in doubt out of what the backend gets, and refuses a run whose last message is a yes. Under
// auto it does this, and puts answers in place, on routes that were seen to ask in this way.
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

// Name of the dialect.
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

// Sign implements translate.Signer. It signs a plain end behind a text that asks. End finds out
// whether the text is this run's.
func (d *Dialect) Sign(ev agui.Event, r *translate.Request) bool {
	return ev.Type == agui.RunFinished && plainEnd(ev) && d.lastText(r.Transcript) != nil
}

// Replies implements translate.HistoryReader. No message answers a question of this dialect. But
// another backend could take one for a decision.
func (*Dialect) Replies(in agui.RunInput, spoken string) iter.Seq[translate.Reply] {
	return microsoft.Strays(in, spoken == Name)
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
		if list, changed := d.history(r.Input.Messages, r.Ended); changed {
			return translate.Out{Body: agui.SetKey(r.Input.Raw, "messages", agui.MessageList(list))}, d.plainRun(r), nil
		}
		return translate.Out{}, d.plainRun(r), nil
	}
	if r.Pause.Dialect != Name || len(r.Answers) != 1 || len(r.Pause.Interrupts) != 1 {
		return translate.Out{}, nil, kit.Unreadable()
	}
	if err := kit.Unsure(r.Pause, r.Answers...); err != nil {
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
	before := kit.WithoutMessages(r.New, kit.BesideResults(r, results)) // the new results
	if !r.Sessions {
		before, _ = kit.MessagesBefore(r)
		before, _ = d.history(kit.WithResults(r, before, results), r.Ended)
	}
	r = r.With(r.Input, kit.BesideResults(r, results))
	out := translate.Out{Resumes: true, TakesNew: !slices.ContainsFunc(r.New, isSpoken)}
	if out.TakesNew {
		before = append(slices.Clone(before), r.New...)
	} else if len(results) > 0 {
		out.TakesNew, out.Left = true, r.New
	}
	out.Body = kit.Unanswered(r.Input, withAnswer(before, answer))
	return out, &run{d: d, r: r, answer: &answer}, nil
}

func (d *Dialect) plainRun(r *translate.Request) translate.Run { return &run{d: d, r: r} }
