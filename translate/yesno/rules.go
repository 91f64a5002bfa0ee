package yesno

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Rules define the yes and the no for agents that accept any value as an answer. The operator
// writes the rules into a variable. Each rule has the names that it applies to and the two
// templates, separated by white space:
//
//	pay;transfer_* {"go":true,"args":"$arguments"} {"go":false,"why":"$reason"}
//	*              "yes"                           "no"
//
// The templates are JSON, because such an agent gets a value and not a text. The first rule that
// applies to the name of the action is used. A rule with $arguments applies only to questions that
// have arguments, see Ask.
type Rules []Rule

// A Rule is one of the Rules: names, and the yes and the no for questions with these names.
type Rule struct {
	Names kit.Names
	words Words
}

var errRule = errors.New(textNotRule)

// UnmarshalText parses the value of the variable.
func (r *Rules) UnmarshalText(text []byte) error {
	*r = nil
	for rest := bytes.TrimSpace(text); len(rest) > 0; {
		end := bytes.IndexFunc(rest, unicode.IsSpace)
		if end < 0 {
			return fmt.Errorf("%q: %w", rest, errRule)
		}
		var one Rule
		names := string(rest[:end])
		if err := one.Names.UnmarshalText(rest[:end]); err != nil {
			return err
		}
		if len(one.Names) == 0 {
			return fmt.Errorf("%q: %w", names, errRule)
		}
		var yes, no json.RawMessage
		values := json.NewDecoder(bytes.NewReader(rest[end:]))
		if values.Decode(&yes) != nil || values.Decode(&no) != nil {
			return fmt.Errorf("%s: %w", names, errRule)
		}
		var err error
		if one.words, err = NewWords(Template(yes), Template(no)); err != nil {
			return fmt.Errorf("%s: %w", names, err)
		}
		*r = append(*r, one)
		rest = bytes.TrimSpace(rest[end+int(values.InputOffset()):])
	}
	return nil
}

// String returns the rules as they are written in the variable.
func (r Rules) String() string {
	list := make([]string, len(r))
	for n, one := range r {
		list[n] = one.Names.String() + " " + one.words.yes.text + " " + one.words.no.text
	}
	return strings.Join(list, "\n")
}

// wordsFor returns the words of the first rule that applies to a question about the given action.
// It returns false if no rule applies.
func (r Rules) wordsFor(about translate.Subject) (Words, bool) {
	at := slices.IndexFunc(r, func(one Rule) bool {
		return one.Names.Match(about.Name) && (one.words.arguments == nil || about.Arguments != nil)
	})
	if at < 0 {
		return Words{}, false
	}
	return r[at].words, true
}

// Ask turns a question without a responseSchema into a question for a yes or a no, if a rule
// applies to it. If the question lacks the name or the arguments, Ask uses those of its call. If
// the question has other arguments than its call, no rule with $arguments applies. Otherwise the
// person would see the arguments of the call, and the agent would get those of the question.
func (r Rules) Ask(i *agui.Interrupt, about translate.Subject) {
	if len(i.Calls) == 1 && !i.Calls[0].ArgumentsUnknown {
		about.Name = cmp.Or(about.Name, i.Calls[0].Name)
		if args := gjson.Parse(i.Calls[0].Args); about.Arguments == nil && agui.ValidJSON([]byte(i.Calls[0].Args)) && args.IsObject() {
			about.Arguments = json.RawMessage(args.Raw)
		}
	}
	if !areOfCalls(about.Arguments, i.Calls) {
		about.Arguments = nil
	}
	words, ok := r.wordsFor(about)
	if !ok {
		return
	}
	i.YesNo = &agui.YesNo{Yes: json.RawMessage(words.yes.text), No: json.RawMessage(words.no.text), Arguments: about.Arguments}
	if about.Name != "" && gjson.GetBytes(i.Object, "message").Type != gjson.String {
		i.Object = agui.SetString(i.Object, "message", fmt.Sprintf(askCall, about.Name))
	}
	i.Object = agui.SetKey(i.Object, "responseSchema", []byte(words.Schema()))
	// Only arguments that are sent with the yes are certain to run. Any other arguments are only
	// what the agent has written, so they are not shown as a call.
	if words.arguments != nil && i.Calls == nil && about.Name != "" {
		i.Calls = []agui.AskedCall{{Name: about.Name, Args: string(about.Arguments)}}
	}
}

// areOfCalls reports whether the arguments of a question can be those of the calls that it is
// about.
func areOfCalls(arguments json.RawMessage, calls []agui.AskedCall) bool {
	switch {
	case len(calls) == 0:
		return true
	case len(calls) > 1:
		return false
	}
	return calls[0].ArgumentsUnknown || sameArguments(string(arguments), calls[0].Args)
}

// wordsOf makes Words of the two templates, for a yes and for a no, that are stored with a
// question.
func wordsOf(i *agui.Interrupt) (Words, error) {
	return NewWords(Template(i.YesNo.Yes), Template(i.YesNo.No))
}

// ReadAnswer converts an answer to the form of the question's schema if its payload is exactly the
// backend's yes or no, which a client may know. Any other answer in the backend's own form is
// marked OwnForm and sent unchanged, unless it has the member approved.
func ReadAnswer(i *agui.Interrupt, a agui.Answer) agui.Answer {
	if i.YesNo == nil || a.Status != agui.Resolved {
		return a
	}
	words, err := wordsOf(i)
	if err != nil {
		return a // WriteAnswer reports this error
	}
	value := gjson.ParseBytes(a.Payload)
	switch payload, ok := words.exactPayload(value, string(i.YesNo.Arguments)); {
	case ok:
		a.Payload = payload
	case a.Native && len(kit.Members(value, "approved")) == 0:
		a.OwnForm = true
	}
	return a
}

// exactPayload returns the payload of an answer whose value is exactly the yes or the no. ok is
// false for any other value.
func (w Words) exactPayload(value gjson.Result, arguments string) (payload json.RawMessage, ok bool) {
	if !value.Exists() {
		return nil, false
	}
	payload, ok = w.Payload(gjson.Result{Type: gjson.String, Str: value.Raw}, arguments)
	if !ok {
		return nil, false
	}
	one, place, path := w.yes, argumentsPlace, w.arguments
	fits := gjson.Result.IsObject
	if !Approves(gjson.ParseBytes(payload)) {
		one, place, path = w.no, reasonPlace, w.reason
		fits = func(v gjson.Result) bool { return v.Type == gjson.String }
	}
	stands := valueAt(value, path)
	if path != nil && !fits(stands) {
		return nil, false
	}
	return payload, same(gjson.ParseBytes(one.with(place, json.RawMessage(stands.Raw))), value)
}

// WriteAnswer returns the answer in the form that the backend expects: the yes for a clear
// approval, the no for a denial or a cancel. If the question has CancelOnly, WriteAnswer does not
// change the answer, because the question was already answered before.
func WriteAnswer(i *agui.Interrupt, a agui.Answer) (agui.Answer, error) {
	if i.YesNo == nil || i.CancelOnly || a.OwnForm {
		return a, nil
	}
	words, err := wordsOf(i)
	if err != nil {
		return a, kit.Unreadable()
	}
	approved := a.Status == agui.Resolved && Approves(gjson.ParseBytes(a.Payload))
	if approved {
		if err := noMore(a); err != nil {
			return a, err
		}
	}
	value, err := words.Content(a, string(i.YesNo.Arguments))
	if err != nil {
		return a, err
	}
	a.Status, a.Payload, a.OwnForm = agui.Resolved, json.RawMessage(value), true
	if a.Meaning = agui.Denies; approved {
		a.Meaning = agui.Approves
	}
	return a, nil
}

// noMore returns an error if an approval has a member for which the backend's yes has no
// placeholder. Without the error, the agent would not get everything that the person approved. A
// yes never has a placeholder for a reason.
func noMore(a agui.Answer) error {
	more := ""
	gjson.ParseBytes(a.Payload).ForEach(func(k, v gjson.Result) bool {
		switch {
		case v.Type == gjson.Null, k.Str == "approved", k.Str == "editedArgs":
		case k.Str == "reason" && v.Type == gjson.String && strings.TrimSpace(v.Str) == "":
		default:
			more = k.Str
		}
		return more == ""
	})
	if more == "" {
		return nil
	}
	return agui.Errorf(agui.InvalidPayload, textNoPlace, a.ID, agui.Shorten(more))
}
