package kit

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

func input(t *testing.T, event string) agui.RunInput {
	t.Helper()
	in, ok, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[],"forwardedProps":{"command":{"resume":1,"interruptEvent":` + event + `}}}`))
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	return in
}

func TestAnnounced(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		want  Announcer
	}{
		"a text":                  {`"What?"`, LangGraph},
		"the text of an object":   {`"{\"a\":1}"`, LangGraph},
		"Mastra's text":           {`" {\"type\":\"mastra_suspend\"}"`, Mastra},
		"Mastra's object":         {`{"type":"mastra_suspend"}`, Mastra},
		"CrewAI's":                {`{"id":"a","reason":"crewai:human_feedback"}`, CrewAI},
		"an object":               {`{"a":1}`, Unsigned},
		"an Interrupt of another": {`{"id":"a","reason":"x"}`, Unsigned},
		"null":                    {`null`, Unsigned},
	} {
		t.Run(name, func(t *testing.T) {
			ev := agui.NewEvent([]byte(`{"type":"CUSTOM","name":"on_interrupt","value":` + c.value + `}`))
			if got := Announced(ev); got != c.want {
				t.Errorf("announced by %v, want %v", got, c.want)
			}
			if c.value == "null" {
				return
			}
			if got := EchoOf(input(t, c.value)); got != c.want {
				t.Errorf("echo of %v, want %v", got, c.want)
			}
		})
	}
	for _, event := range []string{
		`{"type":"CUSTOM","name":"x","value":"a"}`, `{"type":"RAW","name":"on_interrupt","value":"a"}`,
		`{"type":"CUSTOM","name":"on_interrupt","value":"a","type":"CUSTOM"}`, `{"type":"CUSTOM","name":"on_interrupt","value":"a"`,
	} {
		if got := Announced(agui.NewEvent([]byte(event))); got != NoDialect {
			t.Errorf("%s: %v", event, got)
		}
	}
	if got := EchoOf(input(t, "null")); got != NoDialect {
		t.Errorf("no echo: %v", got)
	}
}

// TestTextThatIsNestedTooDeepIsAText: a JSON string may contain JSON that is nested deeper than the
// request itself may be. gjson is recursive, and a stack overflow would end the process. So such a
// string must not be parsed; it stays a text.
func TestTextThatIsNestedTooDeepIsAText(t *testing.T) {
	deep := gjson.Result{Type: gjson.String, Str: strings.Repeat("[", 16<<20)}
	if got := ParseText(deep); got.Type != gjson.String {
		t.Errorf("%v", got.Type)
	}
}

func TestEchoedIDs(t *testing.T) {
	for event, want := range map[string][]string{
		`"{\"id\":\"a\"}"`: {"a"}, `{"interrupts":[{"id":"a"},{"id":1},7,{"id":"b"}]}`: {"a", "b"},
		`"What?"`: nil, `[{"id":"a"}]`: nil, `{"id":1}`: nil, `null`: nil,
	} {
		in := input(t, event)
		if got := in.EchoedIDs(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", event, got, want)
		}
	}
}

func TestPruned(t *testing.T) {
	for object, want := range map[string]string{
		`{"id":"x","a":null,"b":{"c":null, "d":1.0},"e":""}`: `{"b":{"c":null, "d":1.0},"e":""}`,
		`{"id":1,"id":2}`: `{}`, `{}`: `{}`, `[null]`: `[null]`, `{"a\"b":1}`: `{"a\"b":1}`,
	} {
		got := WithoutMembers(gjson.Parse(object), "id")
		if string(got) != want || !json.Valid(got) {
			t.Errorf("%s became %s, want %s", object, got, want)
		}
	}
}
