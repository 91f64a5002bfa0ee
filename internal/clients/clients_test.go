package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/internal/agui"
)

const (
	hexRun   = `"threadId":"t","runId":"run_0d66c3ca00004ab4b96e8b2898de1e9a"`
	mixedRun = `"threadId":"t","runId":"run_OZLVt2DmBrMeqZz7wpQrf3r5"`
	ownRun   = `"threadId":"t","runId":"r1"`

	inTreeUser = `{"name":null,"id":"394b75de40fa44a4b12436ace45d0f4a","role":"user","content":"hello"}`
	inTreeTool = `{"toolCallId":"c","error":null,"id":"c","role":"tool","content":"1"}`
	sdkUser    = `{"role":"user","content":"hello"}`
	sdkTool    = `{"role":"tool","content":"1","toolCallId":"c","id":"c"}`
	namedUser  = `{"id":"m1","role":"user","content":"hello"}`
	sdkYes     = `"resume":[{"interruptId":"i","status":"resolved","payload":{"approved":true,"toolCall":{"callId":"c","name":"n","arguments":{}}}}]`
)

func parsed(t testing.TB, body string) *agui.RunInput {
	t.Helper()
	in, ok, err := agui.ParseInput([]byte(body))
	if err != nil || !ok {
		t.Fatalf("not a run: %v\n%s", err, body)
	}
	return &in
}

func TestOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, body string
		want       *Line
	}{
		{"in-tree", `{` + hexRun + `,"messages":[` + inTreeUser + `],"context":[]}`, InTree},
		{"in-tree, a result", `{` + hexRun + `,"messages":[` + inTreeTool + `],"context":[]}`, InTree},
		{"in-tree, state and properties", `{` + hexRun + `,"state":{"a":1},"messages":[` + inTreeUser + `],"tools":[{"name":"x"}],"context":[],"forwardedProps":{}}`, InTree},
		{"in-tree, it has read reasoning", `{` + hexRun + `,"messages":[` + inTreeUser + `,{"id":"x","role":"reasoning","content":"hm"}],"context":[]}`, InTreeReasoning},
		{"in-tree, it declares a version", `{"protocolVersion":"1.0",` + hexRun + `,"messages":[` + inTreeUser + `],"context":[]}`, Official},
		{"in-tree, another run", `{` + ownRun + `,"messages":[` + inTreeUser + `],"context":[]}`, nil},
		{"in-tree, capital digits", `{"threadId":"t","runId":"run_0D66C3CA00004AB4B96E8B2898DE1E9A","messages":[` + inTreeUser + `],"context":[]}`, nil},
		{"in-tree, no null", `{` + hexRun + `,"messages":[` + namedUser + `],"context":[]}`, nil},
		{"in-tree, no context", `{` + hexRun + `,"messages":[` + inTreeUser + `]}`, nil},
		{"in-tree, an empty list of tools", `{` + hexRun + `,"messages":[` + inTreeUser + `],"tools":[],"context":[]}`, nil},
		{"in-tree, a message without an id", `{` + hexRun + `,"messages":[` + inTreeUser + `,{"name":null,"role":"user","content":"x"}],"context":[]}`, nil},
		{"in-tree, it answers by resume", `{` + hexRun + `,"messages":[` + inTreeUser + `],"context":[],"resume":[]}`, nil},
		{"in-tree, a key of its own", `{` + hexRun + `,"messages":[` + inTreeUser + `],"context":[],"extra":1}`, nil},
		{"in-tree, state null", `{` + hexRun + `,"state":null,"messages":[` + inTreeUser + `],"context":[]}`, nil},

		{"sdk", `{` + mixedRun + `,"messages":[` + sdkUser + `]}`, SDK},
		{"sdk, state and context of the application", `{` + mixedRun + `,"messages":[` + sdkUser + `],"state":{},"context":[],"forwardedProps":{}}`, SDK},
		{"sdk, ids of the application", `{` + mixedRun + `,"messages":[` + namedUser + `]}`, SDK},
		{"sdk, its run is the application's, a yes", `{` + ownRun + `,"messages":[` + sdkUser + `],` + sdkYes + `}`, SDK},
		{"sdk, its run is the application's, a result", `{` + ownRun + `,"messages":[` + sdkUser + `,` + sdkTool + `]}`, SDK},
		{"sdk, it declares a version", `{"protocolVersion":"1.0",` + mixedRun + `,"messages":[` + sdkUser + `]}`, Official},
		{"OpenAI's id of a run", `{` + mixedRun + `,"state":{},"messages":[` + namedUser + `],"tools":[],"context":[],"forwardedProps":{}}`, nil},
		{"OpenAI's id of a run, state only", `{` + mixedRun + `,"state":{},"messages":[` + namedUser + `]}`, nil},
		{"sdk, a null", `{` + mixedRun + `,"messages":[` + inTreeUser + `]}`, nil},
		{"sdk, an empty list of tools", `{` + mixedRun + `,"messages":[` + sdkUser + `],"tools":[]}`, nil},
		{"sdk, a result with an id of its own", `{` + mixedRun + `,"messages":[` + sdkUser + `,{"role":"tool","content":"1","toolCallId":"c","id":"d"}]}`, nil},

		{"by hand", `{` + ownRun + `,"messages":[` + sdkUser + `]}`, nil},
		{"by hand, a yes", `{` + ownRun + `,"messages":[` + sdkUser + `],"resume":[{"interruptId":"i","status":"resolved","payload":{"approved":true}}]}`, nil},
		{"by hand, the SDK's yes among named messages", `{` + ownRun + `,"messages":[` + namedUser + `],` + sdkYes + `}`, nil},
		{"@ag-ui/client 0.0.59", `{"threadId":"t","runId":"0c8a4d0e-1d55-4f3a-9d3c-0d66c3ca0000","tools":[],"context":[],"forwardedProps":{},"state":{},"messages":[` + namedUser + `]}`, nil},
		{"@ag-ui/client 1.0.0", `{"protocolVersion":"1.0","threadId":"t","runId":"r","messages":[` + namedUser + `]}`, Official},
		{"nothing", `{` + ownRun + `,"messages":[]}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := Of(parsed(t, test.body)); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestRecordedClients checks which Line is found for each request that a real .NET client has sent.
func TestRecordedClients(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../e2e/dotnetclient/testdata/*.txt")
	if err != nil || len(paths) < 100 {
		t.Fatal("no recordings", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := SDK
		if name := filepath.Base(path); strings.HasPrefix(name, "1208-") || strings.HasPrefix(name, "0707-") {
			want = InTree
		}
		for line := range strings.Lines(string(text)) {
			if body, is := strings.CutPrefix(line, "> "); is {
				if got := Of(parsed(t, body)); got != want {
					t.Errorf("%s: %q, want %q\n%s", path, got, want, body)
				}
			}
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var unknown *Line
	for _, test := range []struct {
		line *Line
		// true means that the client can read events of this kind.
		chunk, custom, snapshot, reasoning, strange bool
		// true means that the client does this.
		outcome, takesSnapshot, needsResult, asksFirst bool
	}{
		{unknown, true, true, true, true, true, false, true, false, false},
		{Official, true, true, true, true, true, true, true, false, false},
		{SDK, false, true, true, true, false, true, false, true, true},
		{InTree, false, false, false, false, false, false, false, true, false},
		{InTreeReasoning, false, false, false, true, false, false, false, true, false},
	} {
		for what, is := range map[string]bool{
			"a chunk of text":   test.line.Reads(agui.TextChunk) == test.chunk,
			"a chunk of a call": test.line.Reads(agui.CallChunk) == test.chunk,
			"CUSTOM":            test.line.Reads(agui.Custom) == test.custom,
			"RAW":               test.line.Reads(agui.Raw) == test.custom,
			"a snapshot":        test.line.Reads(agui.MessagesSnapshot) == test.snapshot,
			"reasoning":         test.line.Reads(agui.ReasoningContent) == test.reasoning,
			"thinking":          test.line.Reads(agui.ThinkingStart) == test.strange,
			"a strange event":   test.line.Reads(agui.Unknown) == test.strange,
			"text":              test.line.Reads(agui.TextContent),
			"a result":          test.line.Reads(agui.CallResult),
			"an end":            test.line.Reads(agui.RunErrored),
			"all":               test.line.ReadsAll() == test.strange,
			"the outcome":       test.line.ReadsOutcome() == test.outcome,
			"takes a snapshot":  test.line.TakesSnapshots() == test.takesSnapshot,
			"needs a result":    test.line.NeedsResult() == test.needsResult,
			"asks first":        test.line.AsksFirst() == test.asksFirst,
		} {
			if !is {
				t.Errorf("%q: %s", test.line, what)
			}
		}
	}
}

func TestOfAllocatesNothing(t *testing.T) {
	for name, body := range map[string]string{
		"in-tree": `{` + hexRun + `,"messages":[` + inTreeUser + `,` + inTreeTool + `],"context":[]}`,
		"sdk":     `{` + mixedRun + `,"messages":[` + sdkUser + `,` + sdkTool + `]}`,
		"unknown": `{` + ownRun + `,"messages":[` + namedUser + `]}`,
	} {
		in := parsed(t, body)
		if n := testing.AllocsPerRun(100, func() { Of(in); InTree.Reads(agui.TextContent) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// FuzzOf: Of must not panic, and must return the same line for the same body.
func FuzzOf(f *testing.F) {
	for _, body := range []string{
		`{` + hexRun + `,"messages":[` + inTreeUser + `,` + inTreeTool + `],"context":[]}`,
		`{` + mixedRun + `,"messages":[` + sdkUser + `,` + sdkTool + `],` + sdkYes + `}`,
		`{` + ownRun + `,"messages":[` + namedUser + `],"protocolVersion":"1.0"}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		in, ok, err := agui.ParseInput(body)
		if err != nil || !ok {
			return
		}
		line := Of(&in)
		if again := Of(&in); line != again {
			t.Fatalf("%q, then %q", line, again)
		}
		if (in.ProtocolVersion != "") != (line == Official) {
			t.Fatalf("%q by the version %q", line, in.ProtocolVersion)
		}
		if line.NeedsResult() != !line.ReadsAll() {
			t.Fatalf("%q", line)
		}
	})
}
