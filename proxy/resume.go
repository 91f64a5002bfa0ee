package proxy

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/transcript"
)

// withUntaken is a snapshot of an exchange that did not carry the messages beside the answers, with those: a client
// deletes what a snapshot leaves out, and they would never come again.
func (r *run) withUntaken(ev agui.Event) agui.Event {
	if r.taken || len(r.fresh) == 0 || !ev.Valid() {
		return ev
	}
	messages := ev.Get("messages")
	held := map[agui.SeenMessage]bool{}
	for _, m := range messages.Array() {
		held[identity(agui.ParseMessage([]byte(m.Raw)))] = true
	}
	// All at once: a client may bring very many small ones.
	var untaken []agui.Message
	for _, m := range r.fresh {
		if !held[identity(m)] {
			untaken = append(untaken, m)
		}
	}
	if len(untaken) == 0 {
		return ev
	}
	list := []byte(agui.MessageList(untaken))
	if messages.IsArray() && len(held) > 0 {
		list[0] = ','
		list = append([]byte(strings.TrimSuffix(messages.Raw, "]")), list...)
	}
	out := agui.SetKey(ev.JSON, "messages", list)
	return ev.With(out)
}

// resumeTranscript is the transcript that a resumed run begins with: the record's messages merged with the request's
// by id, for a resume may come with fewer (messages: [] is legal) or with new ones.
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
	for _, m := range r.in.Messages {
		if m.ID == "" && len(known) > 0 && p.Knows(agui.See(m)) {
			continue
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
	for _, s := range p.Seen {
		if s.ID != "" && !ids[s.ID] {
			t.ForgetMessages() // the record could not keep a message that the request does not bring either
			break
		}
	}
	return t
}
