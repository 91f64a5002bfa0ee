package awsstrands

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// A cut is a message of the client's history that did not go to the backend, or not with all its calls.
type cut struct {
	message agui.Message
	calls   []string // those that did not go
	whole   bool     // nothing of it went
	before  []string // ids of the messages before it; of a later cut's it is the beginning
}

// cuts are what sent lacks of all. Both are in the same order.
func cuts(all, sent []agui.Message) []cut {
	if len(all) == 0 || len(all) == len(sent) && &all[0] == &sent[0] {
		return nil // nearly always
	}
	var list []cut
	before := make([]string, 0, len(all))
	for _, m := range all {
		kept := len(sent) > 0 && sent[0].ID == m.ID
		if m.ID != "" && (!kept || len(sent[0].JSON) != len(m.JSON)) {
			one := cut{message: m, calls: callIDs(m), whole: !kept, before: before}
			if kept {
				went := callIDs(sent[0])
				one.calls = slices.DeleteFunc(one.calls, func(id string) bool { return slices.Contains(went, id) })
			}
			list = append(list, one)
		}
		if kept {
			sent = sent[1:]
		}
		before = append(before, m.ID)
	}
	return list
}

func callIDs(m agui.Message) []string {
	var ids []string
	for _, c := range gjson.GetBytes(m.JSON, "toolCalls").Array() {
		ids = append(ids, c.Get("id").Str)
	}
	return ids
}

// cutCalls are the calls that did not go.
func (run *run) cutCalls() map[string]bool {
	ids := map[string]bool{}
	for _, c := range run.cuts {
		for _, id := range c.calls {
			ids[id] = true
		}
	}
	return ids
}

// Restored implements translate.Restorer: a MESSAGES_SNAPSHOT with what was cut from the request. The adapters send back the
// history that they were sent, and a client deletes what a snapshot leaves out: what Holdpoint keeps from a model is none of the
// client's loss. A message stands behind the nearest one before it that the snapshot has.
func (run *run) Restored(ev agui.Event) agui.Event {
	if len(run.cuts) == 0 || !ev.Valid() {
		return ev
	}
	var list []json.RawMessage
	at := map[string]int{}
	for _, m := range ev.Get("messages").Array() {
		if id := m.Get("id").Str; id != "" {
			at[id] = len(list)
		}
		list = append(list, json.RawMessage(m.Raw))
	}
	behind := map[int][]json.RawMessage{} // what is put in, by the place in the list that it stands behind
	nearest, seen := -1, 0
	for _, c := range run.cuts {
		for _, id := range c.before[seen:] {
			if n, ok := at[id]; ok {
				nearest = n
			}
		}
		seen = len(c.before)
		n, there := at[c.message.ID]
		switch {
		case there && !c.whole:
			list[n] = agui.SetKey(list[n], "toolCalls", []byte(gjson.GetBytes(c.message.JSON, "toolCalls").Raw))
		case !there && c.whole:
			behind[nearest] = append(behind[nearest], json.RawMessage(c.message.JSON))
			at[c.message.ID] = nearest
		}
	}
	whole := append([]json.RawMessage{}, behind[-1]...) // of none an empty list, not null
	for n, m := range list {
		whole = append(append(whole, m), behind[n]...)
	}
	return ev.With(agui.SetKey(ev.JSON, "messages", agui.MustMarshal(whole)))
}
