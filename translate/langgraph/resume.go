package langgraph

import (
	"encoding/json"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/langgraphapi"
	"holdpoint/translate/kit"
)

// resume returns the request that carries the answers to the backend, and the questions that these
// answers are for.
func (d *Dialect) resume(r *translate.Request) (translate.Out, []langgraphapi.Native, error) {
	list := langgraphapi.Groups(r.Pause, r.Answers)
	answered := make([]langgraphapi.Native, len(list))
	count := 0
	for i, g := range list {
		answered[i] = g.Native
		count += len(g.Answers)
	}
	if count != len(r.Pause.Interrupts) {
		return translate.Out{}, nil, kit.Unreadable()
	}
	for _, g := range list {
		if g.AnswerForm == langgraphapi.ByID {
			continue
		}
		if err := kit.RefuseContested(r.Pause, g.Answers...); err != nil {
			return translate.Out{}, nil, err
		}
	}
	body := withMessages(r.Input, resumeMessages(r))
	body = agui.DeleteKey(body, "protocolVersion")
	if slices.ContainsFunc(list, func(g langgraphapi.Group) bool { return g.AnswerForm == langgraphapi.ByArray }) {
		for _, g := range list {
			for _, a := range g.Answers {
				if err := g.CheckRivals(a, a.Payload); err != nil {
					return translate.Out{}, nil, err
				}
			}
		}
		if _, ok := r.Input.CommandResume(); ok {
			body = kit.BodyWithoutCommand(r.Input, body)
		}
		body = agui.SetKey(body, "resume", kit.ResumeArray(r.Input, r.Pause, r.Answers))
		return translate.Out{Body: body, Resumes: true}, answered, nil
	}
	value, entry, err := d.command(r, list)
	if err != nil {
		return translate.Out{}, nil, err
	}
	if entry != nil {
		if _, ok := r.Input.CommandResume(); ok {
			body = kit.BodyWithoutCommand(r.Input, body)
		}
		return translate.Out{Body: agui.SetKey(body, "resume", slices.Concat([]byte{'['}, entry, []byte{']'})), Resumes: true}, answered, nil
	}
	body = agui.DeleteKey(body, "resume")
	if sent, ok := r.Input.CommandResume(); !ok || !canStayAsSent(sent, value, list) {
		if body, err = withCommand(body, value); err != nil {
			return translate.Out{}, nil, err
		}
	}
	return translate.Out{Body: body, Resumes: true}, answered, nil
}

// command returns the entry of `resume` that carries the answer, if entryOf makes one. Otherwise it
// returns the value of command.resume. This value is an id map of all open questions, or the bare
// answer if the backend sent no id and only one question is open.
func (d *Dialect) command(r *translate.Request, list []langgraphapi.Group) (value, entry json.RawMessage, err error) {
	values := make([]json.RawMessage, len(list))
	for i, g := range list {
		v, err := langgraphapi.Value(r, g, d.cancel)
		if err != nil {
			return nil, nil, err
		}
		if err := g.CheckRivals(g.Answers[0], v); err != nil {
			return nil, nil, err
		}
		values[i] = v
	}
	if len(list) == 1 {
		if one := entryOf(list[0], r, values[0]); one != nil {
			return nil, one, nil
		}
		if list[0].AnswerForm != langgraphapi.ByID {
			value, err = scalar(list[0], values[0])
			return value, nil, err
		}
	}
	value, err = langgraphapi.MapOf(list, values)
	return value, nil, err
}

// scalar returns the answer v as it is sent without an id map. Adapters since 2026-01 parse a
// string as JSON; earlier ones passed it to the graph unchanged. So a string that is itself JSON
// text is encoded a second time. Otherwise the graph would not get it as a string.
func scalar(g langgraphapi.Group, v json.RawMessage) (json.RawMessage, error) {
	switch s, isText := langgraphapi.Text(v); {
	case langgraphapi.IsNull(v):
		return nil, agui.Errorf(agui.InvalidPayload, textNoPayload)
	case langgraphapi.IsIDMap(v):
		return nil, agui.Errorf(agui.InvalidPayload, textIDMap)
	case g.AnswerForm == langgraphapi.ByScalar && langgraphapi.Falsy(v):
		return nil, agui.Errorf(agui.InvalidPayload, textFalsy)
	case isText && pythonJSON(s):
		return agui.MustMarshal(string(v)), nil
	}
	return v, nil
}

// pythonJSON reports whether json.loads of Python or JSON.parse of JavaScript accepts the text.
func pythonJSON(s string) bool {
	switch strings.TrimSpace(s) {
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	return json.Valid([]byte(s))
}

// canStayAsSent reports whether the client's own command.resume (the parameter sent) can be sent
// unchanged. It can if it equals value. It also can if it is the JSON text of value and no id map
// can be sent, because adapters before 2026-01 pass that text to the graph. If the question has an
// id, the id map must be sent. Without the map, a bare value would answer every open question, even
// questions that the adapter did not report (RAN on the JavaScript server).
func canStayAsSent(sent, value json.RawMessage, list []langgraphapi.Group) bool {
	if agui.EqualJSON(sent, value) {
		return true
	}
	s, isText := langgraphapi.Text(sent)
	if !isText || len(list) != 1 || list[0].AnswerForm == langgraphapi.ByID || list[0].IsReview() {
		return false
	}
	return json.Valid([]byte(s)) && !langgraphapi.Falsy(json.RawMessage(s)) && !langgraphapi.IsIDMap(json.RawMessage(s)) && agui.EqualJSON(json.RawMessage(s), value)
}
