// Package tell makes the events that show a client a question, the end of its run, a refusal, or an
// end that is sent again. It returns the events, and the values for the log. It uses neither the
// store nor a clock, and sends nothing. The function NeededSnapshots returns which snapshots it
// needs from the store.
package tell

import (
	"encoding/json"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
	"holdpoint/translate"
)

// A Stream is the stream of the client, as far as it was sent.
type Stream interface {
	// KnowsOpen reports whether it is known which messages, calls and steps in the stream are not
	// closed.
	KnowsOpen() bool
	// ClosingEvents returns the events that close these messages, calls and steps. failed means that
	// the run has failed.
	ClosingEvents(failed bool) []agui.Event
}

// A Listener is the client of a run, with the facts about this run that package tell needs.
type Listener struct {
	client.Listener
	Calls  *client.KnownCalls // the calls that the client has
	Stream Stream             // nil if no stream has begun
	// Answers means that the request answers a question, or that its thread has an open question.
	Answers bool
	// NotTaken is why the answers that the client sent with its message do not count, nil if they
	// count.
	NotTaken *client.Refusal
	// HiddenSnapshots says which snapshots the client must not get.
	HiddenSnapshots client.HiddenSnapshots
	// ClientLeft means that the client has closed its side of the connection.
	ClientLeft bool
}

// A Reply has the events for the client, and the values for the log line of the run.
type Reply struct {
	Events           []agui.Event
	Outcome          string            // outcome of the run for the log; "" if it is not known yet
	Code             agui.Code         // code of the RUN_ERROR, "" if there is no RUN_ERROR
	Paused           *agui.Pause       // the pause whose questions the client gets, nil if it gets none
	OmittedSnapshots []client.Omission // snapshots that are not sent
}

// A SavedPause is what the record has after an outcome was saved. It also has the other events that
// are sent at the end of the run.
type SavedPause struct {
	settle.SavedOutcome
	// Refused is why the question, or the end of the run, was not saved; nil if it was saved.
	Refused *agui.RunError
	// OpenPause is the pause that is open now, if it is not the question of this run. Either another
	// run has asked a question, or the pause that this run had claimed became open again.
	OpenPause *agui.Pause
	// Subagents are the SUBAGENT_FINISHED events that were held back. Own are the results of calls
	// that Holdpoint made itself, because the backend sent no result.
	Subagents, OwnResults []agui.Event
}

// Aftermath returns what became of the answers of a run that ended without a question.
func (k *SavedPause) Aftermath(o *settle.Outcome) Aftermath {
	switch {
	case k.Refused != nil:
		return MayHaveRun
	case k.Reopened:
		return NothingDone
	}
	return aftermathOf(o.End.EndKind)
}

// EndOf returns the events that show the outcome of a run to the client. It is called after the
// outcome was saved.
func EndOf(l *Listener, o *settle.Outcome, k *SavedPause) Reply {
	switch {
	case o.Ask == nil && o.Refused == nil:
		return tellEnd(l, o, k)
	case k.Refused != nil:
		said := Reply{Outcome: "error", Code: k.Refused.Code}
		said.Events = l.fail(append(k.Subagents, o.HeldEvents...), k.Refused.Event(), k.OpenPause, AnswersDelivered)
		return said
	}
	return tellQuestion(l, o, k)
}

// tellQuestion returns the events that show the questions of a run. If several answers need one
// exchange each and an exchange fails, the questions are those that are still open. They are then
// sent with the reason, and a late RUN_ERROR follows them.
func tellQuestion(l *Listener, o *settle.Outcome, k *SavedPause) Reply {
	said := Reply{Outcome: "interrupt", Paused: k.Pause}
	q := client.Question{Pause: k.Pause, MoreEvents: o.HeldEvents, NotTaken: len(o.Extra) > 0}
	if !o.Announced {
		q.Announced = l.Announcement(k.Pause)
	}
	if unclosed := l.Stream.ClosingEvents(false); l.showsNativeForm() {
		// such a client gets these events only if the question is shown as a text
		q.ClosingEvents = unclosed
	} else {
		q.MoreEvents = append(q.MoreEvents, unclosed...)
	}
	q.MoreEvents = append(q.MoreEvents, k.OwnResults...)
	if !l.showsNativeForm() {
		q.MoreEvents, said.OmittedSnapshots = client.AppendSnapshots(q.MoreEvents, &o.ShownSnapshots, l.HiddenSnapshots, q.NotTaken)
	}
	q.MoreEvents = append(q.MoreEvents, k.Subagents...)
	said.Events = l.Question(q)
	last := &said.Events[len(said.Events)-1]
	*last = l.withNotTaken(*last)
	if o.Failure == nil || last.Type != agui.RunFinished {
		return said
	}
	said.Code = agui.Code(o.Failure.Event.Get("code").Str)
	if !l.showsNativeForm() {
		why := RefusalOf(o.Failure.Event, aftermathOf(o.Failure.How))
		*last = l.WithRefusal(client.ExplainedQuestions(*last, why), why)
	}
	if l.TakesErrorAfterQuestions(true) {
		said.Events = append(said.Events, o.Failure.Event)
	}
	return said
}

// tellEnd returns the events about the end of a run that asks no question.
func tellEnd(l *Listener, o *settle.Outcome, k *SavedPause) Reply {
	finish, said := o.Finish, Reply{Outcome: "finished"}
	if k.Refused != nil {
		finish = k.Refused.Event()
	}
	switch {
	case l.ClientLeft:
		said.Outcome = "client left"
	case finish.Type == agui.RunErrored:
		said.Outcome, said.Code = "error", agui.Code(finish.Get("code").Str)
	}
	events := append(k.Subagents, o.HeldEvents...)
	if k.OpenPause == nil {
		events = append(events, k.OwnResults...)
	}
	if finish.Type == agui.RunErrored {
		said.Events = l.fail(events, finish, k.OpenPause, k.Aftermath(o))
	} else {
		said.Events = append(events, l.withNotTaken(finish))
	}
	return said
}

// BrokenEnd returns events followed by the end of a stream that has no outcome, because Holdpoint
// has failed or the backend is silent. open is the open pause, nil if no pause is open.
func BrokenEnd(l *Listener, events []agui.Event, failed agui.Event, open *agui.Pause, aftermath Aftermath) []agui.Event {
	return l.fail(events, failed, open, aftermath)
}

// Snapshots are the stored snapshots of a pause, as far as the client may get them. List has the
// stored messages, completed by the messages of the request. It is nil if it would lack a message
// of the request. Kept has the messages as they are stored.
type Snapshots struct {
	List        []json.RawMessage
	Kept, State json.RawMessage
}

// NamedSnapshots has snapshots, each under its Ref.
type NamedSnapshots map[settle.Ref]*Snapshots

// NeededSnapshots returns the Refs of the snapshots that QuestionAgain, ReplayedEnd and Refused
// need for the ruling v.
func NeededSnapshots(l *Listener, rec *store.Record, v *contract.Ruling) []settle.Ref {
	var list []settle.Ref
	want := func(ref settle.Ref) {
		if ref.Bytes > 0 && !slices.Contains(list, ref) {
			list = append(list, ref)
		}
	}
	latest := func() {
		if len(rec.Results) > 0 && l.hasMissed(rec.Results[0]) {
			want(settle.EndedRef(rec.Results[0]))
		}
	}
	switch open := OpenPause(rec); {
	case v.Do == contract.TellAgain, v.Do == contract.Replay && tellsOpen(open, v.Replay):
		if !l.showsNativeForm() && l.BringsOneOf(rec.Pause.SeenMessages) {
			want(settle.AskedRef(rec.Pause))
		}
	case v.Do == contract.Replay:
		if l.LacksEnd(v.Replay) || v.Replay.Next == "" && l.showsEnd(v.Replay.Pause) && l.BringsOneOf(v.Replay.SeenMessages) {
			want(settle.EndedRef(v.Replay))
		}
		if v.Replay.Next != "" {
			latest()
		}
	case v.Do == contract.Refuse && l.Answers && !(v.AsksAgain && open != nil):
		latest()
	}
	return list
}

// tellsOpen reports whether a replay sends the open question instead of the recorded end in result.
func tellsOpen(open *agui.Pause, result *store.Result) bool {
	return open != nil && agui.PeekType(result.Finish) != agui.RunErrored
}

// QuestionAgain returns the events that show the open questions again. The request has no new
// input: it comes from a page that was reloaded, or is the same POST again.
func QuestionAgain(l *Listener, rec *store.Record, snapshots NamedSnapshots) Reply {
	p := rec.Pause
	var shown []agui.Event
	if !l.showsNativeForm() { // such a client gets again only the backend's own events
		shown = l.storedSnapshots(snapshots, settle.AskedRef(p), p.SeenMessages)
	}
	events := append([]agui.Event{l.Start()}, l.CallsAgain(p, l.Calls)...)
	events = append(events, l.Question(client.Question{Pause: l.WithRetoldIDs(p), Announced: l.Announcement(p), MoreEvents: shown})...)
	return Reply{Events: events, Outcome: "interrupt again", Paused: p}
}

// NothingToAnswer returns the events of a run that has nothing to do, because no question is open
// and there is no new message: RUN_STARTED and RUN_FINISHED.
func NothingToAnswer(l *Listener) Reply {
	return Reply{Events: []agui.Event{l.Start(), l.withNotTaken(l.Finish())}, Outcome: "nothing to answer"}
}

// ReplayedEnd returns the recorded end of a pause to a request that repeats the pause's answers. If
// the thread now has another open question, ReplayedEnd sends that question instead, because
// otherwise the client would not get it.
func ReplayedEnd(l *Listener, rec *store.Record, result *store.Result, snapshots NamedSnapshots) Reply {
	open := OpenPause(rec)
	if tellsOpen(open, result) {
		return QuestionAgain(l, rec, snapshots)
	}
	said := Reply{Outcome: "replay", Events: append([]agui.Event{l.Start()}, l.endAgain(snapshots, result)...)}
	if result.Next != "" {
		said.Events = append(append(said.Events, l.showLatest(snapshots, rec)...), l.Finish())
		return said
	}
	// a client of another kind may have got it first
	finish := l.ForClient(l.WithIDs(agui.NewEvent(slices.Clone(result.Finish))))
	if l.showsEnd(result.Pause) {
		said.Events = append(said.Events, l.storedSnapshots(snapshots, settle.EndedRef(result), result.SeenMessages)...)
	}
	if finish.Type != agui.RunErrored {
		said.Events = append(said.Events, finish)
	} else {
		said.Events = l.fail(said.Events, finish, open, aftermathOf(result.EndKind))
	}
	return said
}

// Refused returns the events that refuse a request. runError is the error, and why is the reason
// for the person. If asksAgain is set, the open questions are sent again. If no question is sent,
// and the client does not know yet how the latest pause ended, it gets the snapshots of that end.
func Refused(l *Listener, rec *store.Record, runError *agui.RunError, why *client.Refusal, asksAgain bool, snapshots NamedSnapshots) Reply {
	said := Reply{Outcome: "refused", Code: runError.Code, Events: []agui.Event{l.Start()}}
	var open *agui.Pause
	if asksAgain {
		open = OpenPause(rec)
	}
	if open == nil && l.Answers {
		said.Events = append(said.Events, l.showLatest(snapshots, rec)...)
	}
	said.Events = l.failWith(said.Events, runError.Event(), open, why)
	return said
}

// OpenPause returns the pause of the record if one of its questions waits for an answer, else nil.
func OpenPause(rec *store.Record) *agui.Pause {
	if p := rec.Pause; rec.State == store.Open && !p.Decided() {
		return p
	}
	return nil
}

// showsNativeForm reports whether the client gets questions in the backend's own form.
func (l *Listener) showsNativeForm() bool { return l.Show == translate.ShowNative }
