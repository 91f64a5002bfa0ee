package kit

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// Pruned returns a JSON object without its null members and without the named ones; the others keep
// their bytes and their order. null is fatal in an Interrupt to clients from 0.0.54 on.
func Pruned(object gjson.Result, names ...string) []byte {
	if !object.IsObject() {
		return []byte(object.Raw)
	}
	out := append(make([]byte, 0, len(object.Raw)), '{')
	object.ForEach(func(k, v gjson.Result) bool {
		if v.Type != gjson.Null && !slices.Contains(names, k.Str) {
			out = AppendMember(out, k.Raw, v.Raw)
		}
		return true
	})
	return append(out, '}')
}

// AppendMember adds a member to an object in the making, which begins with '{'. key is JSON text,
// quotes included.
func AppendMember(object []byte, key, value string) []byte {
	object = slices.Grow(object, len(key)+len(value)+len(",:}"))
	if len(object) > 1 {
		object = append(object, ',')
	}
	object = append(object, key...)
	object = append(object, ':')
	return append(object, value...)
}

// AppendText adds a text to an object in the making. key is constant.
func AppendText(object []byte, key, value string) []byte {
	object = slices.Grow(object, len(key)+len(value)+len(`,"":""}`))
	if len(object) > 1 {
		object = append(object, ',')
	}
	object = append(append(append(object, '"'), key...), '"', ':')
	return agui.AppendString(object, value)
}

// OwnRunID returns the body of a run under an id that nobody else has, for a backend that keeps
// what waits by run id alone. proxy gives the client its own id back.
func OwnRunID(r *translate.Request, body []byte) []byte {
	if r.NewID == nil {
		return body
	}
	return agui.SetString(body, "runId", r.NewID())
}

// ResumeArray returns the resume array for a backend that reads one: the client's entries with the
// backend's own ids, every other byte of them as it was but for a payload that the dialect says in
// other words; made of the answers where they came in another form or from admit (an expired pause
// is cancelled). answers cover p in its order. What is cancelled has no payload: some backends
// (AGUI.Server) never look at the status, and a payload is an answer to them.
func ResumeArray(in agui.RunInput, p agui.Pause, answers []agui.Answer) json.RawMessage {
	if list := clientsArray(in, p, answers); list != nil {
		return list
	}
	list := []byte{'['}
	for n, a := range answers {
		if n > 0 {
			list = append(list, ',')
		}
		if a.Status == agui.Cancelled {
			a.Payload = nil
		}
		list = append(list, agui.MustMarshal(struct {
			InterruptID string          `json:"interruptId"`
			Status      agui.Status     `json:"status"`
			Payload     json.RawMessage `json:"payload,omitempty"`
		}{p.Interrupts[n].Native, a.Status, a.Payload})...)
	}
	return append(list, ']')
}

func clientsArray(in agui.RunInput, p agui.Pause, answers []agui.Answer) json.RawMessage {
	entries := agui.View(in.Raw).Get("resume").Array()
	if len(entries) != len(answers) || len(in.Resume) != len(answers) {
		return nil
	}
	given := make(map[string]agui.Answer, len(answers))
	for _, a := range answers {
		if a.Native {
			return nil
		}
		given[a.ID] = a
	}
	list := []byte{'['}
	for n, e := range entries {
		i := p.Interrupt(in.Resume[n].InterruptID)
		if i == nil || given[i.ID].Status != in.Resume[n].Status {
			return nil
		}
		if n > 0 {
			list = append(list, ',')
		}
		entry := agui.SetString([]byte(e.Raw), "interruptId", i.Native)
		if in.Resume[n].Status == agui.Cancelled {
			entry = agui.DeleteKey(entry, "payload")
		} else if said := given[i.ID].Payload; len(said) > 0 && !bytes.Equal(said, in.Resume[n].Payload) {
			entry = agui.SetKey(entry, "payload", said)
		}
		list = append(list, entry...)
	}
	return append(list, ']')
}
