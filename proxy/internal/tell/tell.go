// Package tell says what the client of a run is told: of a question, of an end, of a refusal, and
// of an end that is told again. It gets values and returns the events, and what the log is to have
// of them. It asks neither the store nor a clock, and sends nothing. What it needs out of the
// store, Wants names.
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

// A Stream is the stream of the client so far.
type Stream interface {
	// KnowsOpen reports whether all that is open in it is known.
	KnowsOpen() bool
	// Unclosed returns the ends of what is open. failed: the run has failed.
	Unclosed(failed bool) []agui.Event
}

// A Listener is the client of a run, and what this run has for it beside the end.
type Listener struct {
	client.Listener
	Calls  *client.KnownCalls // what the client knows of calls
	Stream Stream             // nil if there was none
	// Answers reports that the request answers something, or that its thread waits for answers.
	Answers bool
	// NotTaken is why the answers beside its message do not count, nil if they do.
	NotTaken *client.Refusal
	// Withheld are the snapshots that it must not see.
	Withheld client.HiddenSnapshots
	// Left reports that it has closed its side.
	Left bool
}

// Telling is what the client is told, and what the log has of it.
type Telling struct {
	Events  []agui.Event
	Outcome string            // of the run, in a word; "" if nothing is known of it yet
	Code    agui.Code         // of its RUN_ERROR, "" if it has none
	Paused  *agui.Pause       // the question that is told, nil if none is
	Omitted []client.Omission // snapshots that the client does not get
}

// SavedPause is what the record holds of an outcome, and what the run has to say with it.
type SavedPause struct {
	settle.SavedOutcome
	// Refused is why the question, or the end, is not kept.
	Refused *agui.RunError
	// Open is the question that waits for its answer: another one, or that of the claim, which was
	// given back.
	Open *agui.Pause
	// Subagents are the ends of subagents that waited, and Own the results in Holdpoint's own words.
	Subagents, Own []agui.Event
}

// Aftermath returns what became of the answers of a run that does not ask.
func (k *SavedPause) Aftermath(o *settle.Outcome) Aftermath {
	switch {
	case k.Refused != nil:
		return MayHaveRun
	case k.Back:
		return NothingDone
	}
	return aftermathOf(o.End.How)
}

// Ended tells what has become of a run, once it is saved.
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

// tellQuestion tells a question. If its exchange has failed, the questions are those that are open
// still, because several answers go in an exchange each. They are told with the reason, and behind
// them stands the late RUN_ERROR.
func tellQuestion(l *Listener, o *settle.Outcome, k *SavedPause) Telling {
	said := Telling{Outcome: "interrupt", Paused: k.Pause}
	q := client.Question{Pause: k.Pause, More: o.Before, NotTaken: len(o.Extra) > 0}
	if !o.Announced {
		q.Announced = l.Announcement(k.Pause)
	}
	if unclosed := l.Stream.Unclosed(false); l.showsNativeForm() {
		q.Unclosed = unclosed // nothing is made for such a client, but for a question told as a text
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

// tellEnd tells the end of a run that does not ask.
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

// Broken tells that a run has come to an end that nobody has settled: Holdpoint has failed, or the
// backend says nothing. open is the question that waits, nil if none does.
func Broken(l *Listener, events []agui.Event, failed agui.Event, open *agui.Pause, became Aftermath) []agui.Event {
	return l.fail(events, failed, open, became)
}

// Snapshots are what the store keeps of a moment, as the client may see it. List are the messages,
// completed by those of the request; nil if they lack one of it. Kept are those of the store.
type Snapshots struct {
	List        []json.RawMessage
	Kept, State json.RawMessage
}

// NamedSnapshots are snapshots by what names them.
type NamedSnapshots map[settle.Ref]*Snapshots

// Wants returns what Again, Replayed and Refused need out of the store to tell a ruling.
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

// tellsOpen reports whether the open question is told in place of an end that is told again.
func tellsOpen(open *agui.Pause, result *store.Result) bool {
	return open != nil && agui.PeekType(result.Finish) != agui.RunErrored
}

// Again tells the open question to a request that brings nothing new: a reloaded page, the same
// POST again.
func Again(l *Listener, rec *store.Record, kept NamedSnapshots) Telling {
	p := rec.Pause
	var shown []agui.Event
	if !l.showsNativeForm() { // to such a client its backend's own stream is told again, and nothing else
		shown = l.storedSnapshots(kept, settle.AskedRef(p), p.Seen)
	}
	events := append([]agui.Event{l.Start()}, l.CallsAgain(p, l.Calls)...)
	events = append(events, l.Question(client.Question{Pause: l.WithRetoldIDs(p), Announced: l.Announcement(p), More: shown})...)
	return Telling{Events: events, Outcome: "interrupt again", Paused: p}
}

// Quiet tells that there is nothing to answer.
func Quiet(l *Listener) Telling {
	return Telling{Events: []agui.Event{l.Start(), l.withNotTaken(l.Finish())}, Outcome: "nothing to answer"}
}

// Replayed tells the recorded end of the pause that the same answers ended. If the thread has gone
// on to another question, that one is told: a client that was told nothing would lose it.
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
	finish := l.ForClient(l.WithIDs(agui.NewEvent(slices.Clone(result.Finish)))) // another client may have been told it
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

// Refused tells a request that it is refused, and why. What can still be asked is asked again, if
// reask says so. Where the question has ended, a page that does not know it yet is shown what came
// of it.
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

// Open returns the pause of the record if it has a question that waits for its answer, else nil.
func Open(rec *store.Record) *agui.Pause {
	if p := rec.Pause; rec.State == store.Open && !p.Decided() {
		return p
	}
	return nil
}

// showsNativeForm reports whether the client is shown the backend's own form, and nothing that is
// made.
func (l *Listener) showsNativeForm() bool { return l.Show == translate.ShowNative }
