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
	before  []string // ids of the messages before it, the nearest first
}

// cuts are what sent lacks of all. Both are in the same order.
func cuts(all, sent []agui.Message) []cut {
	var list []cut
	var before []string
	for _, m := range all {
		kept := len(sent) > 0 && sent[0].ID == m.ID
		if m.ID != "" && (!kept || len(sent[0].JSON) != len(m.JSON)) {
			one := cut{message: m, calls: callIDs(m), whole: !kept, before: slices.Clone(before)}
			if kept {
				went := callIDs(sent[0])
				one.calls = slices.DeleteFunc(one.calls, func(id string) bool { return slices.Contains(went, id) })
			}
			list = append(list, one)
		}
		if kept {
			sent = sent[1:]
		}
		before = slices.Insert(before, 0, m.ID)
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

// Restored implements translate.Restorer: a MESSAGES_SNAPSHOT with what was cut from the request. The adapters send back the history that they were sent,
// and a client deletes what a snapshot leaves out: what Holdpoint keeps from a model is none of the client's loss.
func (run *run) Restored(ev agui.Event) agui.Event {
	if len(run.cuts) == 0 || !ev.Valid() {
		return ev
	}
	var list []json.RawMessage
	at := map[string]int{}
	for _, m := range ev.Get("messages").Array() {
		at[m.Get("id").Str] = len(list)
		list = append(list, json.RawMessage(m.Raw))
	}
	for _, c := range run.cuts {
		n, there := at[c.message.ID]
		switch {
		case there && !c.whole:
			list[n] = agui.SetKey(list[n], "toolCalls", []byte(gjson.GetBytes(c.message.JSON, "toolCalls").Raw))
		case !there && c.whole:
			n = 0
			for _, id := range c.before {
				if i, ok := at[id]; ok {
					n = i + 1
					break
				}
			}
			list = slices.Insert(list, n, json.RawMessage(c.message.JSON))
			for id, i := range at {
				if i >= n {
					at[id] = i + 1
				}
			}
			at[c.message.ID] = n
		}
	}
	return ev.With(agui.SetKey(ev.JSON, "messages", agui.MustMarshal(list)))
}
