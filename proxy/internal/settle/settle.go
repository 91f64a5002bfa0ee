// Package settle says what becomes of a run whose exchange with the backend has ended: another
// exchange, a question, or an end. It gets what is known of the run as values and returns an
// Outcome. It saves nothing, tells nobody, and asks neither a clock nor the store.
package settle

import (
	"encoding/json"
	"slices"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/client"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
	"holdpoint/translate/yesno"
)

// An End is how an exchange came to its end, by whatever way.
type End struct {
	translate.End
	Broken *agui.RunError // what to tell if the backend gave no end of its own; nil: UPSTREAM_EOF
	// Inner is what another Holdpoint before the backend has said of the answers, and Known reports
	// that it has said so. Errored reports that its RUN_ERROR does not say what became of them.
	Inner          translate.Fate
	Known, Errored bool
	TurnedDown     bool // its HTTP status means that the backend did not take the answers at all
}

// A Transcript is what is known of the stream of a run, as Facts need it.
type Transcript interface {
	Messages() ([]json.RawMessage, bool)
	State() (json.RawMessage, bool)
	Sent() (state, anyState, messages bool)
	Seen() []agui.SeenMessage
	AskedCall(id string) (agui.AskedCall, bool)
	KnowsOpen() bool
}

// Facts are what is known of a run when its exchange has ended. What they point to is only read.
type Facts struct {
	Input          *agui.RunInput // as it went to the dialect
	ClientMessages []agui.Message // all that the client sent
	Record         *store.Record  // as it was judged
	Answers        []agui.Answer  // that the request brings

	Claimed  bool // the run has taken the pause of the record for its answers
	Evidence Evidence
	Resumes  bool // the exchange carries answers; a later run of the same stream has none
	// Calls are the calls of the stream, without what the dialect has held back until the end.
	Calls []agui.Call

	Dialect    string // what the exchange's backend speaks
	Listener   client.Listener
	Transcript Transcript
	// Whole is what would be known of the stream if the backend had got each call of the client's
	// history; nil if it has. It counts if the backend has refused the run.
	Whole   Transcript
	Extra   []agui.Message // messages that the backend has not taken
	ByArray bool           // the answers came in a resume array
	Unseen  bool           // nobody reads what is told

	Describer translate.Describer // nil: it has nothing to say of its questions
	YesNo     yesno.Rules
	// EarlierReplies returns the replies to a pause's questions that were there before it asked.
	EarlierReplies func(*agui.Pause) ([]agui.EarlierReply, error)

	PauseID      string // 128 random bits
	NewOnly      bool   // the client was seen to send new messages only, see agui.Pause.NewOnly
	From         uint64 // the client's address, as a hash; 0 if addresses have no shares
	Origin       *agui.Origin
	Continuation *agui.Continuation // what the pause keeps to go on without the client; nil: nothing
	NewID        func() string
	Now          time.Time
	Limits       Limits
}

// Limits bound a pause.
type Limits struct {
	FrameBytes   int           // of one frame of the backend's stream
	InterruptTTL time.Duration // given to questions without an end; 0: none
}

// An Outcome is what became of a run. Next excludes the rest. Ask excludes Finish and Refusal.
type Outcome struct {
	Next   *translate.Exchange // to be sent
	Before []agui.Event        // what the dialect has held back

	// Ask is the question that the run ends with, and Shown what is known of the conversation then.
	// Announced reports that the stream has shown the backend's own announcement already.
	Ask       *agui.Pause
	Shown     client.Snapshots
	Announced bool
	// Failure is why an exchange has failed behind others, nil if none has: the questions are those
	// that are open still.
	Failure *Failure
	Refused *agui.RunError // why what the run asks cannot be told
	// Extra are the messages that the backend has not taken. Whole reports that Facts.Whole is what
	// is known of the stream.
	Extra []agui.Message
	Whole bool

	Finish agui.Event   // the end of a run that does not ask
	End    store.Result // what the record keeps of it
	Back   bool         // a claimed pause is to be open again, in place of that end
	// Speaks reports that the stream has shown what its path speaks, and Backend which backend it is,
	// in a word of the dialect's; "" if it has not. Refuses reports that it has shown so by a question
	// that nobody is asked, so no pause says it in the record.
	Speaks, Refuses bool
	Backend         string
	// Handled reports that the dialect has something to say of this end. An answer that is an HTTP
	// error goes to the client as it is otherwise.
	Handled bool
	// RepliesErr is why it is not known which replies were there before the question, nil if it is.
	RepliesErr error
}

// A Failure is the RUN_ERROR of an exchange that has failed behind others, and what became of its
// answer: "" if it was handed on.
type Failure struct {
	Event agui.Event
	How   store.How
}

// Settle returns what becomes of the run. res is what its dialect has made of the end. failed is
// what the client is told if the dialect has failed at it, nil if it has not.
func Settle(f *Facts, res *translate.Result, e *End, failed *agui.RunError) Outcome {
	if e.Inner != translate.Finished && failed == nil && res.Fate == translate.Finished {
		if res.Fate = e.Inner; len(res.Asked.Interrupts) == 0 {
			res.Finish = e.Event
		}
	}
	o, became, errored := Outcome{Extra: f.Extra}, fateOf(res, e), e.Errored
	if f.leavesDoubt(res, e, became) {
		if became, errored = translate.InDoubt, true; res.Finish.Type == agui.Unknown {
			res.Finish = e.Event
		}
	}
	if failed != nil {
		*res, e.Broken, e.Event = translate.Result{}, failed, agui.Event{}
		if became == translate.Finished {
			became = Failed
		}
	}
	o.Before = res.Before
	switch {
	case res.Next != nil && f.Evidence.Exchanges < MaxExchanges:
		o.Next = res.Next
		return o
	case res.Next != nil:
		e.Event, *res = agui.Event{}, translate.Result{Before: res.Before}
		e.Broken = agui.Errorf(agui.UpstreamStatus, textTooManyExchanges, f.Evidence.Exchanges)
	}
	if len(res.Asked.Interrupts) > 0 {
		o.ask(f, res, e)
	} else {
		o.end(f, res, e, became)
		o.Handled = o.Handled || failed != nil
	}
	o.keep(f, errored)
	return o
}

// end makes the outcome the end of a run that does not ask.
func (o *Outcome) end(f *Facts, res *translate.Result, e *End, became translate.Fate) {
	o.Handled = res.Fate == translate.Lost || res.Fate == translate.InDoubt || res.Finish.Type != agui.Unknown
	o.Speaks, o.Refuses, o.Backend = res.Spoke != "" || res.Backend != "", res.Spoke != "", res.Backend
	o.Finish, o.End.How = f.terminal(res, e, became)
	o.Finish = f.Listener.ForClient(f.Listener.WithIDs(o.Finish))
	if f.Claimed {
		o.End.Finish = slices.Clone(o.Finish.JSON)
		o.Back = GivesBack(f.Evidence, &o.End, became)
	}
}

// ask makes the outcome a question, if that can be told.
func (o *Outcome) ask(f *Facts, res *translate.Result, e *End) {
	o.Handled, o.End.How = true, store.Finished
	if len(res.Untaken) > 0 {
		o.Extra = res.Untaken
	}
	if o.Refused = f.tooMuch(res); o.Refused != nil {
		o.End.Finish = o.Refused.Event().JSON
		return
	}
	o.Ask, o.RepliesErr = f.pause(res)
	o.Announced, o.Whole = res.Asked.Shown, f.Whole != nil && kit.CancelsOnly(*o.Ask)
	o.Shown = snapshots(f.knownSnapshots(o), f.Input, o.Extra)
	f.fill(o.Ask, o)
	o.End.Finish = o.Ask.Finish
	if res.Failed {
		o.Failure = f.failure(res, e)
	}
}

// knownSnapshots returns what is known of the stream by now.
func (f *Facts) knownSnapshots(o *Outcome) Transcript {
	if o.Whole {
		return f.Whole
	}
	return f.Transcript
}

// keep adds to the end of a claim what the client knows by now.
func (o *Outcome) keep(f *Facts, errored bool) {
	if !f.Claimed || o.Back {
		return
	}
	o.End.ByArray, o.End.Unseen = f.ByArray, f.Unseen
	if o.End.How != store.Doubtful || errored {
		if o.Ask == nil {
			o.Shown = snapshots(f.Transcript, f.Input, o.Extra)
		}
		o.End.Messages, o.End.State = o.Shown.Messages, o.Shown.State
	}
	o.End.Seen = seen(f.knownSnapshots(o), f.ClientMessages, o.Extra)
}

// Doubt returns what the record keeps of a claim whose run nobody knows the end of.
func (f *Facts) Doubt() store.Result {
	o := Outcome{Extra: f.Extra, End: store.Result{How: store.Doubtful}}
	o.keep(f, false)
	return o.End
}

// fateOf returns what the end of an exchange says of the answers.
func fateOf(res *translate.Result, end *End) translate.Fate {
	if res.Fate == translate.Finished && end.TurnedDown {
		return translate.Untouched
	}
	return res.Fate
}

// terminal returns the terminal event of a run that does not ask, and how the record is to hold it.
func (f *Facts) terminal(res *translate.Result, e *End, became translate.Fate) (agui.Event, store.How) {
	finish := res.Finish
	if finish.Type == agui.Unknown {
		finish = e.Event
	}
	switch {
	case became == translate.Lost:
		return agui.Errorf(agui.BackendLostInterrupt, textLost).Event(), store.Lost
	case became == translate.InDoubt && res.Finish.Type == agui.RunErrored:
		return finish, store.Doubtful
	case became == translate.InDoubt:
		return agui.Errorf(agui.ResumeInDoubt, textInDoubt).Event(), store.Doubtful
	case finish.Type != agui.Unknown:
		return finish, store.Finished
	}
	broken := e.Broken
	if broken == nil {
		broken = agui.Errorf(agui.UpstreamEOF, textNoTerminal)
	}
	if !f.Resumes {
		return broken.Event(), store.Finished
	}
	if f.Evidence.Sent() {
		told := *broken
		told.Message += textMayHaveRun
		broken = &told
	}
	return broken.Event(), store.Doubtful
}

// failure is why an exchange has failed behind others.
func (f *Facts) failure(res *translate.Result, e *End) *Failure {
	if e.Refused && e.Broken != nil {
		return &Failure{Event: e.Broken.Event()} // the answers before this one were handed on
	}
	finish, how := f.terminal(&translate.Result{Fate: res.Fate}, e, res.Fate)
	return &Failure{f.Listener.WithIDs(finish), how}
}
