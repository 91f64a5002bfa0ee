package proxy

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/transcript"
)

// appendSnapshots appends the snapshots that a client needs before an outcome. The backend's own
// are enough where it sent them whole after its last change. What is not known whole is left out.
func (r *run) appendSnapshots(events []agui.Event, s settle.Snapshots) []agui.Event {
	if r.untold.state {
		r.log.Debug("STATE_SNAPSHOT left out: the answer came without a message of the thread")
	} else if s.Stateful && !s.StateSent && (s.AnyState || agui.HasMembers(s.State)) {
		events = append(events, stateEvent(s.State))
	} else if !s.Stateful {
		r.log.Warn("STATE_SNAPSHOT left out: the state is not known", "limit", r.h.opts.TranscriptBytes)
	}
	switch {
	case r.untold.messages:
		r.log.Debug("MESSAGES_SNAPSHOT left out: the answer came without a message of the thread")
	case !s.Whole:
		r.log.Warn("MESSAGES_SNAPSHOT left out: the messages exceed the limit (HOLDPOINT_TRANSCRIPT_BYTES)", "limit", r.h.opts.TranscriptBytes)
	case s.MessagesSent || len(s.List) == 0:
	case repeatsID(s.List):
		r.log.Warn("MESSAGES_SNAPSHOT left out: two messages have one id, and a client would keep the last one only")
	case len(r.beside) == 0:
		events = append(events, agui.SnapshotEvent(s.Messages))
	default:
		events = append(events, agui.SnapshotEvent(agui.List(s.List)))
	}
	return events
}

func stateEvent(state json.RawMessage) agui.Event {
	if state == nil {
		state = json.RawMessage("null")
	}
	return agui.NewEvent(agui.MustMarshal(struct {
		Type     agui.Type       `json:"type"`
		Snapshot json.RawMessage `json:"snapshot"`
	}{agui.StateSnapshot, state}))
}

// storedSnapshots are snapshots out of the record. Without principals a request shows no more than
// the thread's id. So they go only to a request that holds a message of that run. They must hold
// every message of the request, because a MESSAGES_SNAPSHOT deletes what it leaves out.
func (r *run) storedSnapshots(kept keptSnapshots, seen []agui.SeenMessage) []agui.Event {
	known := map[string]bool{}
	for _, s := range seen {
		known[s.ID] = s.ID != ""
	}
	if !slices.ContainsFunc(r.in.Messages, func(m agui.Message) bool { return known[m.ID] }) {
		return nil
	}
	shown := kept.fetch(r)
	var events []agui.Event
	if agui.HasMembers(shown.State) {
		events = append(events, stateEvent(shown.State))
	}
	var list []json.RawMessage
	for _, m := range gjson.ParseBytes(shown.Messages).Array() {
		list = append(list, json.RawMessage(m.Raw))
	}
	list, whole := r.withAnswers(list)
	if whole && len(list) > 0 && !repeatsID(list) {
		events = append(events, agui.SnapshotEvent(agui.List(list)))
	}
	return events
}

// withAnswers reports whether a list of messages holds all that the request has, and returns it. A
// message of the request that only answers may be missing: it came too late, or is on record. But
// it is put in if its call would be left without a result: some backends refuse such a history.
func (r *run) withAnswers(list []json.RawMessage) (with []json.RawMessage, whole bool) {
	held, answered, places := map[agui.SeenMessage]bool{}, map[string]bool{}, map[string]int{}
	for n, raw := range list {
		m := agui.ParseMessage(raw)
		held[identity(m)] = true
		if m.Role == "tool" {
			answered[m.ToolCallID] = true
			continue
		}
		for _, call := range gjson.GetBytes(raw, "toolCalls").Array() {
			places[call.Get("id").Str] = n
		}
	}
	onlyAnswers := r.onlyAnswers()
	behind := map[int][]json.RawMessage{} // what is put in, by the place that it follows
	for _, m := range r.in.Messages {
		if held[identity(m)] {
			continue
		}
		if !onlyAnswers(m) {
			return list, false
		}
		if at, called := places[m.ToolCallID]; called && m.ToolCallID != "" && !answered[m.ToolCallID] {
			answered[m.ToolCallID] = true
			behind[at] = append(behind[at], json.RawMessage(m.JSON))
		}
	}
	if len(behind) == 0 {
		return list, true
	}
	for n, raw := range list {
		with = append(append(with, raw), behind[n]...)
	}
	return with, true
}

// onlyAnswers returns a function that reports whether a message of the request answers a question
// of the thread and says nothing else. The result of a tool that the client declares is no answer
// where the record does not know the question.
func (r *run) onlyAnswers() func(agui.Message) bool {
	c, pauses := r.newCase(), r.pauses()
	known := c.OnlyAnswers(pauses...)
	asked := map[string]bool{}
	for _, p := range pauses {
		for _, i := range p.Interrupts {
			asked[i.ID] = true
		}
	}
	if !slices.ContainsFunc(r.in.Resume, func(e agui.ResumeEntry) bool { return !asked[e.InterruptID] }) {
		return known
	}
	forgotten, declared := c.OnlyAnswers(nil), r.request.declaredCalls()
	return func(m agui.Message) bool { return known(m) || forgotten(m) && !declared[m.ToolCallID] }
}

// repeatsID says whether two messages have one id, see resultIDs.
func repeatsID(list []json.RawMessage) bool {
	known := make(map[string]bool, len(list))
	for _, m := range list {
		id := agui.View(m).Get("id").Str
		if known[id] && id != "" {
			return true
		}
		known[id] = true
	}
	return false
}

// resumeTranscript is the transcript that a resumed run begins with. It has the record's messages
// merged with the request's by id: a resume may come with fewer (messages: [] is legal) or with new
// ones. An answer to an earlier question is not new: the record has left it out.
func (r *run) resumeTranscript(p *agui.Pause) *transcript.Transcript {
	state := r.in.State
	if len(gjson.ParseBytes(state).Map()) == 0 && len(p.State) > 0 {
		state = p.State
	}
	var known []agui.Message
	ids := map[string]bool{}
	gjson.ParseBytes(p.Messages).ForEach(func(_, m gjson.Result) bool {
		msg := agui.ParseMessage(json.RawMessage(m.Raw))
		known = append(known, msg)
		ids[msg.ID] = true
		return true
	})
	list := known
	type answered struct {
		message agui.SeenMessage
		call    string
	}
	settled := map[answered]bool{}
	for n := range r.replies {
		if d := &r.replies[n]; d.wasAnswer && len(known) > 0 {
			settled[answered{d.answer.Message, d.call}] = true
		}
	}
	for _, m := range r.in.Messages {
		if len(known) > 0 && (m.ID == "" || len(settled) > 0) {
			switch seen := agui.See(m); {
			case m.ID == "" && p.Knows(seen):
				continue
			case settled[answered{seen, m.ToolCallID}] && (m.ID == "" || !ids[m.ID]): // it would stand behind the question
				ids[m.ID] = true
				continue
			}
		}
		if m.ID == "" || !ids[m.ID] {
			list = append(list, m)
			ids[m.ID] = true
		}
	}
	t := transcript.New(r.h.opts.TranscriptBytes, list, state)
	if p.Stripped && !agui.HasMembers(state) {
		t.ForgetState()
	}
	if len(known) > 0 || r.request.ours {
		return t // what is kept is whole, but for answers that were taken out
	}
	for _, s := range p.Seen {
		if s.ID != "" && !ids[s.ID] {
			t.ForgetMessages() // the record could not keep a message that the request does not bring either
			break
		}
	}
	return t
}
