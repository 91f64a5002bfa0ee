package agentframework

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// Answers implements translate.Dialect. It reads the answers that the request has outside of its
// messages: the entries of the resume array, and every other form that a version of the framework
// accepts or that a front end for the framework sends. Such a form is an object or a list in
// resume, forwardedProps.resume or command.resume. The method Replies reads the messages.
func (*Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	given, err := fieldAnswers(in, p)
	if err != nil {
		return nil, err
	}
	given = kit.CancelsLost(p, given)
	for n := range given {
		given[n] = alias(p.Interrupt(given[n].ID), given[n])
	}
	if p.ID != "" {
		if err := contradiction(given); err != nil {
			return nil, err
		}
	}
	return given, nil
}

// contradiction returns an error if the list has two different answers to one question. The package
// proxy uses the last answer to a question, so without this check a later yes could replace a no.
// Answers in messages are not checked here. Messages stay in the client's history, so an older
// answer may be among them, and the last one is the client's current answer.
func contradiction(list []agui.Answer) error {
	said := make(map[string]agui.Answer, len(list))
	for _, a := range list {
		before, twice := said[a.ID]
		if twice && (before.Status != a.Status || !sameAnswer(before.Payload, a.Payload)) {
			return agui.Errorf(agui.ResumeConflict, textAnsweredTwice, agui.Shorten(a.ID))
		}
		said[a.ID] = a
	}
	return nil
}

// fieldAnswers returns the answers that the request has outside of its messages.
func fieldAnswers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	if p.ID == "" && p.Dialect != Name {
		return unclaimedAnswers(&in, p), nil
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
		own[n] = alias(p.Interrupt(own[n].ID), own[n])
	}
	entries := kit.Entries(in)
	for n := range entries {
		entries[n] = alias(p.Interrupt(entries[n].ID), entries[n])
	}
	return kit.OneSet(entries, own)
}

// unclaimedAnswers returns the answers of a request whose thread has no pause of this dialect. It
// reads only the forms that no other framework uses.
func unclaimedAnswers(in *agui.RunInput, p agui.Pause) []agui.Answer {
	var items []gjson.Result
	if in.ResumeObject != nil {
		items = gjson.GetBytes(in.ResumeObject, "interrupts").Array()
	}
	// a key in any other spelling is not an answer
	if bytes.Contains(in.ForwardedProps, []byte(`"resume"`)) {
		items = append(items, propsItems(*in)...)
	}
	return fromItems(items, &p)
}

// propsItems returns the answers in forwardedProps.resume, as items reads them.
func propsItems(in agui.RunInput) []gjson.Result {
	return items(gjson.GetBytes(in.ForwardedProps, "resume"))
}

// items returns the answers in the resume v as the adapter reads it. v is {"interrupts":[..]},
// {"interrupt":[..]}, a list, or one answer. An answer is an object with an id under one of the
// keys in itemID, and a value under "value", "payload" or "response". Objects without an id are
// left out.
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

// itemID returns the id of the answer i, or "" if i has none. It reads the keys that any version of
// the framework reads.
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
		a := agui.Answer{ID: publishedID(p, itemID(i)), Status: agui.Resolved, Native: true}
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

// publishedID returns the id under which Holdpoint sent the client the question that the backend
// calls id. It returns id itself if p has no such question.
func publishedID(p *agui.Pause, id string) string {
	if i := p.InterruptNamed(id); i != nil {
		return i.ID
	}
	return id
}

// sameAnswer reports whether two payloads are equal, or mean the same decision.
func sameAnswer(a, b json.RawMessage) bool {
	if string(agui.Canonical(a)) == string(agui.Canonical(b)) {
		return true
	}
	one, err := decision(agui.Answer{Payload: a})
	other, err2 := decision(agui.Answer{Payload: b})
	return err == nil && err2 == nil && one == other
}

// alias returns the answer a with the key that the schema of its question i has. "accepted" and
// "approved" mean the same, and a bare boolean stands for either. 1.0.0rc8 to 1.0.1 read only
// accepted, .NET reads only approved, and 1.1.0 and later read both.
func alias(i *agui.Interrupt, a agui.Answer) agui.Answer {
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
		a.Payload = withKeyRenamed(value, other, word)
	}
	return a
}

// withKeyRenamed returns the object with its key from renamed to the key to. If the object already
// has the key to with an equal value, the key from is left out.
func withKeyRenamed(object gjson.Result, from, to string) json.RawMessage {
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
