package proxy

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// withWithheld is a MESSAGES_SNAPSHOT with what the dialect kept from the backend (Out.Withheld).
// A client loses nothing that Holdpoint keeps from a model. A message stands behind the nearest one
// before it that the snapshot has.
func withWithheld(ev agui.Event, withheld []translate.Withheld) agui.Event {
	if len(withheld) == 0 || !ev.Valid() {
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
	for _, w := range withheld {
		for _, id := range w.Before[seen:] {
			if n, ok := at[id]; ok {
				nearest = n
			}
		}
		seen = len(w.Before)
		n, there := at[w.Message.ID]
		switch {
		case there && !w.Whole:
			list[n] = agui.SetKey(list[n], "toolCalls", []byte(gjson.GetBytes(w.Message.JSON, "toolCalls").Raw))
		case !there && w.Whole:
			behind[nearest] = append(behind[nearest], json.RawMessage(w.Message.JSON))
			at[w.Message.ID] = nearest
		}
	}
	whole := append([]json.RawMessage{}, behind[-1]...) // of none an empty list, not null
	for n, m := range list {
		whole = append(append(whole, m), behind[n]...)
	}
	return ev.With(agui.SetKey(ev.JSON, "messages", agui.MustMarshal(whole)))
}
