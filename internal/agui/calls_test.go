package agui

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const oneCall = `{"id":"c","type":"function","function":{"name":"rm","arguments":"{}"}}`

func TestCallCopies(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string // ids of the copies found; "?" follows an id if Sure is false
	}{
		"none":                        {`{"id":"c","role":"user","content":"c"}`, ``},
		"one":                         {`{"id":"m","toolCalls":[` + oneCall + `]}`, `c`},
		"another":                     {`{"toolCalls":[{"id":"d","function":{}}]}`, ``},
		"two":                         {`{"toolCalls":[` + oneCall + `,{"id":"d","function":{}},` + oneCall + `]}`, `c c`},
		"both that are asked about":   {`[` + oneCall + `,{"id":"e","function":{}}]`, `c e`},
		"in another member":           {`{"tool_calls":[` + oneCall + `]}`, `c`},
		"in an activity":              {`{"content":{"messages":[{"toolCalls":[` + oneCall + `]}]}}`, `c`},
		"in an object, not a list":    {`{"toolCalls":{"0":` + oneCall + `}}`, `c`},
		"keys in another case":        {`{"ID":"c","FUNCTION":{}}`, `c`},
		"keys with a low line":        {`{"i_d":"c","_function":{}}`, `c`},
		"keys in escapes":             {`{"\u0069d":"c","f\u0075nction":{}}`, `c`},
		"the id in escapes":           {`{"id":"\u0063","function":{}}`, `c`},
		"two ids":                     {`{"id":"d","Id":"c","function":{}}`, `c?`},
		"the same id twice":           {`{"id":"c","id":"c","function":{}}`, `c?`},
		"two functions":               {`{"id":"c","function":{},"Function":{}}`, `c?`},
		"a number for an id":          {`{"id":7,"function":{}}`, `7?`},
		"no function":                 {`{"id":"c","name":"rm","input":{}}`, ``},
		"a function that is none":     {`{"id":"c","function":"rm"}`, `c`},
		"one within the other":        {`{"id":"c","function":{"name":"x","arguments":` + oneCall + `}}`, `c? c?`},
		"beside one within the other": {`[{"id":"c","x":` + oneCall + `,"function":{}},` + oneCall + `]`, `c? c? c`},
		"in text":                     {`{"content":"{\"id\":\"c\",\"function\":{}}"}`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, one := range CallCopies(c.text, func(id string) bool { return id == "c" || id == "e" || id == "7" }) {
				if !strings.HasPrefix(c.text[one.Begin:one.End], "{") || !strings.HasSuffix(c.text[one.Begin:one.End], "}") {
					t.Errorf("it stands at %q", c.text[one.Begin:one.End])
				}
				got = append(got, one.ID+map[bool]string{false: "?"}[one.Sure])
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestWithCalls(t *testing.T) {
	calls := map[string]AskedCall{"c": {ID: "c", Name: "rm", Args: `{"path": "a<b"}`}}
	const asked = `{"name":"rm","arguments":"{\"path\": \"a<b\"}"}`
	for name, c := range map[string]struct{ function, want string }{
		"as it was":                 {asked, ``},
		"with white space":          {`{ "name" : "rm", "arguments" : "{\"path\": \"a<b\"}" }`, ``},
		"in other escapes":          {`{"name":"\u0072m","arguments":"{\"path\": \"a\u003cb\"}"}`, ``},
		"with a member more":        {`{"name":"rm","arguments":"{\"path\": \"a<b\"}","x":1}`, ``},
		"other arguments":           {`{"name":"rm","arguments":"{}"}`, asked},
		"the same, spelled anew":    {`{"name":"rm","arguments":"{\"path\":\"a<b\"}"}`, asked},
		"another name":              {`{"name":"rn","arguments":"{\"path\": \"a<b\"}"}`, asked},
		"a name more":               {`{"name":"rm","Name":"rn","arguments":"{\"path\": \"a<b\"}"}`, asked},
		"the name twice":            {`{"name":"rn","name":"rm","arguments":"{\"path\": \"a<b\"}"}`, asked},
		"arguments in another case": {`{"name":"rm","Arguments":"{\"path\": \"a<b\"}"}`, asked},
		"arguments that are none":   {`{"name":"rm","arguments":{"path":"a<b"}}`, asked},
		"without arguments":         {`{"name":"rm"}`, asked},
		"no object":                 {`"rm"`, asked},
	} {
		t.Run(name, func(t *testing.T) {
			text := `{"id":"m","toolCalls":[{"id":"d","function":{"name":"x","arguments":"y"}},{"id":"c","function":` + c.function + `,"type":"function"}],"x":1.0}`
			list := CallCopies(text, func(id string) bool { return id == "c" })
			out, ids := WithCalls([]byte(text), list, calls)
			want := strings.Replace(text, c.function, c.want, 1)
			if c.want == "" {
				want = text
			}
			if string(out) != want || len(ids) != map[bool]int{true: 1}[c.want != ""] {
				t.Errorf("%v %s, want %s", ids, out, want)
			}
		})
	}
}

// TestCallCopiesAreFoundInOnePass: a text has very many copies of calls, nested or side by side.
// The cost must be linear in the length of the text. If a call has too many copies, CallCopies
// returns only some of them, and their Sure is false.
func TestCallCopiesAreFoundInOnePass(t *testing.T) {
	for name, text := range map[string]string{
		"within each other": strings.Repeat(`{"id":"c","function":`, MaxDepth-1) + `0` + strings.Repeat("}", MaxDepth-1),
		"beside each other": `[` + strings.Repeat(`{"id":"c","function":0},`, MaxDepth-2) + `{"id":"c","function":0}]`,
	} {
		asks := 0
		list := CallCopies(text, func(string) bool { asks++; return true })
		if len(list) != maxCopies || asks != MaxDepth-1 {
			t.Errorf("%s: %d copies, asked %d times", name, len(list), asks)
		}
		if slices.ContainsFunc(list, func(c CallCopy) bool { return c.Sure }) {
			t.Errorf("%s: one of them is sure", name)
		}
	}
	many := `[` + strings.Repeat(`{"id":"c","function":0},`, maxCopies+1) + `{"id":"d","function":0}]`
	if list := CallCopies(many, func(string) bool { return true }); !list[len(list)-1].Sure || list[0].Sure {
		t.Errorf("a call beside those: %v", list)
	}
}

// FuzzCallCopies: a client may write any text. WithCalls must rewrite this text so that every call
// that a parser finds under the question's id is the call of the question.
func FuzzCallCopies(f *testing.F) {
	for _, text := range []string{oneCall, `[` + oneCall + `,{"id":"c","function":{"NAME":"x","name":"y"}}]`, `{"a":{"b":[` + oneCall + `]},"id":"c"}`,
		`{"id":"c","function":{"name":"rm","arguments":"{}"}}`, `{"ID":"c","function":7,"x":[[]]}`, `{"id":"\u0063","f\u0075nction":{"name":"n"}}`} {
		f.Add(text)
	}
	asked := AskedCall{ID: "c", Name: "rm", Args: `{"path":"a"}`}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || !json.Valid([]byte(text)) || !ValidText(text) {
			return
		}
		list := CallCopies(text, func(id string) bool { return id == "c" })
		for _, c := range list {
			if !c.Sure {
				return // Holdpoint refuses an approval of such a call
			}
		}
		out, _ := WithCalls([]byte(text), list, map[string]AskedCall{"c": asked})
		var v any
		if err := json.Unmarshal(out, &v); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if n := exactCopies(t, v, asked); n > len(list) {
			t.Fatalf("%s has %d calls, %d were found", out, n, len(list))
		}
	})
}

// exactCopies returns the number of calls that a parser finds if it compares keys exactly. It
// checks that each found call is the call of the question.
func exactCopies(t *testing.T, v any, asked AskedCall) int {
	n := 0
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			n += exactCopies(t, one, asked)
		}
	case map[string]any:
		for _, one := range v {
			n += exactCopies(t, one, asked)
		}
		if function, is := v["function"]; is && v["id"] == "c" {
			n++
			if f, ok := function.(map[string]any); !ok || f["name"] != asked.Name || f["arguments"] != asked.Args {
				t.Fatalf("a parser finds %v", function)
			}
		}
	}
	return n
}
