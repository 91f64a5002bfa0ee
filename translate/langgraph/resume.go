package langgraph

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A group is a native interrupt with the answers to everything that was published for it, in order.
type group struct {
	native
	at      []int // places of its interrupts in the pause
	answers []agui.Answer
}

// groups sorts a pause's interrupts by their native ones. answers may be nil, or they are the
// pause's in its order. Another dialect may have made the pause, if the operator has named this one
// since. Then its native ids are all that is known.
func groups(p agui.Pause, answers []agui.Answer) []group {
	kept := keptOf(p)
	if len(kept.Natives) == 0 {
		for _, i := range p.Interrupts {
			n := native{ID: i.Native, Way: byScalar}
			if isID(n.ID) {
				n.Way = byID
			}
			kept.Natives = append(kept.Natives, n)
		}
	}
	list := make([]group, len(kept.Natives))
	for at, n := range kept.Natives {
		list[at].native = n
	}
	for at, i := range p.Interrupts {
		where := place{Native: at}
		if len(i.Private) > 0 {
			_ = json.Unmarshal(i.Private, &where)
		}
		if where.Native < 0 || where.Native >= len(list) {
			continue
		}
		g := &list[where.Native]
		g.at = append(g.at, at)
		if at < len(answers) {
			g.answers = append(g.answers, answers[at])
		}
	}
	return slices.DeleteFunc(list, func(g group) bool { return len(g.at) == 0 })
}

// resume returns the request that carries the answers, and what it answers.
func (d *Dialect) resume(r *translate.Request) (translate.Out, []native, error) {
	list := groups(r.Pause, r.Answers)
	answered := make([]native, len(list))
	count := 0
	for i, g := range list {
		answered[i] = g.native
		count += len(g.answers)
	}
	if count != len(r.Pause.Interrupts) {
		return translate.Out{}, nil, kit.Unreadable()
	}
	for _, g := range list {
		if g.Way == byID {
			continue
		}
		if err := kit.Unsure(r.Pause, g.answers...); err != nil {
			return translate.Out{}, nil, err
		}
	}
	body := withMessages(r.Input, resumeMessages(r))
	body = agui.DeleteKey(body, "protocolVersion")
	if slices.ContainsFunc(list, func(g group) bool { return g.Way == byArray }) {
		for _, g := range list {
			for _, a := range g.answers {
				if err := g.unambiguous(a, a.Payload); err != nil {
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
	if sent, ok := r.Input.CommandResume(); !ok || !asSent(sent, value, list) {
		if body, err = withCommand(body, value); err != nil {
			return translate.Out{}, nil, err
		}
	}
	return translate.Out{Body: body, Resumes: true}, answered, nil
}

// command returns the entry of resume that carries the answer, if one can. Else it returns what
// command.resume becomes. That is an id map of everything that is open. It is the value itself if
// the backend gave no id and nothing else is open.
func (d *Dialect) command(r *translate.Request, list []group) (value, entry json.RawMessage, err error) {
	values := make([]json.RawMessage, len(list))
	for i, g := range list {
		v, err := d.value(r, g)
		if err != nil {
			return nil, nil, err
		}
		if err := g.unambiguous(g.answers[0], v); err != nil {
			return nil, nil, err
		}
		values[i] = v
	}
	if len(list) == 1 {
		if entry := list[0].entry(r, values[0]); entry != nil {
			return nil, entry, nil
		}
		if list[0].Way != byID {
			value, err = scalar(list[0], values[0])
			return value, nil, err
		}
	}
	value, err = mapOf(list, values)
	return value, nil, err
}

// mapOf returns the id map of everything that is open.
func mapOf(list []group, values []json.RawMessage) (json.RawMessage, error) {
	m := []byte{'{'}
	sent := map[string]json.RawMessage{}
	for i, g := range list {
		if g.Way != byID {
			return nil, agui.Errorf(agui.InvalidPayload, "the backend gave no usable id for one of its %d open interrupts, so their answers cannot be told apart: "+
				"let it send rawEvent or the interrupt outcome", len(list))
		}
		if other, twice := sent[g.ID]; twice {
			if !equalJSON(other, values[i]) {
				return nil, agui.Errorf(agui.InvalidPayload, "two open interrupts have one id at the backend (langgraph issue 6626): only the same answer can be given to both")
			}
			continue
		}
		sent[g.ID] = values[i]
		m = kit.AppendMember(m, `"`+g.ID+`"`, string(values[i]))
	}
	return append(m, '}'), nil
}

// unambiguous refuses everything but a denial if another call than the one that asked may get the
// answer. An approval of all of them at once would be no better. LangGraph takes one answer at a
// time, asks again for the next call, and runs the first call again with the answer that it has
// (RAN 1.2.22, 200 threads).
func (g group) unambiguous(a agui.Answer, value json.RawMessage) error {
	if a.Payload = value; g.Beside == nil || kit.Denies(a) {
		return nil
	}
	return agui.Errorf(agui.ApprovalAmbiguous, "interrupt %q was asked by one of several calls that run at once in one task, and the backend gives the answer to whichever asks first "+
		"(langgraph issue 6533): another one could run than was approved. Deny or cancel it, and let the agent make one call at a time or run each in a task of its own (Send)", a.ID)
}

// value returns what interrupt() is to return.
func (d *Dialect) value(r *translate.Request, g group) (json.RawMessage, error) {
	if g.isReview() {
		review, ok := g.review()
		if !ok || len(review.asks) != len(g.answers) {
			return nil, kit.Unreadable()
		}
		decisions := make([]json.RawMessage, len(g.answers))
		for i, a := range g.answers {
			decision, err := review.decide(i, a, r.Valid)
			if err != nil {
				return nil, err
			}
			decisions[i] = decision
		}
		return review.assemble(decisions), nil
	}
	if len(g.answers) != 1 {
		return nil, kit.Unreadable()
	}
	a, i := g.answers[0], r.Pause.Interrupts[g.at[0]]
	schema := i.Schema()
	if a.Status == agui.Cancelled {
		if v := d.cancelFor(g.ID, schema, r.Valid); v != nil {
			return v, nil
		}
		return nil, agui.Errorf(agui.InvalidPayload, "interrupt %q cannot be cancelled: nothing that means no fits its responseSchema (HOLDPOINT_LANGGRAPH_CANCEL)", a.ID)
	}
	if isNull(a.Payload) {
		if schema != nil && r.Valid != nil {
			if err := r.Valid(schema, nil); err != nil {
				return nil, agui.Errorf(agui.InvalidPayload, "interrupt %q has no payload, and null does not fit its responseSchema", a.ID)
			}
		}
		return json.RawMessage("null"), nil
	}
	return a.Payload, nil
}

const sentinel = "__agui_cancelled__"

// cancelFor returns what a cancelled answer becomes under a schema. It is the configured value, or
// else a no that the schema itself offers, or nil if there is none.
func (d *Dialect) cancelFor(id string, schema json.RawMessage, valid func(schema, payload json.RawMessage) error) json.RawMessage {
	values := []json.RawMessage{d.cancelled(id)}
	if schema == nil || valid == nil {
		return values[0]
	}
	if gjson.GetBytes(schema, "properties.approved").Exists() {
		values = append(values, json.RawMessage(`{"approved":false}`))
	}
	for _, v := range append(values, json.RawMessage("null")) {
		if valid(schema, v) == nil {
			return v
		}
	}
	return nil
}

func (d *Dialect) cancelled(id string) json.RawMessage {
	if gjson.GetBytes(d.cancel, sentinel).Exists() {
		return agui.SetString(d.cancel, "interrupt_id", id)
	}
	return d.cancel
}

// scalar returns an answer without an id map. Adapters parse a string as JSON. (Before 2026-01 they
// gave it to the graph as it is.) So a string that is JSON text is written as JSON text once more,
// to arrive as the string that it is.
func scalar(g group, v json.RawMessage) (json.RawMessage, error) {
	switch s, isText := text(v); {
	case isNull(v):
		return nil, agui.Errorf(agui.InvalidPayload, "an answer without payload cannot be sent: the backend gave no id for its interrupt, and takes null for no answer")
	case isIDMap(v):
		return nil, agui.Errorf(agui.InvalidPayload, "the payload cannot be sent: the backend gave no id for its interrupt, and takes an object without keys, or with keys of 32 hex digits, for a map of ids")
	case g.Way == byScalar && falsy(v):
		return nil, agui.Errorf(agui.InvalidPayload, "a false, empty or zero answer cannot be sent: the backend gave no id for its interrupt, and takes such a value for no answer")
	case isText && pythonJSON(s):
		return agui.MustMarshal(string(v)), nil
	}
	return v, nil
}

// isIDMap says whether LangGraph takes the value for an id map. Python also takes an empty object
// for one (_loop.py).
func isIDMap(v json.RawMessage) bool {
	m, ok := members(v)
	for k := range m {
		ok = ok && isID(k)
	}
	return ok
}

// falsy says whether Python or JavaScript takes the value for false.
func falsy(v json.RawMessage) bool {
	if isNull(v) || string(v) == "false" || string(v) == `""` {
		return true
	}
	x, ok := decode(v)
	if !ok {
		return true
	}
	switch x := x.(type) {
	case json.Number:
		f, err := x.Float64()
		return err == nil && f == 0
	case map[string]any:
		return len(x) == 0
	case []any:
		return len(x) == 0
	}
	return false
}

// pythonJSON says whether json.loads or JSON.parse makes something else of the text.
func pythonJSON(s string) bool {
	switch strings.TrimSpace(s) {
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	return json.Valid([]byte(s))
}

// asSent says whether the client's own command.resume can stay as it is. It can if it is the value.
// It also can if it is the value's JSON text and no id map can be sent, because adapters of before
// 2026-01 give that text to the graph. If there is an id, the map goes. A scalar would answer every
// open question, even those that the adapter did not report (RAN on the JavaScript server).
func asSent(sent, value json.RawMessage, list []group) bool {
	if equalJSON(sent, value) {
		return true
	}
	s, isText := text(sent)
	if !isText || len(list) != 1 || list[0].Way == byID || list[0].isReview() {
		return false
	}
	return json.Valid([]byte(s)) && !falsy(json.RawMessage(s)) && !isIDMap(json.RawMessage(s)) && equalJSON(json.RawMessage(s), value)
}
