package superagent

import (
	"strings"
	"testing"

	"holdpoint/translate"
	"holdpoint/translate/kit"
)

func line(s string) translate.RequestLine {
	method, target, _ := strings.Cut(s, " ")
	at, query, _ := strings.Cut(target, "?")
	return translate.RequestLine{Method: method, Path: at, Query: query}
}

func TestGuard(t *testing.T) {
	var allow kit.Requests
	if err := allow.UnmarshalText([]byte("POST /api/v2/files, POST /api/v2/chat/abort\nPUT /api/v2/memory/*")); err != nil {
		t.Fatal(err)
	}
	var warned []string
	d, err := New(Options{AgentID: "a", Allow: allow}, func(_ string, args ...any) { warned = append(warned, args[3].(string)) })
	if err != nil || strings.Join(warned, ",") != allow.String() {
		t.Fatalf("%v %q", err, warned)
	}
	closed, err := New(Options{AgentID: "a"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// for each request: whether it passes without the option Allow, and whether it passes with it
	for request, want := range map[string][2]bool{
		"GET /api/v1/agents": {true, true}, "GET /api/v1/chat/interrupt_state?agent_id=a&session_id=t": {true, true}, "HEAD /health": {true, true},
		"GET /api/v2/sessions/t/messages": {true, true}, "GET /static/x.js": {true, true},
		"POST /api/v2/files": {false, true}, "POST /api/v2/chat/abort": {false, true}, "PUT /api/v2/memory/1": {false, true},
		"POST /api/v1/chat/abort": {false, false}, "POST /api/v2//files": {false, false}, "POST /api/v2/%66iles": {false, false},
		"POST /api/v2/workflows/stream_resume": {false, false}, "POST /v1/workflow/run": {false, false}, "POST /v3/chat": {false, false},
		"POST /api/v2/chat/resume": {false, false}, "DELETE /api/v1/sessions/t": {false, false}, "POST /api/v2/agents/a/state": {false, false},
		"get /api/v1/agents": {false, false}, "OPTIONS /api/v1/agents": {false, false},
	} {
		for n, one := range []*Dialect{closed, d} {
			if why := one.Refusal(line(request)); (why == "") != want[n] {
				t.Errorf("%s, with the variable: %v: %q", request, n == 1, why)
			}
		}
	}
	if why := closed.Refusal(translate.RequestLine{Method: "POST", Path: "/", Run: true}); why != "" {
		t.Error(why)
	}
	wide := &Dialect{allow: kit.Requests{{Method: "POST", Path: "/*/*/*/*"}}}
	if why := wide.Refusal(line("POST /api/v2/workflows/run")); why == "" {
		t.Error("a pattern reaches what starts a run")
	}
}

func TestGuardOptionsThatAreWrong(t *testing.T) {
	for _, text := range []string{"POST /api/v1/chat/resume", "POST /api/v2/workflows/stream_resume", "POST /v3/chat", "post /api/v2/files", "POST api"} {
		var o Options
		if err := o.Allow.UnmarshalText([]byte(text)); err == nil && o.Check() == nil {
			t.Errorf("%s was taken", text)
		}
	}
}
