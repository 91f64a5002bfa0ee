package tell

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
)

// After a RUN_ERROR a client keeps its list of open questions, and then sends only resumes. But
// CopilotKit and assistant-ui no longer show a card for a question in that list, so the person
// cannot send a resume: the chat is locked. A RUN_FINISHED replaces the list. So if a request
// answers a question and fails, its stream ends with two events. The RUN_FINISHED has the questions
// that are open now, and a RUN_ERROR after it has the reason. AG-UI 1.0 permits this one event
// after the end of a run.

// questionAgain returns the events that show the questions of the open pause p again. They contain
// the reason why.
func (l *Listener) questionAgain(p *agui.Pause, why *client.Refusal) []agui.Event {
	if l.showsNativeForm() {
		return l.Question(client.Question{Pause: p, Announced: l.Announcement(p)})
	}
	told := client.WithRefusal(l.WithRetoldIDs(p), why)
	events := append(l.CallsAgain(p, l.Calls), l.Question(client.Question{Pause: told, Announced: l.Announcement(p)})...)
	last := len(events) - 1
	events[last] = l.WithRefusal(events[last], why)
	return events
}

// fail appends the end of a stream that fails with the RUN_ERROR failed. open is the pause whose
// questions are still open, nil if no question is open. If it is not known which texts, calls and
// steps of the stream are unclosed, fail appends only the RUN_ERROR, because a client would reject
// a RUN_FINISHED then.
func (l *Listener) fail(events []agui.Event, failed agui.Event, open *agui.Pause, aftermath Aftermath) []agui.Event {
	return l.failWith(events, failed, open, RefusalOf(failed, aftermath))
}

// failWith is fail, but why is the reason that the person gets.
func (l *Listener) failWith(events []agui.Event, failed agui.Event, open *agui.Pause, why *client.Refusal) []agui.Event {
	if !l.Answers {
		return append(events, failed)
	}
	if l.Stream != nil {
		if !l.Stream.KnowsOpen() {
			return append(events, failed)
		}
		events = append(events, l.Stream.ClosingEvents(true)...)
	}
	if open == nil {
		return append(events, l.WithRefusal(l.Finish(), why), failed)
	}
	again := l.questionAgain(open, why)
	events = append(events, again...)
	// A question in the backend's own form cannot contain the reason. So a client of that form gets
	// the RUN_ERROR, unless the question was just sent to it again.
	if !l.TakesErrorAfterQuestions(!l.showsNativeForm() || len(again) > 1) {
		return events
	}
	return append(events, failed)
}

// withNotTaken returns the RUN_FINISHED of a run. If the request's answers did not count, and only
// its message was used, the RUN_FINISHED gets the reason.
func (l *Listener) withNotTaken(finish agui.Event) agui.Event {
	if l.NotTaken == nil || finish.Type != agui.RunFinished || !finish.Valid() || l.FollowsRun {
		return finish
	}
	return l.WithRefusal(finish, l.NotTaken)
}

// hasMissed reports whether the client does not know yet how the latest pause ended. The client
// must have sent a message of that run, and no newer message of its own. If it has a newer message,
// it has a later state than the record, because the record keeps only the state of answered runs.
func (l *Listener) hasMissed(latest *store.Result) bool {
	if !l.showsEnd(latest.Pause) {
		return false
	}
	known := map[string]bool{}
	for _, s := range latest.SeenMessages {
		known[s.ID] = true
	}
	return l.BringsOneOf(latest.SeenMessages) && !slices.ContainsFunc(l.In.Messages, func(m agui.Message) bool { return m.Role != "tool" && m.ID != "" && !known[m.ID] })
}

// showLatest returns the snapshots of the latest ended pause, if the client has missed how that
// pause ended.
func (l *Listener) showLatest(snapshots NamedSnapshots, rec *store.Record) []agui.Event {
	if len(rec.Results) == 0 || !l.hasMissed(rec.Results[0]) {
		return nil
	}
	return l.storedSnapshots(snapshots, settle.EndedRef(rec.Results[0]), rec.Results[0].SeenMessages)
}

// showsEnd reports whether the client gets snapshots of how the pause ended. A client of the
// backend's own form does not get them if it answers by messages: the record does not have these
// messages, so a call without its answer would stay in the client's history.
func (l *Listener) showsEnd(p *agui.Pause) bool {
	return !l.showsNativeForm() || p != nil && !slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return len(i.Keys) > 0 })
}

// endAgain returns the events of a recorded end that the client of this request lacks, because the
// end is sent to it again.
func (l *Listener) endAgain(snapshots NamedSnapshots, result *store.Result) []agui.Event {
	if !l.LacksEnd(result) {
		return nil
	}
	var messages []byte
	if shown := snapshots[settle.EndedRef(result)]; shown != nil {
		messages = shown.Kept
	}
	return l.EndAgain(result, messages)
}

// storedSnapshots returns the snapshots that ref names in the record, as events. It returns nil if
// the request contains no message in the parameter seenMessages, which are the messages of that
// run.
func (l *Listener) storedSnapshots(snapshots NamedSnapshots, ref settle.Ref, seenMessages []agui.SeenMessage) []agui.Event {
	shown := snapshots[ref]
	if shown == nil || !l.BringsOneOf(seenMessages) {
		return nil
	}
	return client.StoredSnapshots(shown.List, shown.State)
}
