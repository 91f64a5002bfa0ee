package agentframework

import (
	"maps"

	"holdpoint/internal/agui"
)

// snapshot is a MESSAGES_SNAPSHOT without the calls that only ask, and on a resume repaired. The backend's own, where it
// is as it should be.
func (run *run) snapshot(ev agui.Event, emit func(agui.Event)) agui.Event {
	var list []agui.Message
	gone := maps.Clone(run.gone)
	for _, m := range ev.Get("messages").Array() {
		if !m.IsObject() {
			return ev
		}
		list = append(list, agui.ParseMessage([]byte(m.Raw)))
	}
	before := agui.MessageList(list)
	for _, m := range list {
		for _, c := range callsOf(m) {
			if synthetic(c) && !run.r.Input.Declares(c.Name) {
				gone[c.ID] = true
			}
		}
	}
	var kept []agui.Message
	for _, m := range withoutCalls(list, gone) {
		if m.Role != "tool" || !gone[m.ToolCallID] {
			kept = append(kept, m)
		}
	}
	if run.answered != nil {
		kept = run.answered.repair(kept, emit)
	}
	after := agui.MessageList(kept)
	if string(after) == string(before) {
		return ev
	}
	return ev.With(agui.SetKey(ev.JSON, "messages", after))
}
