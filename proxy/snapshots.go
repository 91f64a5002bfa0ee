package proxy

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/history"
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
	list, whole := history.WithAnswers(list, r.in.Messages, r.onlyAnswers())
	if whole && len(list) > 0 && !repeatsID(list) {
		events = append(events, agui.SnapshotEvent(agui.List(list)))
	}
	return events
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

// resumeTranscript returns the transcript that a resumed run begins with.
func (r *run) resumeTranscript(p *agui.Pause) *transcript.Transcript {
	list, whole := history.ResumeMessages(&r.in, p, r.replies, r.request.ours)
	state := history.ResumeState(&r.in, p)
	t := transcript.New(r.h.opts.TranscriptBytes, list, state)
	if p.Stripped && !agui.HasMembers(state) {
		t.ForgetState()
	}
	if !whole {
		t.ForgetMessages() // the record could not keep a message that the request does not bring either
	}
	return t
}
