package strands

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Answers implements translate.Dialect. A bare string, true or false does not fit the schema
// {approved}. So Answers marks such an answer as the dialect's own form (OwnForm), and Begin checks
// it.
func (d *Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	list, err := kit.Answers(in, p)
	for n := range list {
		a := &list[n]
		if i := p.Interrupt(a.ID); i == nil || i.Schema() == nil || a.Status != agui.Resolved || d.rules.Schema(nameOf(*i)) != nil {
			continue
		}
		switch v := gjson.ParseBytes(a.Payload); v.Type {
		case gjson.String, gjson.True, gjson.False:
			a.OwnForm = true
		}
	}
	return kit.CancelsLost(p, list), err
}

func privateOf(i agui.Interrupt) private { return kit.ReadPrivate[private](i.Private) }

func nameOf(i agui.Interrupt) string { return privateOf(i).Name }

// responses returns the prompt of a resume. It is one list with all answers:
// [{"interruptResponse":{"interruptId":..,"response":..}},..].
func (d *Dialect) responses(r *translate.Request) ([]byte, error) {
	if len(r.Answers) != len(r.Pause.Interrupts) || len(r.Answers) == 0 {
		return nil, kit.Unreadable()
	}
	sent := map[string]json.RawMessage{}
	list := []byte{'['}
	for n, a := range r.Answers {
		i := r.Pause.Interrupts[n]
		kept := privateOf(i)
		rule, _ := d.rules.Answer(kept.Name)
		v, err := rule.ValueFor(a, !kept.Tool)
		if err != nil {
			return nil, err
		}
		if other, twice := sent[i.Native]; twice {
			if string(agui.Canonical(other)) != string(agui.Canonical(v)) {
				return nil, agui.Errorf(agui.InvalidPayload, textTwinIDs)
			}
			continue
		}
		sent[i.Native] = v
		list = appendResponse(list, i.Native, v)
	}
	return append(list, ']'), nil
}

// appendResponse appends an answer to a JSON list that has no closing bracket yet.
func appendResponse(list []byte, id string, response json.RawMessage) []byte {
	one := kit.AppendMember(kit.AppendText([]byte{'{'}, "interruptId", id), `"response"`, string(response))
	return kit.AppendElement(list, `{"interruptResponse":`+string(one)+`}}`)
}

// Interpret implements translate.Interpreter. If the meaning of an answer is still unclear, it
// reads the answer by the words for yes and no in the operator's rules.
func (d *Dialect) Interpret(p agui.Pause, answers []agui.Answer, read []agui.Reading) {
	d.rules.Interpret(p, answers, read, nameOf)
}
