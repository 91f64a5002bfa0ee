package proxy

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/client"
)

// What the client of a run is told is made in the room of clients. Here it gets what it needs of
// the run.

// listener returns the client of the run, as that room has it. Browsers send Origin with every
// POST, and a page can neither leave it out nor forge it. Node's fetch sends Sec-Fetch-Mode too,
// but no Origin.
func (r *run) listener() client.Listener {
	return client.Listener{
		Line: r.request.client, Show: r.show, Thread: r.request.clientThread(), In: &r.in, Came: r.request.input.Messages,
		Page: r.request.http != nil && r.request.http.Header.Get("Origin") != "", Later: r.body != nil && r.body.laterRuns > 0,
	}
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

// withCalls returns events that end an exchange, each result after its call, and records them. What
// callOf has recorded already is not recorded again.
func (r *run) withCalls(events []agui.Event) []agui.Event {
	with, lacks := events, r.knownCalls.Lacks()
	if lacks {
		with = nil
	}
	for _, ev := range events {
		if ev.Type == agui.CallResult {
			with = append(with, r.callOf(ev)...) // none if the client lacks none
			r.knownCalls.Answered(ev)
		}
		if lacks {
			with = append(with, ev)
		}
		r.noteCall(ev)
		r.transcript.Add(ev)
	}
	return with
}

// endSubagents gives the events that waited. p is what the run asks, nil for nothing.
func (r *run) endSubagents(p *agui.Pause) []agui.Event {
	list := r.told.Take(p)
	for _, ev := range list {
		r.transcript.Add(ev)
	}
	return list
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
