// Package settle decides what follows when an exchange of a run with the backend has ended: another
// exchange, a question to the client, or the end of the run. Its input is the Facts about the run,
// and its result is an Outcome. It saves nothing, sends nothing, and uses neither a clock nor the
// store.
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
	// The error for the client if the backend sent no terminal event. If it is nil, the error is
	// UPSTREAM_EOF.
	Broken *agui.RunError
	// Inner is set if the backend is another Holdpoint, or has another Holdpoint in front of it: it
	// is the fate of the answers as that Holdpoint reports it. Known means that there is such a
	// report. Errored means that the RUN_ERROR of that Holdpoint does not state the fate.
	Inner          translate.Fate
	Known, Errored bool
	TurnedDown     bool // the HTTP status means that the backend did not accept the answers at all
}

// A Transcript has the messages, the state and the calls of a run's stream.
type Transcript interface {
	Messages() ([]json.RawMessage, bool)
	State() (json.RawMessage, bool)
	SnapshotsSent() (state, anyState, messages bool)
	SeenMessages() []agui.SeenMessage
	AskedCall(id string) (agui.AskedCall, bool)
	KnowsOpen() bool
}

// Facts are what is known about a run when one of its exchanges has ended. Everything that they
// point to is read-only.
type Facts struct {
	Input          *agui.RunInput // the input that the dialect got
	ClientMessages []agui.Message // the messages that the client sent
	Record         *store.Record  // the record that the run was judged against
	Answers        []agui.Answer  // the answers of the request

	Claimed  bool // the run has claimed the pause of the record
	Evidence Evidence
	// this run of the stream carries answers; false for a later run of the same stream
	Resumes bool
	// Calls are the calls in the stream. Calls that the dialect holds back until the end are not
	// included.
	Calls []agui.Call

	Dialect    string // the dialect of the backend
	Listener   client.Listener
	Transcript Transcript
	// WholeTranscript is the transcript as it would be if Holdpoint had not removed calls from the
	// client's history. It is nil if Holdpoint has removed no call. It is used if the backend refused
	// the run.
	WholeTranscript Transcript
	Extra           []agui.Message // messages that the backend has not received
	ByArray         bool           // the answers were in the array resume of the request
	WithoutClient   bool           // no client reads the stream

	Describer translate.Describer // nil if the dialect does not implement it
	YesNo     yesno.Rules
	// EarlierReplies returns those replies to the questions of the pause that the messages
	// contained before the run asked. There are such replies if the agent uses the id of a call
	// again.
	EarlierReplies func(*agui.Pause) ([]agui.EarlierReply, error)

	PauseID     string // 128 random bits
	NewOnly     bool   // the client was seen to send only new messages, see agui.Pause.NewOnly
	AddressHash uint64 // hash of the client's address; 0 if addresses have no shares of the store
	Origin      *agui.Origin
	// saved with the pause, to continue without the client; nil if nothing is needed
	Continuation *agui.Continuation
	NewID        func() string
	Now          time.Time
	Limits       Limits
}

// Limits are the limits that apply to a pause.
type Limits struct {
	FrameBytes int // largest frame of the backend's stream
	// added to a question that has no expiry of its own; 0: such a question never expires
	InterruptTTL time.Duration
}

// An Outcome is the result of Settle. If Next is set, only HeldEvents is set as well. If Ask is
// set, Finish and Refused are not set.
type Outcome struct {
	Next       *translate.Exchange // the next exchange to send
	HeldEvents []agui.Event        // events that the dialect held back, to be sent now

	// Ask is the pause with which the run ends, and ShownSnapshots the conversation at that point.
	// Announced means that the stream already contains the backend's own announcement of the pause.
	Ask            *agui.Pause
	ShownSnapshots client.Snapshots
	Announced      bool
	// Failure is set if an exchange failed after earlier exchanges of the same run. Then the
	// questions of Ask are those that are still open.
	Failure *Failure
	Refused *agui.RunError // why the questions of the run cannot be sent to the client
	// Extra are the messages that the backend has not received. Whole means that Facts.WholeTranscript
	// is to be used instead of Facts.Transcript.
	Extra []agui.Message
	Whole bool

	Finish       agui.Event   // the terminal event of a run that does not ask a question
	End          store.Result // the result that the record keeps for the claimed pause
	ReopensPause bool         // the claimed pause becomes open again; End is not used then
	// ShowsDialect means that the stream has shown which dialect the backend uses. Backend is the kind
	// of backend within the dialect, "" if the stream has not shown it. Refuses means that the dialect
	// was shown by a question that Holdpoint refused, so that no pause in the record names the
	// dialect.
	ShowsDialect, Refuses bool
	Backend               string
	// Handled means that the dialect handled the end of this exchange. If it did not, a response
	// with an HTTP error is passed to the client unchanged.
	Handled bool
	// RepliesErr is why the earlier replies are not known, nil if they are known.
	RepliesErr error
}

// A Failure is the RUN_ERROR of an exchange that failed after earlier exchanges of the same run.
// How says what became of the answer that the exchange carried. It is "" if the backend did not
// accept the request of the exchange.
type Failure struct {
	Event agui.Event
	How   store.EndKind
}

// Settle returns the outcome of the run. res is what the dialect made of the end e of the exchange.
// failed is the error for the client if the dialect failed, else nil. Settle may change res and e.
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
	o.HeldEvents = res.HeldEvents
	switch {
	case res.Next != nil && f.Evidence.Exchanges < MaxExchanges:
		o.Next = res.Next
		return o
	case res.Next != nil:
		e.Event, *res = agui.Event{}, translate.Result{HeldEvents: res.HeldEvents}
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

// end sets the outcome of a run that does not ask a question.
func (o *Outcome) end(f *Facts, res *translate.Result, e *End, fate translate.Fate) {
	o.Handled = res.Fate == translate.Lost || res.Fate == translate.InDoubt || res.Finish.Type != agui.Unknown
	o.ShowsDialect, o.Refuses, o.Backend = res.DetectedDialect != "" || res.Backend != "", res.DetectedDialect != "", res.Backend
	o.Finish, o.End.EndKind = f.terminal(res, e, fate)
	o.Finish = f.Listener.ForClient(f.Listener.WithIDs(o.Finish))
	if f.Claimed {
		o.End.Finish = slices.Clone(o.Finish.JSON)
		o.ReopensPause = GivesBack(f.Evidence, &o.End, fate)
	}
}

// ask sets the outcome of a run that asks questions. If the questions cannot be sent to the client,
// it sets only Refused and End.
func (o *Outcome) ask(f *Facts, res *translate.Result, e *End) {
	o.Handled, o.End.EndKind = true, store.Finished
	if len(res.UnacceptedMessages) > 0 {
		o.Extra = res.UnacceptedMessages
	}
	if o.Refused = f.tooMuch(res); o.Refused != nil {
		o.End.Finish = o.Refused.Event().JSON
		return
	}
	o.Ask, o.RepliesErr = f.pause(res)
	o.Announced, o.Whole = res.Asked.NativeShown, f.WholeTranscript != nil && kit.CancelsOnly(*o.Ask)
	o.ShownSnapshots = snapshots(f.knownSnapshots(o), f.Input, o.Extra)
	f.fill(o.Ask, o)
	o.End.Finish = o.Ask.Finish
	if res.Failed {
		o.Failure = f.failure(res, e)
	}
}

// knownSnapshots returns the transcript that the outcome uses: Whole or Transcript.
func (f *Facts) knownSnapshots(o *Outcome) Transcript {
	if o.Whole {
		return f.WholeTranscript
	}
	return f.Transcript
}

// keep adds the messages and the state that the client has to the result of the claimed pause.
// hasError means that a RUN_ERROR of the backend reported that it is in doubt.
func (o *Outcome) keep(f *Facts, hasError bool) {
	if !f.Claimed || o.ReopensPause {
		return
	}
	o.End.ByArray, o.End.EndUnseen = f.ByArray, f.WithoutClient
	if o.End.EndKind != store.Doubtful || hasError {
		if o.Ask == nil {
			o.ShownSnapshots = snapshots(f.Transcript, f.Input, o.Extra)
		}
		o.End.Messages, o.End.State = o.ShownSnapshots.Messages, o.ShownSnapshots.State
	}
	o.End.SeenMessages = seenMessages(f.knownSnapshots(o), f.ClientMessages, o.Extra)
}

// Doubt returns the result of a claimed pause that is in doubt.
func (f *Facts) Doubt() store.Result {
	o := Outcome{Extra: f.Extra, End: store.Result{EndKind: store.Doubtful}}
	o.keep(f, false)
	return o.End
}

// fateOf returns what became of the answers. The HTTP status of the exchange may show that the
// backend did not accept them.
func fateOf(res *translate.Result, end *End) translate.Fate {
	if res.Fate == translate.Finished && end.TurnedDown {
		return translate.Untouched
	}
	return res.Fate
}

// terminal returns the terminal event of a run that does not ask a question, and how the run ended,
// as the record keeps it.
func (f *Facts) terminal(res *translate.Result, e *End, fate translate.Fate) (agui.Event, store.EndKind) {
	finish := res.Finish
	if finish.Type == agui.Unknown {
		finish = e.Event
	}
	switch {
	case fate == translate.Lost:
		return agui.Errorf(agui.BackendLostInterrupt, textLost).Event(), store.Lost
	case fate == translate.InDoubt && res.Finish.Type == agui.RunErrored:
		return finish, store.Doubtful
	case fate == translate.InDoubt:
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
	if f.Evidence.MayHaveSent() {
		told := *broken
		told.Message += textMayHaveRun
		broken = &told
	}
	return broken.Event(), store.Doubtful
}

// failure returns the Failure of an exchange that failed after earlier exchanges of the same run.
func (f *Facts) failure(res *translate.Result, e *End) *Failure {
	if e.Refused && e.Broken != nil {
		return &Failure{Event: e.Broken.Event()} // only answers of earlier exchanges were sent
	}
	finish, how := f.terminal(&translate.Result{Fate: res.Fate}, e, res.Fate)
	return &Failure{f.Listener.WithIDs(finish), how}
}
