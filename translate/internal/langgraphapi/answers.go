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

// Answers reads the resume array and command.resume, as translate.Dialect.Answers does. An answer
// in command.resume that belongs to no pause gets an id that no interrupt has, so that the package
// contract refuses it. If the backend got it, it would answer whatever question the thread waits
// for.
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
	// If the request has both forms, the resume array is used, as in adapter 0.0.43. But both must
	// have the same answers. If they differ, one of them may be a denial, so the request is
	// refused.
	list := entries(in, p)
	switch {
	case p.ID == "":
		return append(list, answers...), nil
	case !agree(p, list, answers):
		return nil, agui.Errorf(agui.ResumeConflict, textFormsDiffer)
	}
	return list, nil
}

// entries returns the answers that are in the resume array.
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

// withoutID unwraps a payload that is an object with the group's id as its only key. A second
// Holdpoint in front of this one sends an answer in this form. withoutID returns any other payload
// unchanged.
func (g Group) withoutID(payload json.RawMessage) json.RawMessage {
	if m, _ := Members(payload); g.AnswerForm == ByID && len(m) == 1 && m[g.ID] != nil {
		return m[g.ID]
	}
	return payload
}

// byPublished returns the groups in a map. The keys are the published ids of their interrupts.
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

// placesOf returns the indexes of the groups in a map. The keys are the backend's ids.
func placesOf(list []Group) map[string][]int {
	places := make(map[string][]int, len(list))
	for at, g := range list {
		places[g.ID] = append(places[g.ID], at)
	}
	return places
}

// alias changes an answer to a review into its long form, if it is in one of these short forms:
// true, false, and the backend's own form for one action. It never turns any other answer into an
// approval. An answer in an unknown form stays unchanged, and the schema then refuses it.
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

// isResponse reports whether the payload is a response in Agent Inbox's own form, or a list of such
// responses.
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

// fromCommand reads the answers in forwardedProps.command.resume.
func fromCommand(in agui.RunInput, p agui.Pause, sent json.RawMessage) ([]agui.Answer, error) {
	value := parseResume(sent)
	list := Groups(p, nil)
	if p.ID == "" || len(list) == 0 {
		return answersToUnknown(value), nil
	}
	echoed := echo(in, p, list)
	if in.InterruptEvent() != nil && echoed < 0 {
		return answerWithoutID(value), nil // the answer is for a question that is not open
	}
	if m, ok := idMap(value, p, list); ok {
		return fromMap(m, p, list)
	}
	g := list[max(echoed, 0)]
	if len(list) > 1 {
		// Several questions are open, but the value does not say which one it answers. LangGraph's
		// JavaScript server would use it for all of them. So it counts as the answer to only one
		// question. The package contract then finds that the other questions have no answer.
		return answerAll(p, g, value)[:1], nil
	}
	return answerAll(p, g, value), nil
}

// answersToUnknown returns the answers to an unknown pause. If the keys of the value are all ids of
// questions, it returns one answer for each id. Otherwise it returns one answer without an id.
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

// parseResume returns the value that the adapter reads from command.resume. If that is a string,
// the adapter parses it as JSON. If the string is not JSON, the adapter uses the string itself.
func parseResume(sent json.RawMessage) json.RawMessage {
	if s, ok := Text(sent); ok && json.Valid([]byte(s)) {
		return json.RawMessage(strings.TrimSpace(s))
	}
	return sent
}

// echo returns the index of the group whose interruptEvent the client sent back. It returns -1 if
// the request has no interruptEvent, or if the event belongs to no group. The interruptEvent is the
// value of a CUSTOM event, of LangGraph or of Holdpoint. Holdpoint's has the published ids.
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

// idMap returns the value as a map, if it is an object whose keys are all ids of questions, the
// backend's or published ones. If a key is not an id, the value itself is the answer. If all keys
// have the form of ids, the value is a map even if the ids are unknown, because LangGraph reads it
// as a map.
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
					// if there are several actions, each answer has the form of a resume entry
					a.Native = false
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

// answerAll reads the value as the answer to a native interrupt. It returns answers for the
// interrupts that were published for this native interrupt. If the value is in a review's own form
// (decisions, or a list of responses), each answer gets the whole value, and Begin takes its part
// from it. Any other value is one answer. If the review has several actions, it answers only the
// first action.
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

// agree reports whether the backend would read the two lists of answers in the same way.
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

// decision returns the decision that the backend gets for the answer a to a review.
func decision(r review, g Group, p agui.Pause, a agui.Answer) (json.RawMessage, bool) {
	if len(r.asks) == 0 || len(r.asks) != len(g.At) {
		return nil, false
	}
	i := slices.IndexFunc(g.At, func(at int) bool { return p.Interrupts[at].ID == a.ID })
	d, err := r.decide(i, a, nil)
	return d, err == nil
}
