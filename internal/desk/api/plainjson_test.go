package api

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/storetest"
)

// nested returns valid JSON with levels nested objects.
func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels)
}

// TestQuestionsThatSomeProgramsCannotRead: a part of a question may be nested too deep, or may not
// be valid UTF-8. The desk must show such a part as raw text with a note. Every program must be
// able to read the list, so the list must be valid UTF-8 and nested less than 64 levels deep.
func TestQuestionsThatSomeProgramsCannotRead(t *testing.T) {
	const broken = "{\"a\":\"x\xffy\"}"
	for name, c := range map[string]struct{ text, note string }{
		"what is fine":     {`{"a":"\"{[","b":` + nested(maxNested-1) + `}`, ""},
		"nested deeper":    {nested(maxNested + 1), noteDeep},
		"998 deep":         {nested(998), noteDeep},
		"in an array":      {`{"a":` + strings.Repeat("[", maxNested) + strings.Repeat("]", maxNested) + `}`, noteDeep},
		"broken UTF-8":     {broken, noteBroken},
		"broken and deep":  {strings.Replace(nested(998), "1", "\"\xed\xa0\x80\"", 1), noteBroken},
		"braces in a text": {`{"a":"` + strings.Repeat(`{\"[`, 200) + `"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := inMemory(t)
			schema := `{"type":"object","default":` + c.text + `}`
			schemaNote := c.note
			if name == "what is fine" {
				schemaNote = noteDeep // the schema is one level deeper than the value
			}
			p := pause(1, "ref\xffund", c.text)
			p.Interrupts[0].Object = json.RawMessage("{\"id\":\"i1\",\"reason\":\"tool\xff_call\",\"message\":\"Su\xffre?\",\"responseSchema\":" + schema + "}")
			p.Interrupts = append(p.Interrupts,
				agui.Interrupt{ID: "i2", Object: json.RawMessage("{\"id\":\"i2\",\"responseSchema\":{\"enum\":[\"a\xff\",\"b\"]}}")},
				agui.Interrupt{ID: "i3", Object: json.RawMessage(`{"id":"i3"}`)})
			r.open(1, p)
			r.open(2, pause(2, "mail", `{"to":"bob"}`))
			r.must(storetest.Do(t.Context(), r.store, keyOf(1), store.Decide{PauseID: pauseOf(1), Decisions: []agui.Decision{{
				Question: "i3", Status: agui.Resolved, Payload: json.RawMessage(c.text), Digest: "d", Comment: "no\xffted",
			}}}))
			for _, path := range []string{"/v1/approvals", "/v1/approvals/" + id(1)} {
				l := r.ask(200, "GET", path)
				if !utf8.ValidString(l.Raw) || isNestedDeeper([]byte(l.Raw), 63) {
					t.Fatalf("some programs cannot read %s", path)
				}
				a := l
				if path == "/v1/approvals" {
					if a = l.Get("approvals.0"); l.Get("approvals.#").Int() != 2 || l.Get("approvals.1.questions.0.calls.0.arguments.to").Str != "bob" {
						t.Errorf("the other question: %s", l.Get("approvals.1"))
					}
				}
				want := strings.ToValidUTF8(c.text, "\uFFFD")
				for what, got := range map[string][3]string{
					"arguments": {a.Get("questions.0.calls.0.arguments").Raw, a.Get("questions.0.calls.0.raw").Str, a.Get("questions.0.calls.0.note").Str},
					"a payload": {a.Get("questions.2.decision.payload").Raw, a.Get("questions.2.decision.payloadRaw").Str, a.Get("questions.2.decision.payloadNote").Str},
				} {
					if c.note == "" && got != [3]string{c.text, "", ""} || c.note != "" && (got[0] != "" || !sameRunes(got[1], want) || got[2] != c.note) {
						t.Errorf("%s: %.100q", what, got)
					}
				}
				q := a.Get("questions.0")
				if q.Get("responseSchemaNote").Str != schemaNote || (schemaNote != "") == q.Get("responseSchema").Exists() || (schemaNote != "") != q.Get("responseSchemaRaw").Exists() {
					t.Errorf("the schema: %.200s", q)
				}
			}
			if got := r.file("/v1/approvals/" + id(1) + "/raw/i1/0"); got != c.text {
				t.Errorf("the file has %.100q", got)
			}
			r.must(storetest.Do(t.Context(), r.store, keyOf(1), store.Claim{PauseID: pauseOf(1), Token: "t", Digest: store.MarshalAnswers([]store.AnswerDigest{{Question: "i3", Digest: "d"}}), Lease: 1e9}))
			r.must(storetest.Do(t.Context(), r.store, keyOf(1), store.Finish{Token: "t", Result: store.Result{EndKind: store.Finished, GivenAnswers: []store.GivenAnswer{{ID: "i3", Status: agui.Resolved, Payload: json.RawMessage(c.text)}}}}))
			end := r.ask(200, "GET", "/v1/approvals/"+id(1))
			if got := end.Get("end.questions.2.payloadNote").Str; !utf8.ValidString(end.Raw) || isNestedDeeper([]byte(end.Raw), 63) || got != c.note {
				t.Errorf("its end: %q", got)
			}
		})
	}
}

// sameRunes reports whether two texts are equal. Several replacement characters U+FFFD in a row
// count as one, because they stand for invalid bytes.
func sameRunes(a, b string) bool {
	one := func(s string) string {
		return strings.Join(strings.FieldsFunc(s, func(c rune) bool { return c == utf8.RuneError }), "\uFFFD")
	}
	return one(a) == one(b)
}

// file returns the body of the response for path.
func (r *rig) file(path string) string {
	r.Helper()
	var b strings.Builder
	if err := r.send("GET", path).Write(&b); err != nil {
		r.Fatal(err)
	}
	_, body, _ := strings.Cut(b.String(), "\r\n\r\n")
	return body
}
