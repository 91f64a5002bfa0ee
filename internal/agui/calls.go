package agui

import (
	"encoding/json"
	"slices"
	"strings"
)

// A CallCopy is the position of an object in JSON text. Some parser may read this object as the
// tool call with the id ID.
type CallCopy struct {
	ID            string
	Begin, End    int // bounds of the object
	FunctionBegin int // bounds of the value of the key function
	FunctionEnd   int
	// Sure reports that every parser which reads the object as a call reads this same call. The
	// object then has exactly one id and one function, and contains no other copy.
	Sure bool
}

// CallCopies returns the copies in text of the calls for whose ids isWanted returns true, sorted by
// Begin. text must be valid JSON. A copy is an object with an id and a function, at any depth and
// with keys in any spelling: pydantic-ai also reads messages in an activity, .NET ignores the case
// of keys, and Python reads tool_calls. The cost is linear in the size of text. If a call has more
// than maxCopies copies, some are left out, and Sure is false for the rest.
func CallCopies(text string, isWanted func(id string) bool) []CallCopy {
	w := callCopies{text: text, isWanted: isWanted, times: map[string]int{}}
	w.value(skipSpace(text, 0))
	slices.SortStableFunc(w.found, func(a, b CallCopy) int { return a.Begin - b.Begin })
	last := -1
	for n := range w.found {
		if c := &w.found[n]; last >= 0 && c.Begin < w.found[last].End {
			c.Sure, w.found[last].Sure = false, false
		} else {
			last = n
		}
	}
	for n := range w.found {
		c := &w.found[n]
		c.Sure = c.Sure && w.times[c.ID] <= maxCopies
	}
	return w.found
}

// maxCopies is the largest number of copies of one call that are returned. It bounds the work,
// because a hostile text may contain very many copies.
const maxCopies = 64

type callCopies struct {
	text     string
	isWanted func(id string) bool
	times    map[string]int // number of copies found of each call, by the id of the call
	found    []CallCopy
}

// value reads the JSON value at index i and returns the index after it.
func (w *callCopies) value(i int) int {
	switch w.text[i] {
	case '{':
		return w.object(i)
	case '[':
		for i = skipSpace(w.text, i+1); w.text[i] != ']'; {
			if i = skipSpace(w.text, w.value(i)); w.text[i] == ',' {
				i = skipSpace(w.text, i+1)
			}
		}
		return i + 1
	}
	return valueEnd(w.text, i, 0)
}

func (w *callCopies) object(begin int) int {
	s := w.text
	c := CallCopy{Begin: begin, Sure: true}
	ids, functions, is := 0, 0, false
	i := skipSpace(s, begin+1)
	for s[i] != '}' {
		behind, escaped := stringEnd(s, i+1)
		key := s[i+1 : behind-1]
		if escaped {
			key = Text(s[i:behind])
		}
		value := skipSpace(s, skipSpace(s, behind)+1)
		end := w.value(value)
		switch {
		case SameKey(key, "id"):
			ids++
			if id, text := idIn(s[value:end]); w.isWanted(id) {
				c.Sure = c.Sure && text && (!is || c.ID == id)
				c.ID, is = id, true
			}
		case SameKey(key, "function"):
			functions++
			c.FunctionBegin, c.FunctionEnd = value, end
		}
		if i = skipSpace(s, end); s[i] == ',' {
			i = skipSpace(s, i+1)
		}
	}
	if c.End = i + 1; is && functions > 0 {
		c.Sure = c.Sure && ids == 1 && functions == 1
		if w.times[c.ID]++; w.times[c.ID] <= maxCopies {
			c.ID = strings.Clone(c.ID)
			w.found = append(w.found, c)
		}
	}
	return c.End
}

// idIn returns the id in a JSON value (IDText). The result text reports whether the value is a
// string.
func idIn(raw string) (id string, text bool) { return callID(raw), raw[0] == '"' }

// CallJSON returns a tool call in the form of the toolCalls of an assistant message. arguments is
// the text of the call's arguments.
func CallJSON(id, name, arguments string) json.RawMessage {
	type function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	return MustMarshal(struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{id, "function", function{name, arguments}})
}

// isFunction reports whether raw, the JSON text of a call's function, has exactly the name and
// arguments of c, each once and under these keys.
func (c AskedCall) isFunction(raw []byte) bool {
	var name, args string
	names, arguments := 0, 0
	m := MembersOf(raw)
	for m.Next() {
		switch key := m.Name(); {
		case SameKey(key, "name"):
			names++
			if m.Key == `"name"` {
				name = m.Value
			}
		case SameKey(key, "arguments"):
			arguments++
			if m.Key == `"arguments"` {
				args = m.Value
			}
		}
	}
	return m.IsComplete() && names == 1 && arguments == 1 && isText(name, c.Name) && isText(args, c.Args)
}

// isText reports whether raw is a JSON string whose decoded text equals text.
func isText(raw, text string) bool { return raw != "" && raw[0] == '"' && Text(raw) == text }

// WithCalls returns text with the function of each copy in list replaced by the function of its
// call in calls, which is keyed by call id. It also returns the ids of the calls whose function
// differed. Sure must be true for each copy. If no function differs, WithCalls returns text
// unchanged.
func WithCalls(text []byte, list []CallCopy, calls map[string]AskedCall) (out []byte, changed []string) {
	done := 0
	for _, c := range list {
		call := calls[c.ID]
		if call.isFunction(text[c.FunctionBegin:c.FunctionEnd]) {
			continue
		}
		changed = append(changed, c.ID)
		out = append(append(out, text[done:c.FunctionBegin]...), call.function()...)
		done = c.FunctionEnd
	}
	if changed == nil {
		return text, nil
	}
	return append(out, text[done:]...), changed
}

// function returns the JSON of the call's function, as an assistant message has it.
func (c AskedCall) function() []byte {
	return MustMarshal(struct {
		Name string `json:"name"`
		Args string `json:"arguments"`
	}{c.Name, c.Args})
}
