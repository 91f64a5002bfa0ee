package agui

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"
)

// approvals are the names of the members with which a responseSchema asks for a yes or a no.
var approvals = [...]string{"approved", "accepted", "confirmed"}

// The names of the members of an answer that edit arguments, or that contain the call with its
// arguments. The client of the AG-UI .NET SDK sends the whole call with each answer:
//
//	{"approved":true,"toolCall":{"callId":"c1","name":"delete_file","arguments":{"path":"a.txt"}},"result":null}
//
// An application of that SDK edits a call by changing the arguments in toolCall, and AGUI.Server
// runs the call that it reads from toolCall. No other backend reads toolCall.
const (
	editsKey  = "editedArgs"
	callKey   = "toolCall"
	resultKey = "result"
)

// EditsUnasked reports whether a payload edits the arguments of a call although the schema of its
// question asks only for a yes or a no. Such a payload is dangerous: most schemas allow further
// members, and most backends ignore members that they do not know. Such a backend would run the
// call with the old arguments, which the person has just changed.
func EditsUnasked(schema, payload json.RawMessage) bool {
	edits := false
	View(payload).ForEach(func(k, v gjson.Result) bool {
		edits = edits || SameKey(k.Str, editsKey) && v.Type != gjson.Null
		return true
	})
	if !edits || deniesPlainly(payload) {
		return false
	}
	asks, offers := offersEdits(schema)
	return asks && !offers
}

// deniesPlainly reports whether the payload has the value false under at least one of the names in
// approvals, and no other value under any of them.
func deniesPlainly(payload json.RawMessage) bool {
	yes, no := false, false
	View(payload).ForEach(func(k, v gjson.Result) bool {
		if slices.ContainsFunc(approvals[:], func(key string) bool { return SameKey(k.Str, key) }) {
			yes, no = yes || v.Type != gjson.False, no || v.Type == gjson.False
		}
		return true
	})
	return no && !yes
}

// offersEdits returns two results: asks reports whether a schema asks for a yes or a no, and offers
// reports whether it accepts edited arguments together with a yes.
func offersEdits(schema json.RawMessage) (asks, offers bool) {
	for _, form := range formsOf(View(schema)) {
		members := form.Get("properties")
		takesYes := true
		for _, key := range approvals {
			approval := members.Get(key)
			asks = asks || approval.Exists()
			takesYes = takesYes && approval.Get("const").Type != gjson.False
		}
		offers = offers || takesYes && members.Get(editsKey).Exists()
	}
	return asks, offers
}

// FormOfEdits returns the part of a schema that accepts a yes with edited arguments, and the key of
// the member for the yes. The part is the schema itself or one of its alternatives. key is "" if
// the schema has no such part.
func FormOfEdits(schema json.RawMessage) (form gjson.Result, key string) {
	for _, form := range formsOf(View(schema)) {
		members := form.Get("properties")
		if !members.Get(editsKey).Exists() {
			continue
		}
		for _, key := range approvals {
			yes := members.Get(key)
			if only := yes.Get("const"); only.Exists() && only.Type != gjson.True {
				continue
			}
			if yes.Get("type").Str == "boolean" || yes.Get("const").Type == gjson.True {
				return form, key
			}
		}
	}
	return gjson.Result{}, ""
}

// formsOf returns a schema and the elements of its oneOf, anyOf and allOf. A schema may have one
// alternative for a yes and another one for a no, as the schema of TanStack AI has.
func formsOf(schema gjson.Result) []gjson.Result {
	forms := []gjson.Result{schema}
	for _, key := range []string{"oneOf", "anyOf", "allOf"} {
		forms = append(forms, schema.Get(key).Array()...)
	}
	return forms
}

// ReadCall returns an answer's payload without the copy of the call that the payload repeats. If
// the question offers edits, changed arguments in that copy become editedArgs. The result wrong is
// "", or the reason why the payload must be refused: its call is not the question's call, or it has
// changed arguments although the question does not offer edits, or it has two edits that differ.
//
// If the question is not about a call, the payload is returned unchanged, because its members then
// belong to the application.
func (i *Interrupt) ReadCall(payload json.RawMessage) (rest json.RawMessage, wrong string) {
	var calls, edits []gjson.Result
	View(payload).ForEach(func(k, v gjson.Result) bool {
		switch {
		case SameKey(k.Str, editsKey) && v.Type != gjson.Null:
			edits = append(edits, v)
		case SameKey(k.Str, callKey) && v.IsObject():
			calls = append(calls, v)
		}
		return true
	})
	if len(calls) == 0 || len(i.Calls) == 0 && i.ToolCallID() == "" {
		return payload, ""
	}
	if len(i.Calls) > 1 {
		return payload, textSeveralCalls
	}
	asked := AskedCall{ID: i.ToolCallID(), ArgumentsUnknown: true}
	if len(i.Calls) == 1 {
		asked = i.Calls[0]
	}
	changes, wrong := changesIn(asked, calls, len(payload))
	switch {
	case wrong != "":
		return payload, wrong
	case len(changes) == 0 || deniesPlainly(payload):
		return withoutCall(payload, nil), ""
	}
	if _, offers := offersEdits(i.Schema()); !offers {
		if asked.ArgumentsUnknown {
			return payload, textUnknownArguments
		}
		return payload, textOtherArguments
	}
	edited := bytesOf(changes[0])
	same := EqualTo(edited)
	for _, other := range slices.Concat(changes[1:], edits) {
		if !same(bytesOf(other)) {
			return payload, textTwoEdits
		}
	}
	return withoutCall(payload, edited), ""
}

// changesIn compares the calls in an answer with asked, the call of the question. It reads keys in
// any spelling, because a backend may read any of them. The result changes has the arguments in
// calls that differ or may differ from the question's arguments. The result wrong is the reason to
// refuse any other difference. size is the size of the answer. If the question's arguments are far
// longer than the answer, they are not compared, and the answer's arguments count as changed.
func changesIn(asked AskedCall, calls []gjson.Result, size int) (changes []gjson.Result, wrong string) {
	longer := len(asked.Args) > longerJSON*size+1024
	var arguments json.RawMessage // nil if the call has no arguments
	if !longer && ValidJSON([]byte(asked.Args)) {
		arguments = argumentsOf(gjson.Parse(asked.Args))
	}
	same := EqualTo(arguments)
	for _, call := range calls {
		given := false
		call.ForEach(func(k, v gjson.Result) bool {
			switch {
			case SameKey(k.Str, "callId") && asked.ID != "" && v.Str != asked.ID,
				SameKey(k.Str, "name") && asked.Name != "" && v.Str != asked.Name:
				wrong = textOtherCall
			case SameKey(k.Str, "arguments"):
				given = true
				switch {
				// if the question's call is unknown, true only if the answer's call has no
				// arguments
				case !longer && same(argumentsOf(v)):
				case v.IsObject():
					changes = append(changes, v)
				default:
					wrong = textArgumentsNotObject
				}
			}
			return wrong == ""
		})
		if wrong == "" && !given && !asked.ArgumentsUnknown && (longer || arguments != nil) {
			wrong = textNoArguments
		}
		if wrong != "" {
			return nil, wrong
		}
	}
	return changes, ""
}

// argumentsOf returns the arguments of a call, or nil if they are null or an empty object. Clients
// write null or an empty object for a call without arguments.
func argumentsOf(v gjson.Result) json.RawMessage {
	if !v.Exists() || v.Type == gjson.Null || v.IsObject() && !HasMembers(bytesOf(v)) {
		return nil
	}
	return bytesOf(v)
}

// withoutCall returns a payload without the calls in it, and without a result that is null. If
// edited is not nil, it replaces the payload's own editedArgs.
func withoutCall(payload, edited json.RawMessage) json.RawMessage {
	out := append(make([]byte, 0, len(payload)), '{')
	add := func(key string, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), value...)
	}
	View(payload).ForEach(func(k, v gjson.Result) bool {
		switch {
		case SameKey(k.Str, callKey) && (v.IsObject() || v.Type == gjson.Null):
		case SameKey(k.Str, resultKey) && v.Type == gjson.Null:
		case SameKey(k.Str, editsKey) && edited != nil:
		default:
			add(k.Raw, bytesOf(v))
		}
		return true
	})
	if edited != nil {
		add(`"`+editsKey+`"`, edited)
	}
	return append(out, '}')
}
