package auto_test

import (
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A called is a transcript that has nothing but the calls in the field calls.
type called struct {
	noTranscript
	calls []agui.Call
}

func (c called) Calls() []agui.Call { return c.calls }

// TestLostInterruptIsLogged checks a run that ends as if its adapter had lost the interrupts. The
// dialect auto must log this once, and must not change the run's events.
func TestLostInterruptIsLogged(t *testing.T) {
	stream := []string{
		started, `{"type":"STATE_SNAPSHOT","snapshot":{}}`, `{"type":"TOOL_CALL_START","toolCallId":"A","toolCallName":"delete_files","parentMessageId":"m"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"A"}`, `{"type":"STATE_SNAPSHOT","snapshot":{}}`, finished,
	}
	with := func(at int, event string) []string { return slices.Insert(slices.Clone(stream), at, event) }
	adk := strings.Replace(started, `}`, `,"protocolVersion":"1.0"}`, 1)
	dead := `{"type":"RUN_ERROR","message":"prompt_type=<class 'NoneType'> | must resume from interrupt with list of interruptResponse's","code":"STRANDS_ERROR"}`
	for name, c := range map[string]struct {
		more   string
		route  string
		stream []string
		warns  bool
	}{
		"a call without a result":           {``, "", stream, true},
		"a tool of the client":              {`"tools":[{"name":"delete_files"}]`, "", stream, false},
		"a route of another dialect":        {``, "langgraph", stream, false},
		"the thread that was lost":          {``, "", []string{started, dead}, true},
		"another end":                       {``, "", slices.Concat(stream[:4], []string{finished}), false},
		"agno":                              {``, "", with(2, `{"type":"RAW","event":{"event":"RunStarted"},"source":"agno"}`), false},
		"agno, a RAW event behind the call": {``, "", with(4, `{"type":"RAW","event":{"event":"RunPaused"},"source":"agno"}`), false},
		"ag-ui-adk":                         {``, "", slices.Concat([]string{adk}, stream[1:]), false},
		"Mastra, which sends chunks":        {``, "", with(2, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"x"}`), false},
		"no state at the start":             {``, "", slices.Concat(stream[:1], stream[2:]), false},
		"a request without a state":         {`"state":null`, "", slices.Concat(stream[:1], stream[2:]), true},
		"an outcome, which is somebody's":   {``, "", slices.Concat(stream[:5], []string{outcome(`{"id":"x","reason":"r"}`)}), false},
		"an outcome that says it went well": {``, "", slices.Concat(stream[:5], []string{`{"type":"RUN_FINISHED","outcome":{"type":"success"}}`}), false},
	} {
		t.Run(name, func(t *testing.T) {
			var told []string
			d := both(t, func(msg string, _ ...any) { told = append(told, msg) })
			for range 2 {
				if c.more == "" {
					c.more = `"state":{}`
				}
				r := &translate.Request{Input: parse(t, c.more), Transcript: called{calls: []agui.Call{{ID: "A", Name: "delete_files", Ended: true}}}, Pause: agui.Pause{Dialect: c.route}}
				_, run, err := d.Begin(r)
				if err != nil {
					t.Fatal(err)
				}
				var end translate.End
				for _, s := range c.stream {
					if ev := agui.NewEvent([]byte(s)); ev.Type.Terminal() {
						end.Event = ev
					} else if err := run.Event(ev, func(agui.Event) {}); err != nil {
						t.Fatal(err)
					}
				}
				if res, err := run.End(end); err != nil || res.Finish.Edited != (len(res.Asked.Interrupts) > 0) {
					t.Fatalf("%+v %v", res, err)
				}
			}
			if want := map[bool]int{true: 1}[c.warns]; len(told) != want || want > 0 && !strings.Contains(told[0], "ag_ui_strands up to 0.2.5") {
				t.Errorf("told %q", told)
			}
		})
	}
}
