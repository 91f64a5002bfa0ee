package client

import (
	"fmt"
	"runtime"
	"testing"

	"holdpoint/internal/agui"
)

// TestManyUntakenMessages: a snapshot lacks very many small messages that the backend has not
// received. Holdpoint must add all of them in one step. If it added them one by one, it would copy
// the snapshot for each.
func TestManyUntakenMessages(t *testing.T) {
	const many = 2000
	var fresh []agui.Message
	for n := range many {
		fresh = append(fresh, agui.ParseMessage(fmt.Appendf(nil, `{"id":"n%d","role":"user","content":"x"}`, n)))
	}
	for name, c := range map[string]struct {
		messages string
		want     int
	}{
		"behind others": {`[ {"id":"u1", "role":"user","content":"]"},{"id":"n7","role":"user","content":"x"} ]`, many + 1},
		"alone":         {`[]`, many},
		"no list":       {`null`, many},
	} {
		ev := agui.NewEvent([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":` + c.messages + `,"rawEvent":{"a": 1}}`))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := WithMessages(ev, fresh)
		runtime.ReadMemStats(&after)
		list := got.Get("messages").Array()
		if !agui.ValidJSON(got.JSON) || len(list) != c.want || list[len(list)-1].Get("id").Str != "n1999" || got.Get("rawEvent").Raw != `{"a": 1}` {
			t.Errorf("%s: %d messages: %.300s", name, len(list), got.JSON)
		}
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 16<<20 {
			t.Errorf("%s: %d bytes", name, bytes)
		}
	}
}
