package kit

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Answers reads the answers that clients of any backend may send: the entries of the resume array,
// and command.resume. Clients that support only the CUSTOM event send command.resume, because they
// got the CUSTOM event that Holdpoint makes. A caller that also reads a resume object must clear it
// first.
func Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	list := Entries(in)
	sent, native := in.CommandResume()
	if !native {
		return list, nil
	}
	if err := NoObject(in); err != nil {
		return nil, err
	}
	answers, err := fromCommand(in, p, gjson.ParseBytes(sent))
	switch {
	case err != nil:
		return nil, err
	case p.ID == "":
		return append(list, answers...), nil
	}
	return OneSet(list, answers)
}

// NoObject returns an error if the request has a resume object in addition to another answer.
// Callers that do not read a resume object need it, because the object may be a denial.
func NoObject(in agui.RunInput) error {
	if in.ResumeObject == nil {
		return nil
	}
	return agui.Errorf(agui.InvalidPayload, textResumeNotArray)
}

// Entries returns the entries of the resume array as answers.
func Entries(in agui.RunInput) []agui.Answer {
	var list []agui.Answer
	for _, e := range in.Resume {
		list = append(list, agui.Answer{ID: e.InterruptID, Status: e.Status, Payload: e.Payload})
	}
	return list
}

// EntriesByID returns the client's resume entries in a map. The keys are the ids in the entries.
func EntriesByID(in agui.RunInput) map[string]gjson.Result {
	given := make(map[string]gjson.Result, len(in.Resume))
	for n, e := range gjson.GetBytes(in.Raw, "resume").Array() {
		if n < len(in.Resume) {
			given[in.Resume[n].InterruptID] = e
		}
	}
	return given
}

// OneSet returns the answers of a request that may contain them in two forms. Each list has the
// answers in one form, and may be empty. If both lists have answers that differ, OneSet returns an
// error.
func OneSet(entries, native []agui.Answer) ([]agui.Answer, error) {
	switch {
	case len(entries) == 0:
		return native, nil
	case len(native) > 0 && !agree(entries, native):
		return nil, agui.Errorf(agui.ResumeConflict, textFormsDiffer)
	}
	return entries, nil
}

// fromCommand reads the answer in command.resume. It is the value for the only open question, or an
// object whose keys are ids of questions. A string that contains a JSON object or array is parsed,
// as the adapters with this form do.
func fromCommand(in agui.RunInput, p agui.Pause, sent gjson.Result) ([]agui.Answer, error) {
	value := ParseText(sent)
	nowhere := []agui.Answer{{Status: agui.Resolved, Payload: Payload(value), Native: true}}
	if p.ID == "" || len(p.Interrupts) == 0 {
		return nowhere, nil
	}
	list, ok, err := fromMap(value, p)
	switch {
	case err != nil:
		return nil, err
	case ok:
		return list, nil
	}
	// If the client sends no interruptEvent, the answer is for the open pause. It answers only one
	// question. If the pause has several, the package contract finds that the others have no
	// answer.
	id := p.Interrupts[0].ID
	if in.InterruptEvent() != nil {
		ids := in.EchoedIDs()
		at := slices.IndexFunc(ids, func(id string) bool { return p.Interrupt(id) != nil })
		if at < 0 {
			return nowhere, nil
		}
		id = ids[at]
	}
	return []agui.Answer{{ID: id, Status: agui.Resolved, Payload: Payload(value), Native: true}}, nil
}

// fromMap reads an object whose keys are all ids of the pause's questions. An id may be a published
// id. It may also be the backend's id, if only one interrupt has that id.
func fromMap(value gjson.Result, p agui.Pause) (list []agui.Answer, ok bool, err error) {
	if !value.IsObject() {
		return nil, false, nil
	}
	ok = true
	given := map[string]bool{}
	value.ForEach(func(k, v gjson.Result) bool {
		i := p.InterruptNamed(k.Str)
		if ok = i != nil; !ok {
			return false
		}
		if given[i.ID] {
			err = agui.Errorf(agui.InvalidPayload, textAnsweredTwice, i.ID)
			return false
		}
		given[i.ID] = true
		list = append(list, agui.Answer{ID: i.ID, Status: agui.Resolved, Payload: Payload(v), Native: true})
		return true
	})
	return list, ok && len(list) > 0, err
}

// agree reports whether two lists have the same answers, in any order.
func agree(a, b []agui.Answer) bool {
	if len(a) != len(b) {
		return false
	}
	said := make(map[string]bool, len(b))
	for _, y := range b {
		said[meaning(y)] = true
	}
	return !slices.ContainsFunc(a, func(x agui.Answer) bool { return !said[meaning(x)] })
}

// meaning returns a string for comparing answers. Equal answers have the same string.
func meaning(a agui.Answer) string {
	return string(a.Status) + " " + string(agui.Canonical(a.Payload)) + " " + a.ID
}

// Payload returns the JSON of the value as the payload of an answer. It returns nil if the value is
// null, because null is not an answer.
func Payload(v gjson.Result) json.RawMessage {
	if !v.Exists() || v.Type == gjson.Null {
		return nil
	}
	return json.RawMessage(strings.TrimSpace(v.Raw))
}
