package agentframework

import (
	"maps"

	"holdpoint/internal/agui"
)

// snapshot is a MESSAGES_SNAPSHOT without the calls that only ask and without repetitions, and on a resume repaired. The backend's own, where it
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
	seen := map[string]bool{}
	for _, m := range withoutCalls(list, gone) {
		twice := m.ID != "" && seen[string(m.JSON)] // 1.0.0rc8 repeats results of former turns (RAN)
		seen[string(m.JSON)] = true
		if !twice && (m.Role != "tool" || !gone[m.ToolCallID]) {
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
