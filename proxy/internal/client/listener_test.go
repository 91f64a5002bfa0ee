package client

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/internal/clients"
	"holdpoint/translate"
)

// These are request bodies of the clients that the tables below name. All of them have the thread
// t.
const (
	official = `{"protocolVersion":"1.0","threadId":"t","runId":"r","messages":[` + user + `]}`
	older    = `{"threadId":"t","runId":"r","messages":[` + user + `],"tools":[],"context":[],"state":{},"forwardedProps":{}}` // @ag-ui/client 0.0.59
	resuming = `{"threadId":"t","runId":"r","messages":[` + user + `],"resume":[]}`
	dotnet   = `{"threadId":"t","runId":"run_OZLVt2DmBrMeqZz7wpQrf3r5","messages":[{"role":"user","content":"go"}]}` // AGUI.Client 0.0.3
	inTree   = `{"threadId":"t","runId":"run_0d66c3ca00004ab4b96e8b2898de1e9a","messages":[{"name":null,"id":"u1","role":"user","content":"go"}],"context":[]}`
	tanStack = `{"threadId":"t","runId":"r","messages":[` + user + `],"tools":[` + tool + `],"context":[],"state":{},"forwardedProps":{},"data":{}}`

	user = `{"id":"u1","role":"user","content":"go"}`
	tool = `{"name":"rm","description":"","parameters":{"type":"object"}}`
)

// listen returns the client that sent body. The client gets questions in the form that Holdpoint
// chooses if the operator has configured no form. messages, if there are any, replace the messages
// of body.
func listen(t testing.TB, body string, messages ...string) Listener {
	t.Helper()
	if len(messages) > 0 {
		body = string(agui.SetKey([]byte(body), "messages", []byte("["+strings.Join(messages, ",")+"]")))
	}
	in, ok, err := agui.ParseInput([]byte(body))
	if err != nil || !ok {
		t.Fatalf("not a run: %v\n%s", err, body)
	}
	line := clients.Of(&in)
	return Listener{Line: line, Show: ShowFor(line, &in, false), Thread: in.ThreadID, In: &in, ClientMessages: in.Messages}
}

// as returns the client l as if the operator had configured the form show for its questions.
func as(l Listener, show translate.Show) Listener {
	l.Show = show
	return l
}

// texts returns events as JSON texts.
func texts(events []agui.Event) []string {
	list := make([]string, len(events))
	for n, ev := range events {
		list[n] = string(ev.JSON)
	}
	return list
}

// brief returns events as a line of their types. A type may be followed, in parentheses, by the
// type of an outcome, the name of a tool or the content of a result.
func brief(events []agui.Event) string {
	list := make([]string, len(events))
	for n, ev := range events {
		list[n] = string(agui.PeekType(ev.JSON))
		for _, detail := range []string{"outcome.type", "toolCallName", "content"} {
			if text := agui.View(ev.JSON).Get(detail).Str; text != "" {
				list[n] += "(" + text + ")"
			}
		}
	}
	return strings.Join(list, " ")
}

// same checks that the JSON of events equals these texts.
func same(t *testing.T, got []agui.Event, want ...string) {
	t.Helper()
	if list := texts(got); strings.Join(list, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(list, "\n"), strings.Join(want, "\n"))
	}
}

// TestShowFor: the operator has configured no form for questions. The test checks in which form
// each client gets them.
func TestShowFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body    string
		byArray bool
		want    translate.Show
	}{
		"it declares AG-UI 1.0":                 {official, false, translate.ShowOutcome},
		"it has a resume array":                 {resuming, false, translate.ShowOutcome},
		"its thread was answered by an array":   {older, true, translate.ShowOutcome},
		"it shows nothing":                      {older, false, translate.ShowBoth},
		"TanStack AI's":                         {tanStack, false, translate.ShowBoth},
		".NET's, which reads CUSTOM":            {dotnet, false, translate.ShowBoth},
		"the in-tree one, which throws at both": {inTree, false, translate.ShowNative},
	} {
		l := listen(t, c.body)
		if got := ShowFor(l.Line, l.In, c.byArray); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestErrorAfterQuestions: a RUN_FINISHED has questions. The test checks which clients may get a
// RUN_ERROR after it.
func TestErrorAfterQuestions(t *testing.T) {
	t.Parallel()
	page := listen(t, official)
	page.Page = true
	for name, c := range map[string]struct {
		listener    Listener
		asked, bare bool // with and without questions in the stream
	}{
		"a server":                {listen(t, official), true, true},
		"an older one":            {listen(t, older), true, true},
		"the in-tree one of .NET": {listen(t, inTree), true, true},
		"AGUI.Client":             {listen(t, dotnet), false, true},
		"TanStack AI's":           {listen(t, tanStack), false, false},
		"a page":                  {page, false, false},
	} {
		if c.listener.TakesErrorAfterQuestions(true) != c.asked || c.listener.TakesErrorAfterQuestions(false) != c.bare {
			t.Errorf("%s: not %v and %v", name, c.asked, c.bare)
		}
	}
}
