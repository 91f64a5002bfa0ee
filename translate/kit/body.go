package kit

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// WithoutMembers returns a JSON object without the members in names. It also removes members that
// are null, because clients from 0.0.54 on fail at a null in an Interrupt. The other members keep
// their bytes and their order.
func WithoutMembers(object gjson.Result, names ...string) []byte {
	if !object.IsObject() {
		return []byte(object.Raw)
	}
	return MapMembers(object, func(k, v gjson.Result) string {
		if v.Type == gjson.Null || slices.Contains(names, k.Str) {
			return ""
		}
		return v.Raw
	})
}

// AppendMember appends a member to an object that begins with '{' and is not closed yet. The
// parameter key is JSON with its quotes. The parameter value is JSON.
func AppendMember(object []byte, key, value string) []byte {
	object = slices.Grow(object, len(key)+len(value)+len(",:}"))
	if len(object) > 1 {
		object = append(object, ',')
	}
	object = append(object, key...)
	object = append(object, ':')
	return append(object, value...)
}

// AppendElement appends the JSON value to an array that begins with '[' and is not closed yet.
func AppendElement[T string | []byte | json.RawMessage](array []byte, value T) []byte {
	if len(array) > 1 {
		array = append(array, ',')
	}
	return append(array, value...)
}

// MapMembers returns an object with the same keys. The JSON of each member is the result of the
// function value. If that result is "", the member is left out.
func MapMembers(object gjson.Result, value func(k, v gjson.Result) string) []byte {
	out := append(make([]byte, 0, len(object.Raw)), '{')
	object.ForEach(func(k, v gjson.Result) bool {
		if text := value(k, v); text != "" {
			out = AppendMember(out, k.Raw, text)
		}
		return true
	})
	return append(out, '}')
}

// AppendText appends a string member to an object that begins with '{' and is not closed yet. The
// parameter key must not contain characters that JSON escapes.
func AppendText(object []byte, key, value string) []byte {
	object = slices.Grow(object, len(key)+len(value)+len(`,"":""}`))
	if len(object) > 1 {
		object = append(object, ',')
	}
	object = append(append(append(object, '"'), key...), '"', ':')
	return agui.AppendString(object, value)
}

// OwnRunID returns the body with a new, unique run id. A dialect uses it if its backend finds a
// paused run by the run id alone. The package proxy puts the client's run id back into the
// response.
func OwnRunID(r *translate.Request, body []byte) []byte {
	if r.NewID == nil {
		return body
	}
	return agui.SetString(body, "runId", r.NewID())
}

// ResumeArray returns the resume array for a backend that reads one. The parameter answers has one
// answer for each question of p, in the order of p.
//
// If the client sent a resume array with these answers, its entries are kept byte for byte, with
// two exceptions: they get the backend's ids, and payloads that the dialect has changed are
// replaced. Otherwise the array is made from the answers, for example when the package proxy
// cancels an expired pause. A cancelled entry has no payload, because some backends (AGUI.Server)
// ignore the status and read any payload as an answer.
func ResumeArray(in agui.RunInput, p agui.Pause, answers []agui.Answer) json.RawMessage {
	if list := clientsArray(in, p, answers); list != nil {
		return list
	}
	list := []byte{'['}
	for n, a := range answers {
		if a.Status == agui.Cancelled {
			a.Payload = nil
		}
		list = AppendElement(list, agui.MustMarshal(struct {
			InterruptID string          `json:"interruptId"`
			Status      agui.Status     `json:"status"`
			Payload     json.RawMessage `json:"payload,omitempty"`
		}{p.Interrupts[n].Native, a.Status, a.Payload}))
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
		entry := agui.SetString([]byte(e.Raw), "interruptId", i.Native)
		if in.Resume[n].Status == agui.Cancelled {
			entry = agui.DeleteKey(entry, "payload")
		} else if said := given[i.ID].Payload; len(said) > 0 && !bytes.Equal(said, in.Resume[n].Payload) {
			entry = agui.SetKey(entry, "payload", said)
		}
		list = AppendElement(list, entry)
	}
	return append(list, ']')
}
