package tanstack

import (
	"cmp"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// TestHash: hash must return the same digest as digestInterruptJson(canonicalInterruptJson(v)) of
// @tanstack/ai 0.58.0. The digest is "" for a value that hash must refuse.
func TestHash(t *testing.T) {
	for text, want := range map[string]string{
		`{"b":1,"a":[true,null,{"é":"x"}]}`: "sha256:302b3a98a5330222f21d12b990dfd8702f39715bf7010445f20e152aa0f6a93a",
		`{"ﬀ":1,"😀":2,"a":3}`:               "sha256:2924042c1acbb12144da1035b58136d5670287c74bd75b42327eb1689ee08bb8",
		`{"a":1,"a":2}`:                     "sha256:7e8059f495589fcd981232cc11d00b00da3802c01d688fa1cf1f6bed6e5bb33c",
		`{}`:                                "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
		` { "a" : [1e400] } `:               "", // infinite in JavaScript, and an error
		`"\ud800"`:                          "", // half of a surrogate pair, which Go cannot represent
		`[1.0,1e21,1e-7,1.5e-10,0.1,-0.0,-1e300,9007199254740993]`:                                "sha256:852638548429b0d3be5f5ab9165c509742f8f130a43d644545c3e6e44657c231",
		`"\u2028\u0001\b\t\n\f\r\"\\/\u007f<&>"`:                                                  "sha256:3cf90d4d6c88efa41d23ca5b3b1d4909898ca6bf0f5caf193d83fb169d1d0ddc",
		`{"type":"object", "properties":{"approved":{"type":"boolean"}},"required":["approved"]}`: "sha256:2669b42546471c1da2dfb50cca7a7dbae638203124bf1b1cdaf58a7ddf0de291",
	} {
		if sum, ok := hash([]byte(text)); ok != (want != "") || ok && sum != want {
			t.Errorf("%s: %s %v, want %s", text, sum, ok, want)
		}
	}
}

func TestSent(t *testing.T) {
	for body, want := range map[string]bool{
		`{"threadId":"t","forwardedProps":{},"data":{}}`:                                       true,
		`{"threadId":"t","forwardedProps":{"a":[1]},"data":{"a":[1]},"protocolVersion":"1.0"}`: true,
		`{"threadId":"t","forwardedProps":{"a":1},"data":{"a":2}}`:                             false,
		`{"threadId":"t","forwardedProps":{}}`:                                                 false,
		`{"threadId":"t","data":{}}`:                                                           false,
		`{"threadId":"t","forwardedProps":null,"data":null}`:                                   false,
		`{"threadId":"t","forwardedProps":"x","data":"x"}`:                                     false,
	} {
		if IsClientBody([]byte(body)) != want {
			t.Errorf("%s: %v", body, !want)
		}
	}
}

const bound = `{"id":"a~1","reason":"r","metadata":{"k":1.0,"tanstack:interruptBinding":{"v":1,"kind":"generic","interruptId":"a","interruptedRunId":"r1","generation":0}}}`

func TestRenamed(t *testing.T) {
	want := strings.Replace(bound, `"interruptId":"a"`, `"interruptId":"a~1"`, 1)
	if got := Rename([]byte(bound), "a", "a~1"); string(got) != want {
		t.Errorf("%s", got)
	}
	for _, other := range []string{
		// No binding here names the interrupt "a", so Rename must change nothing.
		strings.Replace(bound, `"interruptId":"a"`, `"interruptId":"b"`, 1),
		`{"id":"a~1","metadata":{"tanstack:interruptBinding":"a"}}`, `{"id":"a~1","metadata":"a"}`, `{"id":"a~1"}`,
	} {
		if got := Rename([]byte(other), "a", "a~1"); string(got) != other {
			t.Errorf("%s became %s", other, got)
		}
	}
}

func TestOfRun(t *testing.T) {
	if got, ok := ForRun([]byte(bound), "r1"); !ok || string(got) != bound {
		t.Errorf("in its own run: %s %v", got, ok)
	}
	later := strings.Replace(bound, `"r1"`, `"r2"`, 1)
	if got, ok := ForRun([]byte(bound), "r2"); !ok || string(got) != later {
		t.Errorf("in a later run: %s %v", got, ok)
	}
	if got, ok := ForRun([]byte(`{"id":"a"}`), "r2"); ok || string(got) != `{"id":"a"}` {
		t.Errorf("without a binding: %s %v", got, ok)
	}
	finish := `{"type":"RUN_FINISHED","runId":"r1","outcome":{"type":"interrupt","interrupts":[` + bound + `,{"id":"b"}],"k":1.0}}`
	if got := FinishForRun([]byte(finish), "r2"); string(got) != strings.Replace(finish, bound, later, 1) {
		t.Errorf("%s", got)
	}
	for _, same := range []string{finish, `{"type":"RUN_FINISHED","runId":"r0"}`, `{"type":"RUN_FINISHED","outcome":"x"}`} {
		if got := FinishForRun([]byte(same), "r1"); string(got) != same {
			t.Errorf("%s became %s", same, got)
		}
	}
	if FinishForRun(nil, "r1") != nil || InterruptedRun([]byte(bound)) != "r1" || InterruptedRun([]byte(`{"id":"a"}`)) != "" {
		t.Error("nothing became something")
	}
}

// TestBound: the hashes in the binding must be the same as those that @tanstack/ai 0.58.0 makes for
// a tool with z.object({ path: z.string() }).
func TestBound(t *testing.T) {
	const (
		asks  = `{"id":"a~1","reason":"tool_call","toolCallId":"c1","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]},"metadata":{"x":{"y":1}}}`
		tools = `[{"name":"other"},{"name":"delete_file","description":"","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}]`
		none  = `[{"name":"delete_file","description":"","parameters":{"type":"object"}}]`
		ours  = "sha256:2669b42546471c1da2dfb50cca7a7dbae638203124bf1b1cdaf58a7ddf0de291"
	)
	yes, call := `{"approved":true}`, agui.AskedCall{ID: "c1", Name: "delete_file", Args: `{"path":"a.txt"}`}
	for name, c := range map[string]struct {
		asks, yes, tools string
		calls            []agui.AskedCall
		run              string
		kind, response   string
		input            string
	}{
		"its tool":                          {asks, yes, tools, []agui.AskedCall{call}, "r1", "tool-approval", "sha256:aaa33c4437417e86b31cbe6fd1a8fb88dd4e2962168e91339b80102b72070beb", "sha256:c3e75a7d4e4bd6911fa21e7a3dfd29a13253847806e2f840a20e474afaa80517"},
		"its tool without input":            {asks, yes, none, []agui.AskedCall{call}, "r1", "tool-approval", "sha256:ed82fe780755de70bdc8e477ffff9696d7dd16dd9b328a62a9d2d85525ba6b96", "sha256:eb045d78d273107348b0300c01d29b7552d622abbc6faf81b3ec55359aa9950c"},
		"no tools":                          {asks, yes, `[]`, []agui.AskedCall{call}, "r1", "generic", ours, ""},
		"another yes":                       {asks, `{"type":"accept"}`, tools, []agui.AskedCall{call}, "r1", "generic", ours, ""},
		"two calls":                         {asks, yes, tools, []agui.AskedCall{call, call}, "r1", "generic", ours, ""},
		"another call":                      {asks, yes, tools, []agui.AskedCall{{ID: "c2", Name: "delete_file"}}, "r1", "generic", ours, ""},
		"a call that is too long":           {asks, yes, tools, []agui.AskedCall{{ID: "c1", Name: "delete_file", ArgumentsUnknown: true}}, "r1", "generic", ours, ""},
		"a schema that cannot be hashed":    {asks, yes, strings.Replace(tools, `"string"`, `"number","maximum":1e400`, 1), []agui.AskedCall{call}, "r1", "generic", ours, ""},
		"a schema that is nested very deep": {asks, yes, `[{"name":"delete_file","parameters":` + nested(998) + `}]`, []agui.AskedCall{call}, "r1", "generic", ours, ""},
		"no arguments":                      {asks, yes, tools, []agui.AskedCall{{ID: "c1", Name: "delete_file", Args: " "}}, "r1", "tool-approval", "sha256:aaa33c4437417e86b31cbe6fd1a8fb88dd4e2962168e91339b80102b72070beb", "sha256:c3e75a7d4e4bd6911fa21e7a3dfd29a13253847806e2f840a20e474afaa80517"},
		"arguments that are not JSON":       {asks, yes, tools, []agui.AskedCall{{ID: "c1", Name: "delete_file", Args: `{"amount": NaN, "to":"Eve"}`}}, "r1", "generic", ours, ""},
		"arguments that are a list":         {asks, yes, tools, []agui.AskedCall{{ID: "c1", Name: "delete_file", Args: `["a.txt"]`}}, "r1", "generic", ours, ""},
		"an argument twice":                 {asks, yes, tools, []agui.AskedCall{{ID: "c1", Name: "delete_file", Args: `{"path":"a.txt","path":"b.txt"}`}}, "r1", "generic", ours, ""},
		"no schema":                         {`{"id":"a~1","reason":"r"}`, "", `[]`, nil, "r1", "generic", "", ""},
		"metadata of no object":             {`{"id":"a~1","reason":"r","metadata":"x"}`, "", `[]`, nil, "r1", "", "", ""},
		"a schema without a hash":           {`{"id":"a~1","reason":"r","responseSchema":{"x":1e400}}`, "", `[]`, nil, "r1", "", "", ""},
		"no run":                            {asks, yes, tools, []agui.AskedCall{call}, "", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			i := agui.Interrupt{ID: "a~1", Object: []byte(c.asks), Yes: []byte(c.yes), Calls: c.calls}
			body := `{"forwardedProps":{},"data":{},"tools":` + c.tools + `}`
			told := NewBinder([]byte(body), c.run).Bind([]byte(c.asks), i)
			b, ok := bindingOf(told)
			if c.kind == "" {
				if ok || string(told) != c.asks {
					t.Errorf("bound: %s", told)
				}
				return
			}
			if !ok || b.Get("v").Num != 1 || b.Get("kind").Str != c.kind || b.Get("interruptId").Str != "a~1" || b.Get("interruptedRunId").Str != "r1" || b.Get("generation").Raw != "0" {
				t.Fatalf("%s", told)
			}
			if b.Get("responseSchemaHash").Str != c.response || b.Get("inputSchemaHash").Str != c.input {
				t.Errorf("hashes of %s", b.Raw)
			}
			if c.kind == "tool-approval" && (b.Get("originalArgs").Raw != cmp.Or(strings.TrimSpace(c.calls[0].Args), "{}") || b.Get("toolName").Str != "delete_file" || b.Get("toolCallId").Str != "c1" ||
				b.Get("approvalSchemaHash").Str != "sha256:22f76d9a1c618a3cfaa891208a14f6e5e6ab1be4ff1c38cc8a8cd1e8fd0c0e4e") {
				t.Errorf("%s", b.Raw)
			}
			if c.kind == "generic" && gjson.GetBytes(told, "responseSchema").Raw != gjson.Get(c.asks, "responseSchema").Raw {
				t.Errorf("another schema: %s", told)
			}
		})
	}
}

// TestManyQuestionsAboutOneTool: the cost must be linear in the length of what the client and the
// backend send, even if very many questions are about one tool.
func TestManyQuestionsAboutOneTool(t *testing.T) {
	large := `{"type":"object","title":"` + strings.Repeat("x", 18<<10) + `"}`
	body := `{"forwardedProps":{},"data":{},"tools":[{"name":"f","parameters":` + large + `},{"name":"f","parameters":{"type":"object"}}]}`
	i := agui.Interrupt{ID: "a", Yes: []byte(`{"approved":true}`), Calls: []agui.AskedCall{{ID: "c", Name: "f"}}}
	kinds := map[string]int{}
	size := 0
	b := NewBinder([]byte(body), "r")
	for range 100 {
		told := b.Bind([]byte(`{"id":"a","reason":"r","toolCallId":"c"}`), i)
		found, _ := bindingOf(told)
		kinds[found.Get("kind").Str]++
		size += len(told)
	}
	if kinds["tool-approval"] != 3 || kinds["generic"] != 97 || size > 2*maxSchemas {
		t.Errorf("%v, %d bytes", kinds, size)
	}
}

// nested returns a schema with deep nested objects.
func nested(deep int) string {
	return strings.Repeat(`{"items":`, deep) + `{}` + strings.Repeat(`}`, deep)
}

// TestHashOfALargeSchema: hash must accept a schema of any depth, but must refuse a schema with too
// many values. (The row schema-deep of bench measures the cost.)
func TestHashOfALargeSchema(t *testing.T) {
	if _, ok := hash([]byte(nested(900))); !ok {
		t.Error("a deep schema was not hashed")
	}
	if _, ok := hash([]byte(`[` + strings.Repeat(`0,`, maxValues) + `0]`)); ok {
		t.Error("more values were read than are bounded")
	}
}

func TestAnotherClientGetsNoBinding(t *testing.T) {
	const asks = `{"id":"a","reason":"r"}`
	if told := NewBinder([]byte(`{"forwardedProps":{},"tools":[]}`), "r").Bind([]byte(asks), agui.Interrupt{ID: "a"}); string(told) != asks {
		t.Errorf("%s", told)
	}
}
