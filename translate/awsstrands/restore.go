package awsstrands

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// missingFrom returns the messages and calls of all that are not in sent. Both lists have the same
// order.
func missingFrom(all, sent []agui.Message) []translate.WithheldMessage {
	if len(all) == 0 || len(all) == len(sent) && &all[0] == &sent[0] {
		return nil // usually nothing was removed
	}
	var list []translate.WithheldMessage
	before := make([]string, 0, len(all))
	for _, m := range all {
		kept := len(sent) > 0 && sent[0].ID == m.ID
		if m.ID != "" && (!kept || len(sent[0].JSON) != len(m.JSON)) {
			one := translate.WithheldMessage{Message: m, Calls: callIDs(m), Whole: !kept, Before: before}
			if kept {
				went := callIDs(sent[0])
				one.Calls = slices.DeleteFunc(one.Calls, func(id string) bool { return slices.Contains(went, id) })
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

// cutCalls returns the ids of the calls that were not sent to the backend.
func (run *run) cutCalls() map[string]bool {
	ids := map[string]bool{}
	for _, c := range run.withheld {
		for _, id := range c.Calls {
			ids[id] = true
		}
	}
	return ids
}
