package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"holdpoint/internal/test/hostile"
)

// validate checks a payload as if no other payload were in its request.
func validate(schema, payload json.RawMessage) error {
	return patient(context.Background()).Validate(schema, payload)
}

// patient returns a Validator that counts steps as usual, but allows an hour more of time. On a
// busy machine, even an honest payload may need more time than Holdpoint allows for a request.
func patient(ctx context.Context) *Validator {
	v := NewValidator(ctx)
	v.until = v.until.Add(time.Hour)
	return v
}

// doubling returns a schema with many levels. Each level refers to the next level twice.
func doubling(levels int, keyword, leaf string) string {
	return `{"$ref":"#/$defs/0","$defs":{` + hostile.Many(levels, func(i int) string {
		return fmt.Sprintf(`"%d":{"%s":[{"$ref":"#/$defs/%d"},{"$ref":"#/$defs/%d"}]}`, i, keyword, i+1, i+1)
	}) + fmt.Sprintf(`,"%d":%s}}`, levels, leaf)
}

// hardPayloads are schemas with payloads. The library alone would need seconds or gigabytes for
// each of them, or would panic.
var hardPayloads = []struct{ name, schema, payload string }{
	{"a number of which no exact one is made", `{"properties":{"amount":{"minimum":1}}}`, `{"amount":1e9999999}`},
	{"the same against maximum", `{"maximum":1}`, `1e9999999`},
	{"the same against exclusiveMinimum", `{"exclusiveMinimum":1}`, `1e9999999`},
	{"the same against multipleOf", `{"multipleOf":2}`, `-1e-9999999`},
	{"the same among unique items", `{"uniqueItems":true}`, `[` + hostile.Many(30, hostile.Same("1e9999999")) + `]`},
	{"an exponent that does not fit an int", `{"minimum":1}`, `1e99999999999999999999`},
	{"numbers of a million noughts", `{"items":{"type":"integer"}}`, `[` + hostile.Many(400, hostile.Same("1e999999")) + `]`},
	{"a number of two million digits", `{"type":"integer"}`, strings.Repeat("7", 2<<20)},
	{"a fraction of a million digits", `{"type":"integer"}`, "0." + strings.Repeat("7", 1<<20)},
	{"anyOf that doubles", doubling(24, "anyOf", `{"type":"string"}`), `1`},
	{"allOf that doubles", doubling(24, "allOf", `{"minimum":0}`), `1`},
	{"oneOf that doubles", doubling(24, "oneOf", `{"minimum":0}`), `1`},
	{"not of what doubles", strings.Replace(doubling(24, "anyOf", `{"type":"string"}`), `{"$ref":"#/$defs/0"`, `{"not":{"$ref":"#/$defs/0"}`, 1), `1`},
	{"a recursion that doubles with the payload's depth",
		`{"anyOf":[{"items":{"$ref":"#"},"maxItems":0},{"items":{"$ref":"#"},"maxItems":0},{"type":"string"}]}`,
		strings.Repeat("[", 40) + strings.Repeat("]", 40)},
	{"a dynamic recursion that doubles with the payload's depth",
		`{"$dynamicAnchor":"a","anyOf":[{"items":{"$dynamicRef":"#a"},"maxItems":0},{"items":{"$dynamicRef":"#a"},"maxItems":0}]}`,
		strings.Repeat("[", 40) + strings.Repeat("]", 40)},
	{"an anchor that only a dynamic reference finds",
		`{"$dynamicRef":"#a","$defs":{"x":` + strings.Replace(doubling(24, "anyOf", `{"type":"string"}`), `{"$ref":"#/$defs/0"`, `{"$id":"urn:x","$dynamicAnchor":"a","$ref":"#/$defs/0"`, 1) + `,"y":{"$dynamicAnchor":"a","$ref":"urn:x"}}}`, `1`},
	{"a long pattern over a long text", `{"pattern":"(x?){500}x{500}y"}`, `"` + strings.Repeat("x", 1<<20) + `"`},
	{"patterns for very many keys", `{"patternProperties":{` + hostile.Many(300, func(i int) string { return fmt.Sprintf(`"(x?){10}%dy":{}`, i) }) + `}}`,
		`{` + hostile.Many(50_000, func(i int) string { return fmt.Sprintf(`"xxxxxxxxx%d":0`, i) }) + `}`},
	{"a long enum for very many items", `{"items":{"enum":[` + hostile.Many(10_000, func(i int) string { return fmt.Sprint(i) }) + `]}}`, `[` + hostile.Many(50_000, hostile.Same("-1")) + `]`},
	{"unique items of few but large arrays", `{"uniqueItems":true}`, `[` + hostile.Many(20, func(i int) string { return `[` + hostile.Many(5_000, hostile.Same("1.5")) + fmt.Sprintf(",%d]", i) }) + `]`},
	{"lists of what nobody asked about yet", `{"unevaluatedItems":false,"anyOf":[` + hostile.Many(900, hostile.Same(`{"minItems":1}`)) + `]}`, `[` + hostile.Many(100_000, hostile.Same("0")) + `]`},
	{"very many mistakes, each in a deep place", `{"anyOf":[{"items":{"$ref":"#"}},{"type":"string"}]}`,
		strings.Repeat("[", 900) + hostile.Many(90_000, hostile.Same("0")) + strings.Repeat("]", 900)},
	{"very many mistakes", `{"items":{"type":"string"}}`, `[` + hostile.Many(190_000, hostile.Same("0")) + `]`},
	{"very many small objects", `{"items":{"type":"object"}}`, `[` + hostile.Many(2_000_000, hostile.Same("{}")) + `]`},
	{"very many members", `{"type":"object"}`, `{` + hostile.Many(300_000, hostile.Same(`"":0`)) + `}`},
	{"a chain of references for each of very many items", `{"items":{"$ref":"#/$defs/0"},"$defs":{` + hostile.Many(800, func(i int) string { return fmt.Sprintf(`"%d":{"$ref":"#/$defs/%d"}`, i, i+1) }) + `,"800":true}}`,
		`[` + hostile.Many(100_000, hostile.Same("0")) + `]`},
	{"a chain of references for each level", `{"$ref":"#/$defs/0","$defs":{` + hostile.Many(800, func(i int) string { return fmt.Sprintf(`"%d":{"$ref":"#/$defs/%d"}`, i, i+1) }) + `,"800":{"items":{"$ref":"#"}}}}`,
		strings.Repeat("[", 999) + strings.Repeat("]", 999)},
	{"a text that is a regular expression", `{"$schema":"http://json-schema.org/draft-07/schema#","format":"regex"}`, `"` + strings.Repeat("(x{1000})", 3000) + `"`},
	{"names that are judged", `{"propertyNames":{"pattern":"(x?){200}y"}}`, `{` + hostile.Many(90_000, func(i int) string { return fmt.Sprintf(`"xxxxxxxxx%d":0`, i) }) + `}`},
}

// TestPayloadsThatAreHardToJudge: a payload needs too much work. It must be refused soon, and with
// little memory. If the schema is good, the payload may also be accepted.
func TestPayloadsThatAreHardToJudge(t *testing.T) {
	for _, tt := range hardPayloads {
		t.Run(tt.name, func(t *testing.T) {
			if tt.schema != "" && len(tt.schema) > maxSchemaBytes {
				t.Fatalf("the schema has %d bytes", len(tt.schema))
			}
			var err error
			unit := parsing(t)
			cpu, bytes := spent(t, func() { err = validate(json.RawMessage(tt.schema), json.RawMessage(tt.payload)) })
			unit = max(unit, parsing(t))
			t.Logf("%d ms of CPU, %d MB: %v", cpu.Milliseconds(), bytes>>20, err)
			switch {
			case err == nil:
				t.Error("it was taken")
			case errors.Is(err, ErrSchema):
				t.Errorf("the schema was given up: %v", err)
			}
			if raceDetector {
				// the race detector slows some code more than other code; make race also runs the
				// test without it
				return
			}
			mega := float64(len(tt.schema)+len(tt.payload)) / (1 << 20)
			if most := 25 * unit.Seconds() * (1 + mega); cpu.Seconds() > most {
				t.Errorf("took %v of CPU for %.1f MB, at most %.1f s", cpu, mega, most)
			}
			if most := 128 + 128*mega; float64(bytes>>20) > most {
				t.Errorf("took %d MB in all, at most %.0f", bytes>>20, most)
			}
		})
	}
}

// hardSchemas are schemas that need a second or more in the library alone, whatever the payload is.
var hardSchemas = []struct{ name, schema string }{
	{"a number of which no exact one is made", `{"minimum":1e9999999}`},
	{"a number of a million noughts", `{"multipleOf":1e999999}`},
	{"a pattern of very many states", `{"pattern":"` + strings.Repeat(`x{1000}`, 3000) + `"}`},
	{"very many patterns", `{"patternProperties":{` + hostile.Many(3000, func(i int) string { return fmt.Sprintf(`"%xx{1000}":true`, i) }) + `}}`},
	{"very many subschemas", `{"allOf":[` + hostile.Many(20_000, hostile.Same(`{}`)) + `]}`},
	{"subschemas in one another", strings.Repeat(`{"not":`, 900) + `{}` + strings.Repeat(`}`, 900)},
	{"references to what is no subschema", `{"x":{` + hostile.Many(900, func(i int) string { return fmt.Sprintf(`"%d":{}`, i) }) + `},"allOf":[` + hostile.Many(900, func(i int) string { return fmt.Sprintf(`{"$ref":"#/x/%d"}`, i) }) + `]}`},
}

func TestSchemasThatAreHardToCompile(t *testing.T) {
	for _, tt := range hardSchemas {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			cpu, _ := spent(t, func() { err = validate(json.RawMessage(tt.schema), json.RawMessage(`{}`)) })
			t.Logf("%d ms of CPU: %v", cpu.Milliseconds(), err)
			if !errors.Is(err, ErrSchema) {
				t.Errorf("it was used: %v", err)
			}
			if cpu.Seconds() > slower()*0.3 {
				t.Errorf("took %v of CPU", cpu)
			}
		})
	}
}

// FuzzValidate tests schemas and payloads of together up to 64 KiB. Validate must not panic, and
// must stay within a bound of processor time and memory. If it does not give up, it must agree with
// the jsonschema library on whether the payload is valid.
func FuzzValidate(f *testing.F) {
	for _, tt := range hardPayloads {
		if len(tt.payload) < 4<<10 {
			f.Add(tt.schema, tt.payload)
		}
	}
	for _, tt := range hardSchemas {
		f.Add(tt.schema, `{}`)
	}
	f.Add(`{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`, `{"approved":true}`)
	f.Add(`{"oneOf":[{"const":1.0},{"enum":[1,"a"]}],"$ref":"#/$defs/a","$defs":{"a":{"multipleOf":0.5}}}`, `1`)
	f.Add(`{"prefixItems":[{"const":1}],"contains":{"type":"string"},"unevaluatedItems":{"minLength":2},"uniqueItems":true}`, `[1,"a","bc"]`)
	f.Fuzz(func(t *testing.T, schema, payload string) {
		if len(schema)+len(payload) > 64<<10 {
			return
		}
		v := NewValidator(t.Context())
		var got error
		cpu, bytes := spent(t, func() { got = v.Validate(json.RawMessage(schema), json.RawMessage(payload)) })
		if cpu > time.Duration(slower())*2*time.Second || bytes > 512<<20 {
			t.Fatalf("%v of CPU, %d MB", cpu, bytes>>20)
		}
		if unjudged := (*unjudgedError)(nil); errors.As(got, &unjudged) || errors.Is(got, ErrSchema) || len(payload) == 0 {
			return
		}
		if want := bare(schema, payload); got == nil && want != nil || got != nil && want == nil {
			t.Errorf("%v, and the library alone says %v", got, want)
		}
	})
}

// bare validates a payload with the library alone, without Holdpoint's bounds.
func bare(schema, payload string) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	value, err2 := jsonschema.UnmarshalJSON(strings.NewReader(payload))
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return err
	}
	s, err := c.Compile(schemaURL)
	if err != nil {
		return err
	}
	return s.Validate(value)
}

// TestHonestPayloads checks that payloads as people send them stay within the bounds.
func TestHonestPayloads(t *testing.T) {
	rows := func(n int, row string) string { return `{"rows":[` + hostile.Many(n, hostile.Same(row)) + `]}` }
	table := `{"type":"object","properties":{"rows":{"type":"array","items":{"$ref":"#/$defs/Row"}}},"$defs":{"Row":{"type":"object","required":["id","name"],"additionalProperties":false,
		"properties":{"id":{"type":"integer","minimum":0},"name":{"type":"string","maxLength":100},"price":{"anyOf":[{"type":"number"},{"type":"null"}]},"kind":{"enum":["a","b","c"]}}}}}`
	tree := `{"$defs":{"Node":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/Node"}}}}},"$ref":"#/$defs/Node"}`
	form := `{"type":"object","properties":{` + hostile.Many(300, func(i int) string {
		return fmt.Sprintf(`"field%d":{"title":"Field %d","anyOf":[{"type":"string","minLength":1,"pattern":"^[a-z0-9 -]{1,63}$"},{"type":"null"}]}`, i, i)
	}) + `}}`
	for _, tt := range []struct {
		name, schema, payload, want string
	}{
		{"a yes", `{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`, `{"approved":true}`, ""},
		{"a word for a yes", `{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`, `{"approved":"yes"}`, "`approved` is a string, want a boolean"},
		{"the largest number of a float64", `{"type":"number","minimum":0}`, `1.7976931348623157e308`, ""},
		{"the smallest", `{"type":"number","minimum":0}`, `5e-324`, ""},
		{"an integer of 300 digits", `{"type":"integer","minimum":0}`, strings.Repeat("9", 300), ""},
		{"an integer as a float", `{"type":"integer"}`, `1e3`, ""},
		{"a fraction of cents", `{"multipleOf":0.01}`, `19.99`, ""},
		{"a table of 5,000 rows", table, rows(5000, `{"id":7,"name":"a thing","price":1.5,"kind":"c"}`), ""},
		{"a mistake in a table of 5,000 rows", table, rows(5000, `{"id":-7,"name":"a thing","price":1.5,"kind":"c"}`), "the payload does not fit, and is too large to say where"},
		{"a mistake in a table of 50 rows", table, rows(50, `{"id":-7,"name":"a thing","price":1.5,"kind":"c"}`), "`rows/0/id` is too small, want 0 or more"},
		{"a tree of 100 levels", tree, strings.Repeat(`{"name":"x","children":[`, 50) + strings.Repeat(`]}`, 50), ""},
		{"a form of 300 fields", form, `{` + hostile.Many(300, func(i int) string { return fmt.Sprintf(`"field%d":"some text %d"`, i, i) }) + `}`, ""},
		{"a file of 8 MB", `{"type":"object","properties":{"file":{"type":"string","contentEncoding":"base64"},"name":{"type":"string","format":"uri"}}}`, `{"file":"` + strings.Repeat("QUJD", 2<<20) + `"}`, ""},
		{"a picture of 1 MB that is looked at", `{"type":"string","pattern":"^data:image/(png|jpeg);base64,[A-Za-z0-9+/]+=*$"}`, `"data:image/png;base64,` + strings.Repeat("QUJD", 1<<18) + `"`, ""},
		{"a country of 250", `{"items":{"enum":[` + hostile.Many(250, func(i int) string { return fmt.Sprintf(`"c%d"`, i) }) + `]}}`, `[` + hostile.Many(200, hostile.Same(`"c249"`)) + `]`, ""},
		{"draft 7 with a format", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"string","format":"email"}`, `"me@example.org"`, ""},
		{"draft 7 with another", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"string","format":"email"}`, `"me"`, `the payload does not have the format "email"`},
		{"draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","maximum":3,"exclusiveMaximum":true}`, `3`, `the payload is too large, want less than 3`},
		{"a schema for schemas", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, `{"type":"objekt"}`, "`type` must be "},
		{"nothing beside what is named", `{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`, "`b` is not allowed"},
		{"everything that is named", `{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1}`, ""},
		{"a dynamic reference", `{"$dynamicAnchor":"a","type":"array","items":{"$dynamicRef":"#a"}}`, `[[],[[]]]`, ""},
		{"a dynamic reference to what it is not", `{"$dynamicAnchor":"a","type":"array","items":{"$dynamicRef":"#a"}}`, `[[],[1]]`, "`1/0` is a number, want an array"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := validate(json.RawMessage(tt.schema), json.RawMessage(tt.payload))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestJudgingEndsWithItsRequest checks that validation stops when the context of the request ends.
func TestJudgingEndsWithItsRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v := NewValidator(ctx)
	v.remaining = 1 << 60
	err := v.Validate(json.RawMessage(doubling(20, "anyOf", `{"type":"string"}`)), json.RawMessage(`1`))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestOneBoundForAllPayloadsOfARequest: all payloads of a request must share one bound of work. A
// larger payload must get a larger share.
func TestOneBoundForAllPayloadsOfARequest(t *testing.T) {
	v := patient(t.Context())
	schema, payload := json.RawMessage(doubling(10, "allOf", `{"minimum":0}`)), json.RawMessage(`1`)
	taken := 0
	for ; taken < 1000; taken++ {
		if err := v.Validate(schema, payload); err != nil {
			if !errors.Is(err, errTooDear) {
				t.Fatal(err)
			}
			break
		}
	}
	if taken == 0 || taken == 1000 {
		t.Errorf("%d payloads were judged", taken)
	}
	v = patient(t.Context())
	for range 60_000 {
		if err := v.Validate(json.RawMessage(`{"type":"object","properties":{"approved":{"type":"boolean"}}}`), json.RawMessage(`{"approved":true}`)); err != nil {
			t.Fatal(err)
		}
	}
}

// spent runs do. It returns the processor time and the number of bytes that do has allocated.
func spent(t *testing.T, do func()) (cpu time.Duration, bytes uint64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := hostile.ProcessorTime(t)
	do()
	cpu = hostile.ProcessorTime(t) - start
	runtime.ReadMemStats(&after)
	return cpu, after.TotalAlloc - before.TotalAlloc
}

// parsing returns the processor time that parsing one megabyte of JSON needs at the moment. Tests
// use it as their unit instead of seconds, because a shared processor does less work in a second.
func parsing(t *testing.T) time.Duration {
	t.Helper()
	text := []byte("[" + strings.Repeat(`{"a":[1,2.5,"b"],"c":null},`, 40_000) + "1]")
	var err error
	cpu, _ := spent(t, func() {
		var v any
		err = json.Unmarshal(text, &v)
	})
	if err != nil {
		t.Fatal(err)
	}
	return cpu
}

// slower returns the factor by which the race detector makes a test slower.
func slower() float64 {
	if raceDetector {
		return 20
	}
	return 1
}
