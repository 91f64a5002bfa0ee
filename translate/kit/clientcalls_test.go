package kit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// named returns an assistant's message with calls. Each call is given as "id:tool".
func named(id string, calls ...string) string {
	var list []string
	for _, c := range calls {
		call, tool, _ := strings.Cut(c, ":")
		list = append(list, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":"{}"}}`, call, tool))
	}
	return fmt.Sprintf(`{"id":%q,"role":"assistant","toolCalls":[%s]}`, id, strings.Join(list, ","))
}

// besideAnswers returns a request that answers a question about the call with the id "asked". Of
// its messages, the last isNew are new.
func besideAnswers(t *testing.T, tools string, isNew int, messages ...string) *translate.Request {
	t.Helper()
	in := parsedInput(t, body(`,"tools":[`+tools+`]`, messages...))
	asked := agui.Interrupt{ID: "i", Native: "i", Object: []byte(`{"toolCallId":"asked"}`)}
	return &translate.Request{Input: in, NewMessages: in.Messages[len(in.Messages)-isNew:], Pause: agui.Pause{ID: "p", Interrupts: []agui.Interrupt{asked}}}
}

const pick = `{"name":"pick","description":"","parameters":{}}`

func TestClientCalls(t *testing.T) {
	for name, c := range map[string]struct {
		tools    string
		isNew    int
		messages []string
		want     []string
	}{
		"one, with its result":      {pick, 1, []string{person, named("a1", "asked:rm", "mine:pick"), resultOf("mine")}, []string{"mine"}},
		"one, without":              {pick, 0, []string{person, named("a1", "mine:pick", "asked:rm")}, []string{"mine"}},
		"each in a message":         {pick, 0, []string{person, named("a1", "mine:pick"), named("a2", "asked:rm"), named("a3", "more:pick")}, []string{"mine", "more"}},
		"with a result before":      {pick, 0, []string{person, named("a1", "asked:rm", "mine:pick"), resultOf("mine")}, nil},
		"an undeclared one":         {pick, 1, []string{person, named("a1", "asked:rm", "other:ls"), resultOf("other")}, nil},
		"no tool is declared":       {"", 1, []string{person, named("a1", "asked:rm", "mine:pick"), resultOf("mine")}, nil},
		"the one that asks":         {`{"name":"rm"}`, 1, []string{person, named("a1", "asked:rm"), resultOf("asked")}, nil},
		"of an earlier turn":        {pick, 0, []string{person, named("a1", "mine:pick"), `{"id":"u2","role":"user","content":"x"}`, named("a2", "asked:rm")}, nil},
		"of an id that repeats":     {pick, 0, []string{person, named("a1", "mine:pick"), resultOf("mine"), named("a2", "asked:rm", "mine:pick")}, []string{"mine"}},
		"in a new message":          {pick, 2, []string{person, named("a1", "asked:rm"), named("a2", "mine:pick"), resultOf("mine")}, nil},
		"with two names":            {pick, 1, []string{person, `{"id":"a1","role":"assistant","toolCalls":[{"id":"c","function":{"name":"pick","Name":"rm"}}]}`, resultOf("c")}, nil},
		"in a backend's other form": {pick, 0, []string{person, `{"id":"a1","role":"assistant","tool_calls":[{"id":"mine","function":{"name":"pick"}}]}`}, []string{"mine"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ClientCalls(besideAnswers(t, c.tools, c.isNew, c.messages...)); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestWithResults checks where the client's results are inserted in the history. Only other calls
// and results may be between a call and its result, and no result may be lost.
func TestWithResults(t *testing.T) {
	const later = `{"id":"u2","role":"user","content":"and"}`
	words := func(id string) string { return `{"id":"` + id + `","role":"assistant","content":"hm"}` }
	for name, c := range map[string]struct {
		isNew    int
		messages []string
		want     []string
	}{
		"in one message":              {1, []string{person, named("a1", "mine:pick", "asked:rm"), resultOf("mine")}, []string{person, named("a1", "mine:pick", "asked:rm"), resultOf("mine")}},
		"each in a message":           {1, []string{person, named("a1", "mine:pick"), named("a2", "asked:rm"), resultOf("mine")}, []string{person, named("a1", "mine:pick"), named("a2", "asked:rm"), resultOf("mine")}},
		"behind another result":       {1, []string{person, named("a1", "mine:pick", "done:ls"), resultOf("done"), resultOf("mine")}, []string{person, named("a1", "mine:pick", "done:ls"), resultOf("done"), resultOf("mine")}},
		"behind the person's words":   {2, []string{person, named("a1", "mine:pick"), later, resultOf("mine")}, []string{person, named("a1", "mine:pick"), resultOf("mine")}},
		"before what was said behind": {1, []string{person, named("a1", "mine:pick"), words("a2"), resultOf("mine")}, []string{person, named("a1", "mine:pick"), resultOf("mine"), words("a2")}},
	} {
		t.Run(name, func(t *testing.T) {
			r := besideAnswers(t, pick, c.isNew, c.messages...)
			results, err := ClientResults(r, ClientCalls(r), true)
			if err != nil || len(results) != 1 {
				t.Fatal(results, err)
			}
			before, _ := MessagesBefore(r)
			if got := string(agui.MessageList(WithResults(r, before, results))); got != "["+strings.Join(c.want, ",")+"]" {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			if left := NewWithoutResults(r, results); len(left) != c.isNew-1 {
				t.Errorf("%d messages stay behind", len(left))
			}
		})
	}
}
