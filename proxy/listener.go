package proxy

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/history"
	"holdpoint/store"
	"holdpoint/translate"
)

// What the client of a run is told is made in the room of clients. Here it gets what it needs of
// the run.

// listener returns the client of the run, as that room has it.
func (r *run) listener() client.Listener {
	return client.Listener{
		Line: r.request.client, Show: r.show, Thread: r.request.clientThread(), In: &r.in, Came: r.request.input.Messages,
		Page: r.request.http != nil && r.byPage(), Later: r.body != nil && r.body.laterRuns > 0,
	}
}

func (r *run) startEvent() agui.Event                  { return r.listener().Start() }
func (r *run) finishEvent() agui.Event                 { return r.listener().Finish() }
func (r *run) withRunIDs(ev agui.Event) agui.Event     { return r.listener().WithIDs(ev) }
func (r *run) inClientThread(ev agui.Event) agui.Event { return r.listener().InThread(ev) }
func (r *run) forClient(finish agui.Event) agui.Event  { return r.listener().ForClient(finish) }
func (r *run) announcement(p *agui.Pause) []agui.Event { return r.listener().Announcement(p) }
func (r *run) withRetoldIDs(p *agui.Pause) *agui.Pause { return r.listener().WithRetoldIDs(p) }
func (r *run) calledAgain(p *agui.Pause) []agui.Event {
	return r.listener().CallsAgain(p, &r.knownCalls)
}
func (r *run) newKnownCalls(p *agui.Pause, answers []agui.Answer) client.KnownCalls {
	return r.listener().KnownCalls(p, answers, r.transcript)
}

// givesUp reports whether a new message of the person gives the open pause up: the client was told
// it as a text.
func (r *run) givesUp() bool {
	return r.record.Pause != nil && !r.readFor.carries && r.listener().WasToldByText(r.record.Pause)
}

// namedByText returns the questions that the request's texts name, and the record does not know.
func (r *run) namedByText() []string {
	return slices.DeleteFunc(r.listener().QuestionsOfTexts(), func(id string) bool {
		return r.record.ResultOf(id) != nil || r.record.Pause != nil && r.record.Pause.Interrupt(id) != nil
	})
}

// callOf returns the events that tell the call of a result, if the client lacks it and the stream
// has not begun it.
func (r *run) callOf(result agui.Event) []agui.Event {
	events, isNew := r.knownCalls.CallOf(result)
	if isNew {
		for _, ev := range events {
			r.transcript.Add(ev)
		}
	}
	return events
}

// withCalls returns events that end an exchange, each result after its call.
func (r *run) withCalls(events []agui.Event) []agui.Event {
	if !r.knownCalls.Lacks() {
		return events
	}
	var with []agui.Event
	for _, ev := range events {
		if ev.Type == agui.CallResult {
			with = append(with, r.callOf(ev)...)
			r.knownCalls.Answered(ev)
		}
		with = append(with, ev)
	}
	return with
}

// ownResults returns Holdpoint's own results of the calls that the run has told none of. next is
// the pause that the run ends with, nil if there is none.
func (r *run) ownResults(next *agui.Pause, doubtful bool) []agui.Event {
	return r.listener().OwnResults(&r.knownCalls, r.record.Pause, next, doubtful)
}

// streamedEnd returns what the request lacks of an end that is told again.
func (r *run) streamedEnd(result *store.Result) []agui.Event {
	l := r.listener()
	if !l.LacksEnd(result) {
		return nil
	}
	return l.EndAgain(result, endedSnapshots(result).fetch(r).Messages)
}

// endSubagents gives the events that waited. p is what the run asks, nil for nothing.
func (r *run) endSubagents(p *agui.Pause) []agui.Event {
	list := r.subagents.Take(p)
	for _, ev := range list {
		r.transcript.Add(ev)
	}
	return list
}

// holdsSubagent reports whether an event waits for the run's end.
func (r *run) holdsSubagent(ev agui.Event) bool {
	return r.show != translate.ShowNative && r.subagents.Hold(ev)
}

// appendSnapshots appends the snapshots that a client needs before an outcome.
func (r *run) appendSnapshots(events []agui.Event, s client.Snapshots) []agui.Event {
	events, left := client.AppendSnapshots(events, &s, client.Withheld{State: r.untold.state, Messages: r.untold.messages}, len(r.beside) > 0)
	for _, o := range left {
		r.logOmission(o)
	}
	return events
}

// logOmission logs that the client does not get a snapshot.
func (r *run) logOmission(o client.Omission) {
	switch o {
	case client.StateWithheld:
		r.log.Debug("STATE_SNAPSHOT left out: the answer came without a message of the thread")
	case client.StateUnknown:
		r.log.Warn("STATE_SNAPSHOT left out: the state is not known", "limit", r.h.opts.TranscriptBytes)
	case client.MessagesWithheld:
		r.log.Debug("MESSAGES_SNAPSHOT left out: the answer came without a message of the thread")
	case client.MessagesUnknown:
		r.log.Warn("MESSAGES_SNAPSHOT left out: the messages exceed the limit (HOLDPOINT_TRANSCRIPT_BYTES)", "limit", r.h.opts.TranscriptBytes)
	case client.MessagesShareID:
		r.log.Warn("MESSAGES_SNAPSHOT left out: two messages have one id, and a client would keep the last one only")
	}
}

// storedSnapshots returns snapshots out of the record, for a request that has a message of that
// run.
func (r *run) storedSnapshots(kept keptSnapshots, seen []agui.SeenMessage) []agui.Event {
	if !r.listener().BringsOneOf(seen) {
		return nil
	}
	shown := kept.fetch(r)
	var list []json.RawMessage
	for _, m := range gjson.ParseBytes(shown.Messages).Array() {
		list = append(list, json.RawMessage(m.Raw))
	}
	list, whole := history.WithAnswers(list, r.in.Messages, r.onlyAnswers())
	if !whole {
		list = nil
	}
	return client.StoredSnapshots(list, shown.State)
}
