package transcript

import (
	"slices"

	"holdpoint/internal/agui"
)

// An openItem is a text, a reasoning, a call, a step or a subagent that has begun and not ended. It
// must be closed before RUN_FINISHED. Otherwise clients reject the RUN_FINISHED.
type openItem struct {
	end agui.Type // type of the event that closes the item
	key string    // messageId, toolCallId or stepName
}

// close returns the JSON of the event that closes the item. The parameter failed says that the run
// has failed. If it is false, the item continues in a later run.
func (o openItem) close(failed bool) []byte {
	switch o.end {
	case agui.StepFinished:
		return agui.MakeEvent(o.end, "stepName", o.key).JSON
	case agui.CallEnd:
		return agui.MakeEvent(o.end, "toolCallId", o.key).JSON
	case agui.SubagentFinished:
		if failed {
			return agui.MakeEvent(agui.SubagentErrored, "subagentRunId", o.key, "message", textRunEnded).JSON
		}
		// "suspended" is the only outcome in AG-UI that is not a success. It is also correct: the
		// subagent continues when the questions are answered.
		return agui.SetKey(agui.MakeEvent(o.end, "subagentRunId", o.key).JSON, "outcome", []byte(`{"type":"suspended"}`))
	case agui.ThinkingEnd, agui.ThinkingTextEnd:
		return agui.MakeEvent(o.end).JSON
	}
	return agui.MakeEvent(o.end, "messageId", o.key).JSON
}

// begin notes that an item was opened. The parameter end is the type of the event that closes the
// item. The parameter key identifies the item.
func (t *Transcript) begin(end agui.Type, key string) {
	if t.openLost {
		return
	}
	if t.openSize += openCost + len(key); t.openSize > t.names() {
		t.openLost, t.open, t.openAt, t.openCount = true, nil, nil, 0
		return
	}
	o := openItem{end, key}
	if t.openAt == nil {
		t.openAt = map[openItem][]int{}
	}
	if len(t.open) > 2*t.openCount+64 {
		t.closeUp()
	}
	t.openAt[o] = append(t.openAt[o], len(t.open))
	t.open = append(t.open, o)
	t.openCount++
}

// closeUp removes the empty entries from t.open.
func (t *Transcript) closeUp() {
	t.open = slices.DeleteFunc(t.open, func(o openItem) bool { return o == openItem{} })
	clear(t.openAt)
	for n, o := range t.open {
		t.openAt[o] = append(t.openAt[o], n)
	}
}

// end closes the item with this type and key. If there are several, it closes the one that was
// opened last. The item's entry in t.open stays, but empty, until all later items are closed. So
// closing many items is fast even if they are closed in the order in which they were opened.
func (t *Transcript) end(end agui.Type, key string) {
	o := openItem{end, key}
	places := t.openAt[o]
	if len(places) == 0 {
		return
	}
	t.open[places[len(places)-1]] = openItem{}
	t.openCount--
	t.openSize -= openCost + len(key)
	if t.openAt[o] = places[:len(places)-1]; len(places) == 1 {
		delete(t.openAt, o)
	}
	for n := len(t.open); n > 0 && t.open[n-1] == (openItem{}); n-- {
		t.open = t.open[:n-1]
	}
}
