package agentframework

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// Answers implements translate.Dialect: the entries of resume, and every form that a version of the framework takes or a
// front end for it sends: a tool message with a decision, function_approvals, an object or a list in resume,
// forwardedProps.resume or command.resume.
func (*Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	given, err := formal(in, p)
	if err != nil {
		return nil, err
	}
	for n := range given {
		given[n] = alias(&p, given[n])
	}
	if p.ID != "" && !p.Ended {
		if err := contradiction(given); err != nil {
			return nil, err
		}
	}
	return merged(given, fromMessages(in, p))
}

// contradiction is an error if two answers to one question differ: admit takes the last, and the first may be the no. Not
// of messages, which stay in a client's history: the last is what it says now.
func contradiction(list []agui.Answer) error {
	said := make(map[string]agui.Answer, len(list))
	for _, a := range list {
		before, twice := said[a.ID]
		if twice && (before.Status != a.Status || !sameAnswer(before.Payload, a.Payload)) {
			return agui.Errorf(agui.ResumeConflict, "interrupt %q is answered twice, and differently", agui.Cut(a.ID))
		}
		said[a.ID] = a
	}
	return nil
}

// formal are the answers outside of the messages.
func formal(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	if p.ID == "" && p.Dialect != Name {
		return unclaimed(&in, p), nil
	}
	var own []agui.Answer
	if in.ResumeObject != nil {
		own = append(own, fromItems(items(gjson.ParseBytes(in.ResumeObject)), &p)...)
	}
	own = append(own, fromItems(propsItems(in), &p)...)
	if sent, ok := in.CommandResume(); ok {
		list := items(gjson.ParseBytes(sent))
		if len(list) == 0 {
			answers, err := kit.Answers(in, p)
			return append(answers, own...), err
		}
		own = append(own, fromItems(list, &p)...)
	}
	if p.ID == "" {
		return append(kit.Entries(in), own...), nil
	}
	for n := range own {
		own[n] = alias(&p, own[n])
	}
	entries := kit.Entries(in)
	for n := range entries {
		entries[n] = alias(&p, entries[n])
	}
	return kit.OneSet(entries, own)
}

// unclaimed are the answers where nobody knows whose they are: those in the forms that have no other owner than this framework.
func unclaimed(in *agui.RunInput, p agui.Pause) []agui.Answer {
	var items []gjson.Result
	if in.ResumeObject != nil {
		items = gjson.GetBytes(in.ResumeObject, "interrupts").Array()
	}
	if bytes.Contains(in.ForwardedProps, []byte(`"resume"`)) { // in any other spelling it is no input
		items = append(items, propsItems(*in)...)
	}
	return fromItems(items, &p)
}

// propsItems are the answers in forwardedProps.resume, nil if it holds something else.
func propsItems(in agui.RunInput) []gjson.Result {
	return items(gjson.GetBytes(in.ForwardedProps, "resume"))
}

// items reads what 1.0.0b260225 and later take for a resume: {"interrupts":[..]}, {"interrupt":[..]}, a list, or one item
// {"id" or another key of itemID, "value" or "payload" or "response"}. They leave out what has no id.
func items(v gjson.Result) []gjson.Result {
	list := v.Array()
	if v.IsObject() {
		switch {
		case v.Get("interrupts").IsArray():
			list = v.Get("interrupts").Array()
		case v.Get("interrupt").IsArray():
			list = v.Get("interrupt").Array()
		}
	}
	return slices.DeleteFunc(list, func(i gjson.Result) bool { return itemID(i) == "" })
}

// itemID is the id of an item as every version reads it, "" for an item that it leaves out.
func itemID(i gjson.Result) string {
	if !i.IsObject() {
		return ""
	}
	for _, key := range []string{"id", "interruptId", "interrupt_id", "toolCallId"} {
		if id := i.Get(key); id.Type == gjson.String && id.Str != "" || id.Type == gjson.Number {
			return id.String()
		}
	}
	return ""
}

func fromItems(list []gjson.Result, p *agui.Pause) []agui.Answer {
	var answers []agui.Answer
	for _, i := range list {
		a := agui.Answer{ID: published(p, itemID(i)), Status: agui.Resolved, Native: true}
		for _, key := range []string{"payload", "value", "response"} {
			if v := i.Get(key); v.Exists() {
				a.Payload = kit.Payload(v)
				break
			}
		}
		if i.Get("status").Str == string(agui.Cancelled) {
			a.Status, a.Payload = agui.Cancelled, nil
		}
		answers = append(answers, a)
	}
	return answers
}

// published is the id that the client was told for a native one; the id itself where there is none.
func published(p *agui.Pause, id string) string {
	if i := p.Named(id); i != nil {
		return i.ID
	}
	return id
}

// fromMessages are the answers in the messages: only behind the assistant's last words, for providers repeat the ids of
// their calls and an old answer must not be one to a new question. A confirm_changes call has an id of its own, and is
// known wherever it stands. Of an ended pause the answers are whatever was new then: proxy takes them out of later
// requests, where they would be a second result of the call.
func fromMessages(in agui.RunInput, p agui.Pause) []agui.Answer {
	if len(p.Interrupts) == 0 && p.Dialect != Name {
		return nil // nothing is asked that a message could answer
	}
	last := len(in.Messages)
	for last > 0 && in.Messages[last-1].Role != "assistant" {
		last--
	}
	var answers []agui.Answer
	type said struct {
		id   string
		seen agui.SeenMessage
	}
	known := map[said]bool{}
	t := telling{in: &in, p: &p, asked: askedBy(&p)}
	for n, m := range in.Messages {
		trailing := n >= last || p.Ended && !p.Knows(agui.See(m))
		for _, a := range t.fromMessage(m, trailing, n >= last) {
			a.Native, a.Message = true, agui.See(m)
			if one := (said{a.ID, a.Message}); !known[one] {
				known[one] = true
				answers = append(answers, a)
			}
		}
	}
	return answers
}

// A telling is the reading of a request's messages.
type telling struct {
	in       *agui.RunInput
	p        *agui.Pause
	asked    asked
	declared map[string]bool // calls of tools that the request declares; nil until somebody asks
}

// asked are the places of a pause's interrupts by what names them: their ids, and the call of confirm_changes.
type asked struct{ ids, confirms map[string][]int }

func askedBy(p *agui.Pause) asked {
	list := asked{map[string][]int{}, map[string][]int{}}
	for n, i := range p.Interrupts {
		list.ids[i.ID] = append(list.ids[i.ID], n)
		if i.Native != i.ID {
			list.ids[i.Native] = append(list.ids[i.Native], n)
		}
		if ask, _ := askOf(i); ask.Confirm != "" {
			list.confirms[ask.Confirm] = append(list.confirms[ask.Confirm], n)
		}
	}
	return list
}

// inOrder are the places of several lists, each once.
func inOrder(lists ...[]int) []int {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

func (t *telling) fromMessage(m agui.Message, trailing, latest bool) []agui.Answer {
	if m.Role == "tool" {
		a, ok := t.fromTool(m, trailing, latest)
		if !ok {
			return nil
		}
		return []agui.Answer{a}
	}
	if !trailing {
		return nil
	}
	var answers []agui.Answer
	for _, f := range gjson.GetBytes(m.JSON, "function_approvals").Array() {
		if !f.Get("approved").IsBool() {
			continue
		}
		var about []int
		if call := f.Get("call_id").Str; call != "" {
			about = t.p.About(call)
		}
		for _, n := range inOrder(t.asked.ids[f.Get("id").Str], about) {
			payload := agui.SetKey([]byte(`{}`), "approved", []byte(f.Get("approved").Raw))
			answers = append(answers, alias(t.p, agui.Answer{ID: t.p.Interrupts[n].ID, Status: agui.Resolved, Payload: payload}))
		}
	}
	return answers
}

// fromTool reads a tool message: a decision on the call, on its confirm_changes call, or anything on a workflow's request.
func (t *telling) fromTool(m agui.Message, trailing, latest bool) (agui.Answer, bool) {
	content := gjson.GetBytes(m.JSON, "content")
	value := content
	if content.Type == gjson.String && agui.ValidJSON([]byte(content.Str)) {
		value = gjson.Parse(content.Str)
	}
	about := t.asked.confirms[m.ToolCallID]
	if trailing && m.ToolCallID != "" {
		about = inOrder(about, t.asked.ids[m.ToolCallID], t.p.About(m.ToolCallID))
	}
	for _, n := range about {
		i := &t.p.Interrupts[n]
		asked, _ := askOf(*i)
		switch {
		case asked.Kind == request:
			if gjson.GetBytes(i.Schema(), "type").Str == "string" {
				value = content
			}
			return agui.Answer{ID: i.ID, Status: agui.Resolved, Payload: kit.Payload(value)}, true
		case isDecision(value, i.Schema()):
			return alias(t.p, agui.Answer{ID: i.ID, Status: agui.Resolved, Payload: withoutSteps(value, i.Schema())}), true
		}
	}
	// A yes to what nobody asked (any more): its id is one that nothing has, and admit refuses it.
	if latest && t.p.Dialect == Name && isDecision(value, nil) && !t.declares(m.ToolCallID) && !t.p.Knows(agui.See(m)) {
		return agui.Answer{ID: m.ToolCallID, Status: agui.Resolved, Payload: kit.Payload(value)}, true
	}
	return agui.Answer{}, false
}

// withoutSteps is a decision without the steps that front ends for confirm_changes send with each, where only the decision
// is asked for.
func withoutSteps(value gjson.Result, schema json.RawMessage) json.RawMessage {
	if gjson.GetBytes(schema, "properties.steps").Exists() || !value.IsObject() {
		return kit.Payload(value)
	}
	return kit.Pruned(value, "steps")
}

// declares says whether the call is of a tool that the request declares.
func (t *telling) declares(call string) bool {
	if t.declared == nil {
		t.declared = map[string]bool{}
		for _, m := range t.in.Messages {
			for _, c := range callsOf(m) {
				if t.in.Declares(c.Name) {
					t.declared[c.ID] = true
				}
			}
		}
	}
	return t.declared[call]
}

// merged is the one set of answers of a request. A message that repeats an entry of resume (CopilotKit adds one for each)
// is part of that answer; one that says something else is a contradiction.
func merged(given, messages []agui.Answer) ([]agui.Answer, error) {
	if len(given) == 0 {
		return messages, nil
	}
	places := make(map[string]int, len(given))
	for n := len(given) - 1; n >= 0; n-- {
		places[given[n].ID] = n
	}
	for _, m := range messages {
		at, ok := places[m.ID]
		if !ok {
			continue // the contract asks for all; admit looks at those of resume
		}
		if given[at].Status != agui.Resolved || !sameAnswer(given[at].Payload, m.Payload) {
			return nil, agui.Errorf(agui.ResumeConflict, "resume and a message beside it answer interrupt %q differently", agui.Cut(m.ID))
		}
		given[at].Message = m.Message
	}
	return given, nil
}

// sameAnswer says whether two payloads say the same, or at least decide the same.
func sameAnswer(a, b json.RawMessage) bool {
	if string(agui.Canonical(a)) == string(agui.Canonical(b)) {
		return true
	}
	one, err := decision(agui.Answer{Payload: a})
	other, err2 := decision(agui.Answer{Payload: b})
	return err == nil && err2 == nil && one == other
}

// alias is an answer in the words of its question's schema: accepted and approved are one word, and a bare yes or no is
// meant for it. Versions differ in the one they know: 1.0.0rc8 to 1.0.1 accepted, 1.1.0 and later both, .NET approved.
func alias(p *agui.Pause, a agui.Answer) agui.Answer {
	i := p.Interrupt(a.ID)
	if i == nil || a.Status != agui.Resolved {
		return a
	}
	properties := gjson.GetBytes(i.Schema(), "properties")
	word, other := "approved", "accepted"
	if !properties.Get(word).Exists() {
		word, other = other, word
	}
	value := gjson.ParseBytes(a.Payload)
	switch {
	case !properties.Get(word).Exists():
	case value.IsBool():
		a.Payload = agui.SetKey([]byte(`{}`), word, []byte(value.Raw))
	case value.IsObject() && !properties.Get(other).Exists():
		a.Payload = renamed(value, other, word)
	}
	return a
}

// renamed is the object with one key in place of another. Where both are there and agree, one is left.
func renamed(object gjson.Result, from, to string) json.RawMessage {
	if !object.Get(from).Exists() {
		return json.RawMessage(object.Raw)
	}
	agree := object.Get(to).Exists()
	object.ForEach(func(k, v gjson.Result) bool {
		agree = agree && (k.Str != from || v.Raw == object.Get(to).Raw)
		return true
	})
	out := []byte{'{'}
	object.ForEach(func(k, v gjson.Result) bool {
		switch {
		case k.Str != from:
			out = kit.AppendMember(out, k.Raw, v.Raw)
		case !agree:
			out = kit.AppendMember(out, `"`+to+`"`, v.Raw)
		}
		return true
	})
	return append(out, '}')
}
