package yesno

import (
	"encoding/json"
	"strings"
	"testing"

	"holdpoint/internal/agui"
)

// A reader is one way in which a backend may read a content. It returns true if it reads the
// content as a yes. The parameter yes is the rendered template of the yes. The readers are written
// independently of the tested code.
type reader func(content, yes string) bool

func object(text string) map[string]any {
	var m map[string]any
	if json.Unmarshal([]byte(text), &m) != nil {
		return nil
	}
	return m
}

// isTrue returns what Python's bool returns for a JSON value.
func isTrue(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case float64:
		return v != 0
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}

var readers = map[string]reader{
	"the whole": func(content, yes string) bool { return content == yes },
	"in any case": func(content, yes string) bool {
		return strings.EqualFold(strings.TrimSpace(content), strings.TrimSpace(yes))
	},
	"within it": func(content, yes string) bool {
		return strings.Contains(strings.ToLower(content), strings.ToLower(yes))
	},
	"the value is true": func(content, yes string) bool {
		var v, y any
		if json.Unmarshal([]byte(yes), &y) != nil || json.Unmarshal([]byte(content), &v) != nil {
			return false
		}
		_, number := y.(float64)
		return (number || y == true) && isTrue(v)
	},
	"a member is true": func(content, yes string) bool {
		said := object(content)
		for k, v := range object(yes) {
			if v == true && isTrue(said[k]) {
				return true
			}
		}
		return false
	},
	"a member that is true is not false": func(content, yes string) bool {
		said := object(content)
		for k, v := range object(yes) {
			if is, has := said[k]; v == true && (!has || is == true) {
				return true
			}
		}
		return false
	},
}

// FuzzWords checks any two templates that NewWords accepts, with any reason. No reader may read a
// no as the yes. A yes and a no must be read back with the same meaning. If the yes is JSON, each
// content must be JSON.
func FuzzWords(f *testing.F) {
	for _, c := range [][2]string{
		{`{"approved":true,"arguments":"$arguments"}`, `{"approved":false,"reason":"$reason"}`}, {`granted`, `refused`}, {`true`, `false`}, {`"go"`, `"stay"`}, {`1`, `0`},
		{`{"a":{"b":"go"}}`, `{"a":{"b":"stay"},"c":[1]}`}, {`{"x":true,"y":1}`, `{"x":false,"y":0}`}, {`{"no":false}`, `{"no":true}`}, {`ok`, `nok`},
	} {
		f.Add(c[0], c[1], "because", `{"path":"x"}`)
		f.Add(c[0], c[1], "true", `x`)
		f.Add(c[0], c[1], c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, yesText, noText, reason, arguments string) {
		var yesT, noT Template
		if yesT.UnmarshalText([]byte(yesText)) != nil || noT.UnmarshalText([]byte(noText)) != nil {
			t.Fatal("a template is any text")
		}
		w, err := NewWords(yesT, noT)
		if err != nil {
			return
		}
		say := func(payload any) string {
			content, err := w.Content(agui.Answer{ID: "i", Status: agui.Resolved, Payload: agui.MustMarshal(payload)}, arguments)
			if err != nil {
				t.Fatal(err)
			}
			return content
		}
		approved, denied := say(map[string]any{"approved": true}), say(map[string]any{"approved": false, "reason": reason})
		given, err := w.Content(agui.Answer{ID: "i", Status: agui.Cancelled}, arguments)
		if err != nil {
			t.Fatal(err)
		}
		for name, reads := range readers {
			for _, said := range []string{denied, given} {
				if reads(said, approved) || reads(said, yesText) {
					t.Fatalf("%q is the yes %q to who reads %s", said, approved, name)
				}
			}
		}
		for content, want := range map[string]bool{approved: true, denied: false, given: false} {
			payload, ok := w.Payload(text(content), arguments)
			if m := object(string(payload)); !ok || m["approved"] != want || m["editedArgs"] != nil {
				t.Fatalf("%q reads back as %s, %v", content, payload, ok)
			}
			if agui.ValidJSON([]byte(yesT)) && !agui.ValidJSON([]byte(content)) {
				t.Fatalf("%q is no JSON", content)
			}
		}
	})
}
