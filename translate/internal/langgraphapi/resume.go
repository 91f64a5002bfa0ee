package langgraphapi

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A Group is a native interrupt, with the answers to its published interrupts in order.
type Group struct {
	Native
	At      []int // indexes in Pause.Interrupts of its published interrupts
	Answers []agui.Answer
}

// keptOf returns the native interrupts that a pause stores in Pause.Private. All dialects of
// LangGraph store them under "natives". The result is empty if another dialect made the pause.
func keptOf(p agui.Pause) (state struct {
	Natives []Native `json:"natives"`
}) {
	if json.Unmarshal(p.Private, &state) != nil {
		state.Natives = nil
	}
	return state
}

// Groups returns the groups of a pause: one for each native interrupt. The parameter answers is
// nil, or has one answer for each published interrupt, in order. If another dialect made the pause,
// before the operator selected this one, a Group knows only the backend's id.
func Groups(p agui.Pause, answers []agui.Answer) []Group {
	kept := keptOf(p)
	if len(kept.Natives) == 0 {
		for _, i := range p.Interrupts {
			n := Native{ID: i.Native, AnswerForm: ByScalar}
			if IsID(n.ID) {
				n.AnswerForm = ByID
			}
			kept.Natives = append(kept.Natives, n)
		}
	}
	list := make([]Group, len(kept.Natives))
	for at, n := range kept.Natives {
		list[at].Native = n
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
		g.At = append(g.At, at)
		if at < len(answers) {
			g.Answers = append(g.Answers, answers[at])
		}
	}
	return slices.DeleteFunc(list, func(g Group) bool { return len(g.At) == 0 })
}

// MapOf returns the object from the ids of all groups to their values, for command.resume.
func MapOf(list []Group, values []json.RawMessage) (json.RawMessage, error) {
	m := []byte{'{'}
	sent := map[string]json.RawMessage{}
	for i, g := range list {
		if g.AnswerForm != ByID {
			return nil, agui.Errorf(agui.InvalidPayload, textNoIDs, len(list))
		}
		if other, twice := sent[g.ID]; twice {
			if !agui.EqualJSON(other, values[i]) {
				return nil, agui.Errorf(agui.InvalidPayload, textTwinIDs)
			}
			continue
		}
		sent[g.ID] = values[i]
		m = kit.AppendMember(m, `"`+g.ID+`"`, string(values[i]))
	}
	return append(m, '}'), nil
}

// CheckRivals returns an error if the answer may reach another call than the one that asked. It
// allows a denial in any case. It would not help to approve all these calls at once: LangGraph
// accepts one answer at a time, asks again for the next call, and then runs the first call again
// with the answer that it already has (RAN 1.2.22, 200 threads).
func (g Group) CheckRivals(a agui.Answer, value json.RawMessage) error {
	if a.Payload = value; g.RivalCalls == nil || kit.Denies(a) || g.Shape == Elicitation && !accepts(value) {
		return nil
	}
	return agui.Errorf(agui.ApprovalAmbiguous, textCallsAtOnce, a.ID)
}

// Value returns the value that interrupt() must return in the graph. The parameter cancel is the
// configured value for a cancelled answer.
func Value(r *translate.Request, g Group, cancel json.RawMessage) (json.RawMessage, error) {
	if g.IsReview() {
		review, ok := g.review()
		if !ok || len(review.asks) != len(g.Answers) {
			return nil, kit.Unreadable()
		}
		decisions := make([]json.RawMessage, len(g.Answers))
		for i, a := range g.Answers {
			decision, err := review.decide(i, a, r.Valid)
			if err != nil {
				return nil, err
			}
			decisions[i] = decision
		}
		return review.assemble(decisions), nil
	}
	if len(g.Answers) != 1 {
		return nil, kit.Unreadable()
	}
	a, i := g.Answers[0], r.Pause.Interrupts[g.At[0]]
	schema := i.Schema()
	if a.Status == agui.Cancelled {
		if v := cancelFor(cancel, g.ID, schema, r.Valid); v != nil {
			return v, nil
		}
		return nil, agui.Errorf(agui.InvalidPayload, textNoFittingCancel, a.ID)
	}
	if IsNull(a.Payload) {
		if schema != nil && r.Valid != nil {
			if err := r.Valid(schema, nil); err != nil {
				return nil, agui.Errorf(agui.InvalidPayload, textNullUnfit, a.ID)
			}
		}
		return json.RawMessage("null"), nil
	}
	return a.Payload, nil
}

const sentinel = "__agui_cancelled__"

// cancelFor returns the value that is sent for a cancelled answer. It is the configured value if
// that fits the schema, and otherwise a denial that fits the schema. It is nil if neither fits.
func cancelFor(cancel json.RawMessage, id string, schema json.RawMessage, valid func(schema, payload json.RawMessage) error) json.RawMessage {
	values := []json.RawMessage{cancelValue(cancel, id)}
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

func cancelValue(cancel json.RawMessage, id string) json.RawMessage {
	if gjson.GetBytes(cancel, sentinel).Exists() {
		return agui.SetString(cancel, "interrupt_id", id)
	}
	return cancel
}

// IsIDMap reports whether LangGraph reads the value as an object from ids to values. Python also
// reads an empty object in this way (_loop.py).
func IsIDMap(v json.RawMessage) bool {
	m, ok := Members(v)
	for k := range m {
		ok = ok && IsID(k)
	}
	return ok
}

// Falsy reports whether Python or JavaScript treats the value as false in a condition.
func Falsy(v json.RawMessage) bool {
	if IsNull(v) || string(v) == "false" || string(v) == `""` {
		return true
	}
	x, ok := agui.DecodeJSON(v)
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
