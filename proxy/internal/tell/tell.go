// Package tell makes the events by which the client of a run is told of a question, an end, a
// refusal, or an end that is sent again. It returns the events, and the values for the log. It uses
// neither the store nor a clock, and sends nothing. Wants names the snapshots that it needs from
// the store.
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

// A Stream is the part of the client's stream that was sent so far.
type Stream interface {
	// KnowsOpen reports whether it is known which messages, calls and steps are open in it.
	KnowsOpen() bool
	// Unclosed returns the events that close them. failed reports that the run has failed.
	Unclosed(failed bool) []agui.Event
}

// A Listener is the client of a run, with the facts about this run that tell needs.
type Listener struct {
	client.Listener
	Calls  *client.KnownCalls // the calls that the client has
	Stream Stream             // nil if no stream was begun
	// Answers reports that the request answers a question, or that its thread waits for answers.
	Answers bool
	// NotTaken is why the answers sent with the message do not count, nil if they do.
	NotTaken *client.Refusal
	// Withheld says which snapshots the client must not get.
	Withheld client.HiddenSnapshots
	// Left reports that the client has closed its side of the connection.
	Left bool
}

// A Telling has the events for the client, and the values for the log.
type Telling struct {
	Events  []agui.Event
	Outcome string            // outcome of the run for the log; "" if it is not known yet
	Code    agui.Code         // code of its RUN_ERROR, "" if there is none
	Paused  *agui.Pause       // the pause that the client is told of, nil if there is none
	Omitted []client.Omission // snapshots that are not sent
}

// A SavedPause is what the record has after an outcome was saved, with the other events of that
// end.
type SavedPause struct {
	settle.SavedOutcome
	// Refused is why the question, or the end, was not saved; nil if it was.
	Refused *agui.RunError
	// Open is the question that is open now: another one, or that of the claim, which was given
	// back.
	Open *agui.Pause
	// Subagents are the ends of subagents that were held back, and Own the results in Holdpoint's
	// own words.
	Subagents, Own []agui.Event
}

// Aftermath returns the outcome of the answers of a run that does not ask.
func (k *SavedPause) Aftermath(o *settle.Outcome) Aftermath {
	switch {
	case k.Refused != nil:
		return MayHaveRun
	case k.Back:
		return NothingDone
	}
	return aftermathOf(o.End.How)
}

// Ended returns the events about the outcome of a run, after it was saved.
func Ended(l *Listener, o *settle.Outcome, k *SavedPause) Telling {
	switch {
	case o.Ask == nil && o.Refused == nil:
		return tellEnd(l, o, k)
	case k.Refused != nil:
		said := Telling{Outcome: "error", Code: k.Refused.Code}
		said.Events = l.fail(append(k.Subagents, o.Before...), k.Refused.Event(), k.Open, Delivered)
		return said
	}
	return tellQuestion(l, o, k)
}

// tellQuestion returns the events about a question. If its exchange failed, the questions are those
// that are still open, because several answers need an exchange each. They are then sent with the
// reason, followed by a late RUN_ERROR.
func tellQuestion(l *Listener, o *settle.Outcome, k *SavedPause) Telling {
	said := Telling{Outcome: "interrupt", Paused: k.Pause}
	q := client.Question{Pause: k.Pause, More: o.Before, NotTaken: len(o.Extra) > 0}
	if !o.Announced {
		q.Announced = l.Announcement(k.Pause)
	}
	if unclosed := l.Stream.Unclosed(false); l.showsNativeForm() {
		q.Unclosed = unclosed // for such a client nothing is added, except for a question shown as a text
	} else {
		q.More = append(q.More, unclosed...)
	}
	q.More = append(q.More, k.Own...)
	if !l.showsNativeForm() {
		q.More, said.Omitted = client.AppendSnapshots(q.More, &o.Shown, l.Withheld, q.NotTaken)
	}
	q.More = append(q.More, k.Subagents...)
	said.Events = l.Question(q)
	last := &said.Events[len(said.Events)-1]
	*last = l.withNotTaken(*last)
	if o.Failure == nil || last.Type != agui.RunFinished {
		return said
	}
	said.Code = agui.Code(o.Failure.Event.Get("code").Str)
	if !l.showsNativeForm() {
		why := RefusalOf(o.Failure.Event, aftermathOf(o.Failure.How))
		*last = l.Explained(client.ExplainedQuestions(*last, why), why)
	}
	if l.TakesErrorAfterQuestions(true) {
		said.Events = append(said.Events, o.Failure.Event)
	}
	return said
}

// tellEnd returns the events about the end of a run that does not ask.
func tellEnd(l *Listener, o *settle.Outcome, k *SavedPause) Telling {
	finish, said := o.Finish, Telling{Outcome: "finished"}
	if k.Refused != nil {
		finish = k.Refused.Event()
	}
	switch {
	case l.Left:
		said.Outcome = "client left"
	case finish.Type == agui.RunErrored:
		said.Outcome, said.Code = "error", agui.Code(finish.Get("code").Str)
	}
	events := append(k.Subagents, o.Before...)
	if k.Open == nil {
		events = append(events, k.Own...)
	}
	if finish.Type == agui.RunErrored {
		said.Events = l.fail(events, finish, k.Open, k.Aftermath(o))
	} else {
		said.Events = append(events, l.withNotTaken(finish))
	}
	return said
}

// Broken returns the events about a run that ended without an outcome: Holdpoint has failed, or the
// backend is silent. open is the open question, nil if there is none.
func Broken(l *Listener, events []agui.Event, failed agui.Event, open *agui.Pause, became Aftermath) []agui.Event {
	return l.fail(events, failed, open, became)
}

// Snapshots are the snapshots of a pause that the store keeps, as far as the client may get them.
// List are the messages, completed by those of the request; nil if a message of the request is
// missing. Kept are the messages as stored.
type Snapshots struct {
	List        []json.RawMessage
	Kept, State json.RawMessage
}

// NamedSnapshots are snapshots by their Ref.
type NamedSnapshots map[settle.Ref]*Snapshots

// Wants returns the Refs of the snapshots that Again, Replayed and Refused need for a ruling.
func Wants(l *Listener, rec *store.Record, v *contract.Ruling) []settle.Ref {
	var list []settle.Ref
	want := func(ref settle.Ref) {
		if ref.Bytes > 0 && !slices.Contains(list, ref) {
			list = append(list, ref)
		}
	}
	latest := func() {
		if len(rec.Results) > 0 && l.misses(rec.Results[0]) {
			want(settle.EndedRef(rec.Results[0]))
		}
	}
	switch open := Open(rec); {
	case v.Do == contract.TellAgain, v.Do == contract.Replay && tellsOpen(open, v.Replay):
		if !l.showsNativeForm() && l.BringsOneOf(rec.Pause.Seen) {
			want(settle.AskedRef(rec.Pause))
		}
	case v.Do == contract.Replay:
		if l.LacksEnd(v.Replay) || v.Replay.Next == "" && l.showsEnd(v.Replay.Pause) && l.BringsOneOf(v.Replay.Seen) {
			want(settle.EndedRef(v.Replay))
		}
		if v.Replay.Next != "" {
			latest()
		}
	case v.Do == contract.Refuse && l.Answers && !(v.Reask && open != nil):
		latest()
	}
	return list
}

// tellsOpen reports whether the open question is sent instead of a recorded end.
func tellsOpen(open *agui.Pause, result *store.Result) bool {
	return open != nil && agui.PeekType(result.Finish) != agui.RunErrored
}

// Again returns the events that show the open question to a request without new input, such as that
// of a reloaded page or a repeated POST.
func Again(l *Listener, rec *store.Record, kept NamedSnapshots) Telling {
	p := rec.Pause
	var shown []agui.Event
	if !l.showsNativeForm() { // such a client gets only its backend's own events again
		shown = l.storedSnapshots(kept, settle.AskedRef(p), p.Seen)
	}
	events := append([]agui.Event{l.Start()}, l.CallsAgain(p, l.Calls)...)
	events = append(events, l.Question(client.Question{Pause: l.WithRetoldIDs(p), Announced: l.Announcement(p), More: shown})...)
	return Telling{Events: events, Outcome: "interrupt again", Paused: p}
}

// Quiet returns the events that say that there is nothing to answer.
func Quiet(l *Listener) Telling {
	return Telling{Events: []agui.Event{l.Start(), l.withNotTaken(l.Finish())}, Outcome: "nothing to answer"}
}

// Replayed returns the events of the recorded end of the pause that the same answers ended. If the
// thread now has another open question, that question is sent instead, because the client would
// otherwise not learn of it.
func Replayed(l *Listener, rec *store.Record, result *store.Result, kept NamedSnapshots) Telling {
	open := Open(rec)
	if tellsOpen(open, result) {
		return Again(l, rec, kept)
	}
	said := Telling{Outcome: "replay", Events: append([]agui.Event{l.Start()}, l.endAgain(kept, result)...)}
	if result.Next != "" {
		said.Events = append(append(said.Events, l.showLatest(kept, rec)...), l.Finish())
		return said
	}
	finish := l.ForClient(l.WithIDs(agui.NewEvent(slices.Clone(result.Finish)))) // another client may have got it before
	if l.showsEnd(result.Pause) {
		said.Events = append(said.Events, l.storedSnapshots(kept, settle.EndedRef(result), result.Seen)...)
	}
	if finish.Type != agui.RunErrored {
		said.Events = append(said.Events, finish)
	} else {
		said.Events = l.fail(said.Events, finish, open, aftermathOf(result.How))
	}
	return said
}

// Refused returns the events that refuse a request, with the reason. If reask is set, the open
// question is sent again. If the question has ended and the page does not know it yet, the page is
// shown the messages since then.
func Refused(l *Listener, rec *store.Record, refused *agui.RunError, why *client.Refusal, reask bool, kept NamedSnapshots) Telling {
	said := Telling{Outcome: "refused", Code: refused.Code, Events: []agui.Event{l.Start()}}
	var open *agui.Pause
	if reask {
		open = Open(rec)
	}
	if open == nil && l.Answers {
		said.Events = append(said.Events, l.showLatest(kept, rec)...)
	}
	said.Events = l.failWith(said.Events, refused.Event(), open, why)
	return said
}

// Open returns the pause of the record if one of its questions waits for an answer, else nil.
func Open(rec *store.Record) *agui.Pause {
	if p := rec.Pause; rec.State == store.Open && !p.Decided() {
		return p
	}
	return nil
}

// showsNativeForm reports whether the client gets questions in the backend's own form.
func (l *Listener) showsNativeForm() bool { return l.Show == translate.ShowNative }
