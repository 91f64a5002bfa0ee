package langgraphapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// Answers reads resume and command.resume, as translate.Dialect.Answers does. If an answer in
// command.resume belongs to no pause, its id is one that no interrupt has, so that the contract
// refuses it. If it were sent, it would answer any question that the thread waits for.
func Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	sent, native := in.CommandResume()
	if !native {
		return entries(in, p), nil
	}
	if err := kit.NoObject(in); err != nil {
		return nil, err
	}
	answers, err := fromCommand(in, p, sent)
	if err != nil || len(in.Resume) == 0 {
		return answers, err
	}
	// If the request has both forms, resume is used, as in adapter 0.0.43, but only if the other form
	// has the same answers. If they differ, either of them may be the denial.
	list := entries(in, p)
	switch {
	case p.ID == "":
		return append(list, answers...), nil
	case !agree(p, list, answers):
		return nil, agui.Errorf(agui.ResumeConflict, textFormsDiffer)
	}
	return list, nil
}

// entries returns the answers in the resume array.
func entries(in agui.RunInput, p agui.Pause) []agui.Answer {
	if len(in.Resume) == 0 {
		return nil
	}
	var list []agui.Answer
	kept := byPublished(Groups(p, nil), p)
	for _, e := range in.Resume {
		a := agui.Answer{ID: e.InterruptID, Status: e.Status, Payload: e.Payload}
		if g := kept[a.ID]; g != nil && a.Status == agui.Resolved {
			a.Payload = g.withoutID(a.Payload)
			alias(&a, *g, p)
		}
		list = append(list, a)
	}
	return list
}

// withoutID unwraps an answer that is an id map with only the group's id, as another Holdpoint in
// front of this one sends it. It returns any other payload unchanged.
func (g Group) withoutID(payload json.RawMessage) json.RawMessage {
	if m, _ := Members(payload); g.AnswerForm == ByID && len(m) == 1 && m[g.ID] != nil {
		return m[g.ID]
	}
	return payload
}

// byPublished returns the groups by the ids of their published interrupts.
func byPublished(list []Group, p agui.Pause) map[string]*Group {
	found := make(map[string]*Group, len(p.Interrupts))
	for i := range list {
		for _, at := range list[i].At {
			if id := p.Interrupts[at].ID; found[id] == nil {
				found[id] = &list[i]
			}
		}
	}
	return found
}

// placesOf returns the indexes of the groups by their native ids.
func placesOf(list []Group) map[string][]int {
	places := make(map[string][]int, len(list))
	for at, g := range list {
		places[g.ID] = append(places[g.ID], at)
	}
	return places
}

// alias expands the short forms of an answer to a review: true and false, and the backend's own
// form for one action. It never turns any other answer into an approval. It leaves an unknown form
// unchanged, and the schema refuses it.
func alias(a *agui.Answer, g Group, p agui.Pause) {
	if !g.IsReview() {
		return
	}
	if g.Shape == Elicitation {
		i := slices.IndexFunc(g.At, func(at int) bool { return p.Interrupts[at].ID == a.ID })
		if r, ok := g.review(); ok && i >= 0 && i < len(r.asks) {
			r.writeElicited(i, a)
		}
		return
	}
	if s := string(a.Payload); s == "true" || s == "false" {
		a.Payload = json.RawMessage(`{"approved":` + s + `}`)
		return
	}
	if g.Shape != HITL {
		a.OwnForm = isResponse(a.Payload)
		return
	}
	m, _ := Members(a.Payload)
	var decisions []json.RawMessage
	if len(m) == 1 && json.Unmarshal(m["decisions"], &decisions) == nil && len(decisions) == 1 {
		a.Payload, a.OwnForm = decisions[0], true
	}
}

// isResponse reports whether a payload is a response in Agent Inbox's own form, or a list of them.
func isResponse(payload json.RawMessage) bool {
	v := gjson.ParseBytes(payload)
	if v.IsArray() {
		list := v.Array()
		return len(list) > 0 && !slices.ContainsFunc(list, func(r gjson.Result) bool { return !isResponse(RawOf(r)) || r.IsArray() })
	}
	m, _ := Members(payload)
	_, ok := Text(m["type"])
	return ok && m["approved"] == nil
}

// fromCommand reads forwardedProps.command.resume.
func fromCommand(in agui.RunInput, p agui.Pause, sent json.RawMessage) ([]agui.Answer, error) {
	value := parseResume(sent)
	list := Groups(p, nil)
	if p.ID == "" || len(list) == 0 {
		return answersToUnknown(value), nil
	}
	echoed := echo(in, p, list)
	if in.InterruptEvent() != nil && echoed < 0 {
		return answerWithoutID(value), nil // the answer is for another question
	}
	if m, ok := idMap(value, p, list); ok {
		return fromMap(m, p, list)
	}
	g := list[max(echoed, 0)]
	if len(list) > 1 {
		// The value is not a map although several questions are open. It does not tell which question it
		// answers, and LangGraph's JavaScript server would use it for all of them. It is returned as the
		// answer to one question, so the contract finds that the others are unanswered.
		return answerAll(p, g, value)[:1], nil
	}
	return answerAll(p, g, value), nil
}

// answersToUnknown returns the answers to an unknown pause. If the value is an id map, it returns
// one answer for each id. Otherwise it returns one answer without an id.
func answersToUnknown(value json.RawMessage) []agui.Answer {
	m, ok := Members(value)
	var list []agui.Answer
	for k, v := range m {
		id, _, _ := strings.Cut(k, "~")
		ok = ok && IsID(id)
		list = append(list, agui.Answer{ID: k, Status: agui.Resolved, Payload: nonNull(v), Native: true})
	}
	if !ok || len(list) == 0 {
		return answerWithoutID(value)
	}
	slices.SortFunc(list, func(a, b agui.Answer) int { return strings.Compare(a.ID, b.ID) })
	return list
}

func answerWithoutID(value json.RawMessage) []agui.Answer {
	return []agui.Answer{{Status: agui.Resolved, Payload: nonNull(value), Native: true}}
}

func nonNull(v json.RawMessage) json.RawMessage {
	if IsNull(v) {
		return nil
	}
	return v
}

// parseResume returns the value that the adapter reads from command.resume. The adapter parses a
// string as JSON, and keeps the string if that fails.
func parseResume(sent json.RawMessage) json.RawMessage {
	if s, ok := Text(sent); ok && json.Valid([]byte(s)) {
		return json.RawMessage(strings.TrimSpace(s))
	}
	return sent
}

// echo returns the index of the group that an echoed interruptEvent belongs to. It returns -1 if
// there is no echo, or if the echo belongs to no group. The event is the value of a CUSTOM event,
// either of LangGraph or of Holdpoint. Holdpoint's has the published ids.
func echo(in agui.RunInput, p agui.Pause, list []Group) int {
	event := in.InterruptEvent()
	if event == nil {
		return -1
	}
	same, sameText := agui.EqualTo(event), agui.EqualTo(parseResume(event))
	for at, g := range list {
		if same(g.Value) || sameText(g.Value) || sameText(WithoutConfig(g.Value)) {
			return at
		}
	}
	published := byPublished(list, p)
	for _, id := range in.EchoedIDs() {
		if g := published[id]; g != nil {
			return slices.IndexFunc(list, func(one Group) bool { return one.At[0] == g.At[0] })
		}
	}
	return -1
}

// idMap returns the value as a map if all its keys are ids, native or published. If a key is
// neither, the value is the answer itself. A value whose keys all have the form of ids is a map
// even if the ids are unknown, because LangGraph reads it as a map.
func idMap(value json.RawMessage, p agui.Pause, list []Group) (map[string]json.RawMessage, bool) {
	m, ok := Members(value)
	if !ok || len(m) == 0 {
		return nil, false
	}
	natives := placesOf(list)
	for k := range m {
		id, _, _ := strings.Cut(k, "~")
		known := p.Interrupt(k) != nil || k != "" && len(natives[k]) > 0
		if !known && !IsID(id) {
			return nil, false
		}
	}
	return m, true
}

func fromMap(m map[string]json.RawMessage, p agui.Pause, list []Group) ([]agui.Answer, error) {
	var answers []agui.Answer
	given := map[string]bool{}
	add := func(more ...agui.Answer) error {
		for _, a := range more {
			if given[a.ID] {
				return agui.Errorf(agui.InvalidPayload, textAnsweredTwice, a.ID)
			}
			given[a.ID] = true
			answers = append(answers, a)
		}
		return nil
	}
	keys := slices.Sorted(maps.Keys(m))
	published, natives := byPublished(list, p), placesOf(list)
	for _, k := range keys {
		if p.Interrupt(k) != nil {
			a := agui.Answer{ID: k, Status: agui.Resolved, Payload: nonNull(m[k]), Native: true}
			if g := published[k]; g != nil {
				if len(g.At) == 1 {
					a = answerAll(p, *g, m[k])[0]
				} else {
					a.Native = false // an answer to one of several actions has the form of a resume entry
					alias(&a, *g, p)
				}
			}
			if err := add(a); err != nil {
				return nil, err
			}
			continue
		}
		for _, at := range natives[k] {
			if err := add(answerAll(p, list[at], m[k])...); err != nil {
				return nil, err
			}
		}
		if len(natives[k]) == 0 {
			if err := add(agui.Answer{ID: k, Status: agui.Resolved, Payload: nonNull(m[k]), Native: true}); err != nil {
				return nil, err
			}
		}
	}
	return answers, nil
}

// answerAll reads a value as the answer to a native interrupt, and returns answers for the
// interrupts that were published for it. If the value is in a review's own form (decisions, a list
// of responses), each answer has the whole value, and Begin takes it apart. Any other value is one
// answer. If the review has several actions, it answers only the first.
func answerAll(p agui.Pause, g Group, value json.RawMessage) []agui.Answer {
	a := agui.Answer{ID: p.Interrupts[g.At[0]].ID, Status: agui.Resolved, Payload: nonNull(value), Native: true}
	own := false
	switch m, _ := Members(value); g.Shape {
	case Elicitation:
		responses, ok := Members(m["responses"])
		if r, known := g.review(); ok && known && len(m) == 1 && len(r.asks) == len(g.At) {
			if list := r.elicitedAll(p, g, responses); len(list) > 0 {
				return list
			}
		}
	case HITL:
		own = m["decisions"] != nil
	case Inbox, PerCall:
		own = isResponse(value)
	}
	if !own {
		if g.IsReview() {
			alias(&a, g, p)
		}
		return []agui.Answer{a}
	}
	list := make([]agui.Answer, len(g.At))
	for i, at := range g.At {
		list[i] = agui.Answer{ID: p.Interrupts[at].ID, Status: agui.Resolved, Payload: value, OwnForm: true, Native: true}
	}
	return list
}

// agree reports whether two lists of answers mean the same to the backend.
func agree(p agui.Pause, a, b []agui.Answer) bool {
	if len(a) != len(b) {
		return false
	}
	list := byPublished(Groups(p, nil), p)
	places := make(map[string]int, len(b))
	for n := len(b) - 1; n >= 0; n-- {
		places[b[n].ID] = n
	}
	reviews := map[*Group]review{}
	for _, x := range a {
		at, ok := places[x.ID]
		if !ok || x.Status != b[at].Status {
			return false
		}
		if agui.EqualJSON(x.Payload, b[at].Payload) {
			continue
		}
		g := list[x.ID]
		if g == nil {
			return false
		}
		if _, ok := reviews[g]; !ok {
			reviews[g], _ = g.review()
		}
		one, okOne := decision(reviews[g], *g, p, x)
		other, okOther := decision(reviews[g], *g, p, b[at])
		if !okOne || !okOther || !agui.EqualJSON(one, other) {
			return false
		}
	}
	return true
}

// decision returns the backend's decision for an answer to a review.
func decision(r review, g Group, p agui.Pause, a agui.Answer) (json.RawMessage, bool) {
	if len(r.asks) == 0 || len(r.asks) != len(g.At) {
		return nil, false
	}
	i := slices.IndexFunc(g.At, func(at int) bool { return p.Interrupts[at].ID == a.ID })
	d, err := r.decide(i, a, nil)
	return d, err == nil
}
