package agentframework

import (
	"bytes"
	"maps"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// snapshot reads a MESSAGES_SNAPSHOT, and reports whether to send it. It is sent only in a run that
// neither asks nor answers a question. In a run that does, 1.0.0rc8 and later give results and
// texts new ids, and 1.0.0rc7 and 1.0.0rc8 give two messages the same id. Clients keep the order of
// their messages and append unknown ones, so a result would follow the text about it. The client
// still gets all messages of such a snapshot from other events, or from events that Holdpoint adds.
func (run *run) snapshot(ev agui.Event, emit func(agui.Event)) (agui.Event, bool) {
	list, ok := parsedMessages(ev.Get("messages"))
	if !ok {
		return ev, true
	}
	if run.answered != nil {
		run.answered.readSnapshot(list, emit)
	}
	if run.answered != nil || len(run.extraMessages) > 0 || len(run.asks) > 0 {
		return ev, false
	}
	before := agui.MessageList(list)
	gone := maps.Clone(run.removedCalls)
	for _, m := range list {
		for _, c := range callsOf(m) {
			if synthetic(c) && !run.r.Input.Declares(c.Name) {
				gone[c.ID] = true
			}
		}
	}
	var kept []agui.Message
	seen := map[string]bool{}
	for _, m := range kit.WithoutCalls(list, gone) {
		twice := m.ID != "" && seen[string(m.JSON)] // 1.0.0rc8 repeats the results of earlier turns (RAN)
		seen[string(m.JSON)] = true
		if !twice && (m.Role != "tool" || !gone[m.ToolCallID]) {
			kept = append(kept, m)
		}
	}
	after := agui.MessageList(run.underKnownIDs(kept))
	if string(after) == string(before) {
		return ev, true
	}
	return ev.WithJSON(agui.SetKey(ev.JSON, "messages", after)), true
}

// underKnownIDs returns the list, in which each result has the id that the client has for it. Under
// another id the client would append the result a second time.
func (run *run) underKnownIDs(list []agui.Message) []agui.Message {
	if run.r.Transcript == nil {
		return list
	}
	raw, _ := run.r.Transcript.Messages()
	known, ids := map[string][]string{}, map[string]bool{}
	for _, raw := range raw {
		if m := agui.ParseMessage(raw); m.Role == "tool" {
			known[m.ToolCallID] = append(known[m.ToolCallID], m.ID)
		}
	}
	times := map[string]int{}
	for _, m := range list {
		times[m.ToolCallID]++
		ids[m.ID] = true
	}
	out := slices.Clone(list)
	for n, m := range out {
		if has := known[m.ToolCallID]; m.Role == "tool" && len(has) == 1 && times[m.ToolCallID] == 1 && !ids[has[0]] {
			out[n] = agui.ParseMessage(agui.SetString(m.JSON, "id", has[0]))
		}
	}
	return out
}

func parsedMessages(v gjson.Result) ([]agui.Message, bool) {
	var list []agui.Message
	for _, m := range v.Array() {
		if !m.IsObject() {
			return nil, false
		}
		list = append(list, agui.ParseMessage([]byte(m.Raw)))
	}
	return list, true
}

// signSnapshot reports whether a snapshot has a confirm_changes call. It recognizes a backend with
// a snapshot_store: such a backend sends its own history in every run, and that history has the
// confirm_changes calls of earlier questions.
func signSnapshot(ev agui.Event) bool {
	if !bytes.Contains(ev.JSON, []byte(microsoft.ConfirmChanges)) || !ev.Valid() {
		return false
	}
	list, ok := parsedMessages(ev.Get("messages"))
	if !ok {
		return false
	}
	for _, m := range list {
		for _, c := range callsOf(m) {
			if synthetic(c) {
				return true
			}
		}
	}
	return false
}

// readSnapshot notes which of the answered calls have a result in the snapshot. It sends these
// results to the client.
func (a *answeredExchange) readSnapshot(list []agui.Message, emit func(agui.Event)) {
	a.snapshot = true
	last := lastCalls(list)
	own := map[string]agui.Message{} // call id → its result
	for n, m := range list {
		if m.Role == "tool" && n > last[m.ToolCallID] && !isDecision(gjson.GetBytes(m.JSON, "content"), nil) {
			own[m.ToolCallID] = m
		}
	}
	for _, r := range a.resumption.replies {
		m, ok := own[r.Call]
		if r.Call == "" || r.Kind == request || !ok {
			continue
		}
		a.markDone(r.Call)
		a.sendResult(r, gjson.GetBytes(m.JSON, "content").String(), emit)
	}
}
