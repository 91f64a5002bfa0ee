package tell

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
)

// At a RUN_ERROR a client keeps its list of open questions, and from then on sends only resumes.
// CopilotKit and assistant-ui show no card for that list any more, so the person cannot send a
// resume: the chat is locked. A RUN_FINISHED replaces the list. So a stream whose request answers
// something ends with two events: RUN_FINISHED has the questions that are open now, and a late
// RUN_ERROR has the reason. AG-UI 1.0 permits this one event after the end of a run.

// questionAgain returns the events that show the open pause of the record again, with the reason.
func (l *Listener) questionAgain(p *agui.Pause, why *client.Refusal) []agui.Event {
	if l.showsNativeForm() {
		return l.Question(client.Question{Pause: p, Announced: l.Announcement(p)})
	}
	told := client.WithRefusal(l.WithRetoldIDs(p), why)
	events := append(l.CallsAgain(p, l.Calls), l.Question(client.Question{Pause: told, Announced: l.Announcement(p)})...)
	last := len(events) - 1
	events[last] = l.Explained(events[last], why)
	return events
}

// fail appends the end of a stream that fails with a RUN_ERROR. open is the pause that is still
// open, nil if there is none. If it is not known what is open in the stream, only the RUN_ERROR is
// appended, because a client fails at a RUN_FINISHED then.
func (l *Listener) fail(events []agui.Event, failed agui.Event, open *agui.Pause, became Aftermath) []agui.Event {
	return l.failWith(events, failed, open, RefusalOf(failed, became))
}

// failWith is fail, with the reason for the person given by why.
func (l *Listener) failWith(events []agui.Event, failed agui.Event, open *agui.Pause, why *client.Refusal) []agui.Event {
	if !l.Answers {
		return append(events, failed)
	}
	if l.Stream != nil {
		if !l.Stream.KnowsOpen() {
			return append(events, failed)
		}
		events = append(events, l.Stream.Unclosed(true)...)
	}
	if open == nil {
		return append(events, l.Explained(l.Finish(), why), failed)
	}
	again := l.questionAgain(open, why)
	events = append(events, again...)
	// The backend's own form has no place for the reason, so there the RUN_ERROR is sent unless a
	// question is asked again.
	if !l.TakesErrorAfterQuestions(!l.showsNativeForm() || len(again) > 1) {
		return events
	}
	return append(events, failed)
}

// withNotTaken returns the end of a run. If the answers sent with its message did not count, it has
// the reason.
func (l *Listener) withNotTaken(finish agui.Event) agui.Event {
	if l.NotTaken == nil || finish.Type != agui.RunFinished || !finish.Valid() || l.Later {
		return finish
	}
	return l.Explained(finish, l.NotTaken)
}

// misses reports whether a page has missed an end, and has not gone on since: then it has a later
// state than the record, for that is kept of answered runs only.
func (l *Listener) misses(latest *store.Result) bool {
	if !l.showsEnd(latest.Pause) {
		return false
	}
	known := map[string]bool{}
	for _, s := range latest.Seen {
		known[s.ID] = true
	}
	return l.BringsOneOf(latest.Seen) && !slices.ContainsFunc(l.In.Messages, func(m agui.Message) bool { return m.Role != "tool" && m.ID != "" && !known[m.ID] })
}

// showLatest shows what the thread has come to, to a page that has missed it.
func (l *Listener) showLatest(kept NamedSnapshots, rec *store.Record) []agui.Event {
	if len(rec.Results) == 0 || !l.misses(rec.Results[0]) {
		return nil
	}
	return l.storedSnapshots(kept, settle.EndedRef(rec.Results[0]), rec.Results[0].Seen)
}

// showsEnd reports whether the client is shown what its thread has come to since the pause. A
// client that is shown its backend's own form is not if it answers by messages: the record has left
// those out, and a call without its answer would stay in the client's history.
func (l *Listener) showsEnd(p *agui.Pause) bool {
	return !l.showsNativeForm() || p != nil && !slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return len(i.Keys) > 0 })
}

// endAgain returns what the request lacks of an end that is told again.
func (l *Listener) endAgain(kept NamedSnapshots, result *store.Result) []agui.Event {
	if !l.LacksEnd(result) {
		return nil
	}
	var messages []byte
	if shown := kept[settle.EndedRef(result)]; shown != nil {
		messages = shown.Kept
	}
	return l.EndAgain(result, messages)
}

// storedSnapshots returns snapshots out of the record, for a request that has a message of that
// run.
func (l *Listener) storedSnapshots(kept NamedSnapshots, ref settle.Ref, seen []agui.SeenMessage) []agui.Event {
	shown := kept[ref]
	if shown == nil || !l.BringsOneOf(seen) {
		return nil
	}
	return client.StoredSnapshots(shown.List, shown.State)
}
