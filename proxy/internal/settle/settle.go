// Package settle decides the outcome of a run whose exchange with the backend has ended: another
// exchange, a question, or the end of the run. Its input is the Facts about the run, and its result
// an Outcome. It saves nothing, sends nothing, and uses neither a clock nor the store.
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

// An End says how an exchange ended.
type End struct {
	translate.End
	Broken *agui.RunError // the error for the client if the backend sent no terminal event; nil: UPSTREAM_EOF
	// Inner is the outcome of the answers as reported by another Holdpoint in front of the backend;
	// Known reports that there is such a report. Errored reports that the RUN_ERROR of that
	// Holdpoint does not state the outcome.
	Inner          translate.Fate
	Known, Errored bool
	TurnedDown     bool // the HTTP status means that the backend did not accept the answers at all
}

// A Transcript has the messages, the state and the calls of a run's stream.
type Transcript interface {
	Messages() ([]json.RawMessage, bool)
	State() (json.RawMessage, bool)
	Sent() (state, anyState, messages bool)
	Seen() []agui.SeenMessage
	AskedCall(id string) (agui.AskedCall, bool)
	KnowsOpen() bool
}

// Facts are the facts about a run when its exchange has ended. Everything that they point to is
// read-only.
type Facts struct {
	Input          *agui.RunInput // as the dialect got it
	ClientMessages []agui.Message // the messages that the client sent
	Record         *store.Record  // the record that the run was judged against
	Answers        []agui.Answer  // the answers of the request

	Claimed  bool // the run has claimed the pause of the record
	Evidence Evidence
	Resumes  bool // the exchange carries answers; false for a later run of the same stream
	// Calls are the calls of the stream, without those that the dialect held back until the end.
	Calls []agui.Call

	Dialect    string // the dialect of the backend
	Listener   client.Listener
	Transcript Transcript
	// Whole is the transcript as it would be if no call had been removed from the client's history;
	// nil if none was. It is used if the backend refused the run.
	Whole   Transcript
	Extra   []agui.Message // messages that the backend has not received
	ByArray bool           // the answers were in a resume array
	Unseen  bool           // no client reads the stream

	Describer translate.Describer // nil if the dialect does not implement it
	YesNo     yesno.Rules
	// EarlierReplies returns the replies to a pause's questions that the messages have before it
	// asks.
	EarlierReplies func(*agui.Pause) ([]agui.EarlierReply, error)

	PauseID      string // 128 random bits
	NewOnly      bool   // the client was seen to send new messages only, see agui.Pause.NewOnly
	From         uint64 // hash of the client's address; 0 if addresses have no shares
	Origin       *agui.Origin
	Continuation *agui.Continuation // what the pause keeps for continuing without the client; nil if nothing
	NewID        func() string
	Now          time.Time
	Limits       Limits
}

// Limits are the limits that apply to a pause.
type Limits struct {
	FrameBytes   int           // largest frame of the backend's stream
	InterruptTTL time.Duration // time until questions expire that have no expiry; 0: never
}

// An Outcome is the result of Settle. If Next is set, only Before is set too. If Ask is set, Finish
// and Refused are not.
type Outcome struct {
	Next   *translate.Exchange // the next exchange to send
	Before []agui.Event        // events that the dialect held back

	// Ask is the pause that the run ends with, and Shown the conversation at that point. Announced
	// reports that the stream already has the backend's own announcement.
	Ask       *agui.Pause
	Shown     client.Snapshots
	Announced bool
	// Failure is set if an exchange failed after earlier ones of the run: the questions are those
	// that are still open.
	Failure *Failure
	Refused *agui.RunError // why the questions of the run cannot be sent to the client
	// Extra are the messages that the backend has not received. Whole reports that Facts.Whole is
	// the transcript to use.
	Extra []agui.Message
	Whole bool

	Finish agui.Event   // the terminal event of a run that does not ask
	End    store.Result // what the record keeps of that end
	Back   bool         // the claimed pause becomes open again, and End is not used
	// Speaks reports that the stream has shown the dialect of its path, and Backend which backend
	// of the dialect it is, "" if it has not. Refuses reports that this was shown by a question
	// that was refused, so that no pause in the record has the dialect.
	Speaks, Refuses bool
	Backend         string
	// Handled reports that the dialect handled this end. Otherwise a response with an HTTP error is
	// passed to the client unchanged.
	Handled bool
	// RepliesErr is why the earlier replies are not known, nil if they are.
	RepliesErr error
}

// A Failure is the RUN_ERROR of an exchange that failed after earlier ones of the run, and the
// outcome of its answer: "" if it was sent.
type Failure struct {
	Event agui.Event
	How   store.How
}

// Settle returns the outcome of the run. res is the dialect's result for the end e. failed is the
// error for the client if the dialect failed, else nil. Settle may change res and e.
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

// end sets the outcome of a run that does not ask.
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

// ask sets the outcome of a run that asks. If its questions cannot be sent to the client, Refused
// is set.
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

// knownSnapshots returns the transcript that applies to the outcome.
func (f *Facts) knownSnapshots(o *Outcome) Transcript {
	if o.Whole {
		return f.Whole
	}
	return f.Transcript
}

// keep adds the messages and the state that the client has to the end of a claim.
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

// Doubt returns the result of a claim whose outcome is not known.
func (f *Facts) Doubt() store.Result {
	o := Outcome{Extra: f.Extra, End: store.Result{How: store.Doubtful}}
	o.keep(f, false)
	return o.End
}

// fateOf returns the outcome of the answers according to the end of the exchange.
func fateOf(res *translate.Result, end *End) translate.Fate {
	if res.Fate == translate.Finished && end.TurnedDown {
		return translate.Untouched
	}
	return res.Fate
}

// terminal returns the terminal event of a run that does not ask, and how the record describes the
// end.
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

// failure returns the Failure of an exchange that failed after earlier ones of the run.
func (f *Facts) failure(res *translate.Result, e *End) *Failure {
	if e.Refused && e.Broken != nil {
		return &Failure{Event: e.Broken.Event()} // the answers of earlier exchanges were sent
	}
	finish, how := f.terminal(&translate.Result{Fate: res.Fate}, e, res.Fate)
	return &Failure{f.Listener.WithIDs(finish), how}
}
