package contract

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"holdpoint/internal/test/hostile"
)

// TestMismatchInWords checks the description of a payload that does not fit its schema. It must
// name the key and the value that the schema requires. It may quote the schema, which the client
// has, but no value of the payload.
func TestMismatchInWords(t *testing.T) {
	const approval = `{"type":"object","properties":{"approved":{"type":"boolean"},"type":{"enum":["approve","edit","reject"]},"editedArgs":{"type":"object"}},"required":["approved"]}`
	const either = `{"anyOf":[{"type":"object","required":["approved"],"properties":{"approved":{"type":"boolean"}}},{"type":"object","required":["type"],"properties":{"type":{"enum":["approve","reject"]}}},{"type":"boolean"}]}`
	long := strings.Repeat("secret", 100)
	for _, tt := range []struct {
		name, schema, payload, want string
	}{
		{"an enum without values", `{"properties":{"x":{"enum":[]}}}`, `{"x":"a"}`, "`x` must be nothing that can be given"},
		{"a text for an object", approval, `"secret"`, "the payload is a string, want an object"},
		{"true for an object", approval, `true`, "the payload is a boolean, want an object"},
		{"no payload", approval, ``, "the payload is missing or null, want an object"},
		{"null", approval, `null`, "the payload is missing or null, want an object"},
		{"a key is missing", approval, `{}`, "`approved` is missing"},
		{"two keys are missing", `{"required":["a","b"]}`, `{}`, "`a` and `b` are missing"},
		{"seven keys are missing", `{"required":["a","b","c","d","e","f","g"]}`, `{}`, "`a`, `b`, `c`, `d`, `e` and 2 more are missing"},
		{"a key below another is missing", `{"properties":{"card":{"required":["number"]}}}`, `{"card":{}}`, "`card/number` is missing"},
		{"a text for a boolean", approval, `{"approved":"secret"}`, "`approved` is a string, want a boolean"},
		{"one of several types", `{"properties":{"n":{"type":["integer","null"]}}}`, `{"n":"secret"}`, "`n` is a string, want null or an integer"},
		{"a member with the name of a keyword", approval, `{"approved":true,"type":"secret"}`, "`type` must be \"approve\", \"edit\" or \"reject\""},
		{"one value", `{"const":7}`, `"secret"`, "the payload must be 7"},
		{"very many values", `{"enum":[` + hostile.Many(300, hostile.Same(`"x"`)) + `]}`, `"secret"`, `the payload must be "x", "x", "x", "x", "x" or one of 295 more`},
		{"within a list", `{"items":{"properties":{"n":{"minimum":3}}}}`, `[{"n":4},{"n":1}]`, "`1/n` is too small, want 3 or more"},
		{"too large", `{"maximum":0.5}`, `1`, "the payload is too large, want 0.5 or less"},
		{"too small, without the bound", `{"exclusiveMinimum":3}`, `3`, "the payload is too small, want more than 3"},
		{"too large, without the bound", `{"exclusiveMaximum":3}`, `3`, "the payload is too large, want less than 3"},
		{"draft 4's", `{"$schema":"http://json-schema.org/draft-04/schema#","maximum":3,"exclusiveMaximum":true}`, `3`, "the payload is too large, want less than 3"},
		{"not a multiple", `{"multipleOf":5}`, `3`, "the payload is not a multiple of 5"},
		{"a text that is too short", `{"properties":{"name":{"minLength":1}}}`, `{"name":""}`, "`name` is too short, want 1 character or more"},
		{"a text that is too long", `{"maxLength":3}`, `"secret"`, "the payload is too long, want 3 characters or less"},
		{"a list that is too short", `{"minItems":2}`, `[1]`, "the payload has too few entries, want 2 or more"},
		{"a list that is too long", `{"maxItems":1}`, `[1,2]`, "the payload has too many entries, want 1 or less"},
		{"few keys", `{"minProperties":1}`, `{}`, "the payload has too few keys, want 1 or more"},
		{"many keys", `{"maxProperties":1}`, `{"a":1,"b":2}`, "the payload has too many keys, want 1 or less"},
		{"a pattern", `{"properties":{"iban":{"pattern":"^DE[0-9]+$"}}}`, `{"iban":"secret"}`, "`iban` does not match the pattern \"^DE[0-9]+$\""},
		{"a format", `{"$schema":"http://json-schema.org/draft-07/schema#","format":"email"}`, `"secret"`, "the payload does not have the format \"email\""},
		{"a key that is not taken", `{"properties":{"a":true},"additionalProperties":false}`, `{"a":1,"b":2}`, "`b` is not allowed"},
		{"a key that is not taken, by false", `{"properties":{"b":false}}`, `{"b":2}`, "`b` is not allowed"},
		{"nothing beside what is named", `{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`, "`b` is not allowed"},
		{"one key wants another", `{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, "`b` is missing"},
		{"alternatives of one type", either, `{}`, "`approved` is missing; or `type` is missing; or the payload is an object, want a boolean"},
		{"alternatives by another type", either, `"secret"`, "the payload is a string, want an object; or the payload is a string, want a boolean"},
		{"two of one alternative", `{"oneOf":[{"type":"object"},{"required":["a"]}]}`, `{"a":1}`, "the payload fits more than one of the alternatives"},
		{"not this", `{"not":{"const":"secret"}}`, `"secret"`, `the payload fails "not"`},
		{"very many alternatives", `{"anyOf":[` + hostile.Many(500, func(i int) string { return `{"required":["k` + strings.Repeat("x", i%7) + `"]}` }) + `]}`, `{}`,
			"`k` is missing; or `kx` is missing; or `kxx` is missing; or `kxxx` is missing"},
		{"a key of the payload's own", `{"additionalProperties":{"type":"boolean"}}`, `{"` + long + `":1}`, "want a boolean"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := validate(json.RawMessage(tt.schema), json.RawMessage(tt.payload))
			if err == nil {
				t.Fatal("it was taken")
			}
			got := err.Error()
			if tt.name == "a key of the payload's own" {
				if !strings.HasSuffix(got, tt.want) || len(got) > 400 || !utf8.ValidString(got) {
					t.Errorf("got %q", got)
				}
				return
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if strings.Contains(got, "secret") {
				t.Errorf("%s quotes the payload", got)
			}
		})
	}
}
