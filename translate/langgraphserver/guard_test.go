package langgraphserver

import (
	"strings"
	"testing"

	"holdpoint/translate"
	"holdpoint/translate/kit"
)

const threadT = "/threads/95b93ade-5d71-7189-9251-5f7daf83c1ce"

func TestGuardLetsReadersPass(t *testing.T) {
	d := newDialect(t)
	for _, line := range []string{
		"GET /ok", "HEAD /ok", "GET /info", "GET /assistants/agent", "GET /assistants/agent/graph?xray=true", "GET /assistants/agent/schemas",
		"POST /assistants/search", "POST /assistants/count", "GET " + threadT, "HEAD " + threadT, "GET " + threadT + "/state?subgraphs=true",
		"GET " + threadT + "/history?limit=3", "GET " + threadT + "/runs", "GET " + threadT + "/runs/r1/stream", "GET " + threadT + "/runs/r1/join", "GET /threads/t1/state",
	} {
		if why := d.Refusal(lineOf(line)); why != "" {
			t.Errorf("%s: %s", line, why)
		}
	}
}

func TestGuardRefusesWhatIsNotOnItsList(t *testing.T) {
	d := newDialect(t)
	for _, line := range []string{
		"POST /internal/truncate", "PATCH /assistants/agent", "DELETE /assistants/agent", "POST /assistants", "POST /assistants/agent/latest", "PUT /assistants/agent",
		"POST /assistants/agent/versions", "GET /store/items", "PUT /store/items", "POST /store/items/search", "POST /store/namespaces", "GET /threads", "GET /threads?limit=9",
		"GET /threads/search", "POST /threads/search", "POST /threads/count", "POST /threads/prune", "PATCH " + threadT, "DELETE " + threadT, "POST " + threadT + "/history",
		"POST " + threadT + "/runs/stream", "POST /runs/wait", "GET /runs/r1/stream", "GET /runs/crons/1", "GET /mcp", "POST /mcp", "POST /a2a/agent", "GET /", "GET /docs", "GET /metrics",
		"GET /profile", "GET /ui/agent", "OPTIONS /ok", "TRACE /ok", "get /ok", "post /assistants/search", "GET /okay", "GET /info/x", "GET /ok/x", "GET /assistantsx",
		"POST /assistants/search/x", "POST /assistants/searchx",
		// other spellings of a path
		"GET /OK", "GET /Assistants/agent", "GET /ok/", "GET /assistants/", "GET //ok", "GET /assistants//agent", "GET /%6fk", "GET /assistants%2fagent", "GET /threads/",
		"GET /threads//", "GET /threads/%73earch1", "GET /threads;1", "GET /threads/;1", "GET /threads/t1;x", `GET /threads\t1`, "POST /assistants/search/", "POST /assistants//search",
		"POST /assistants/%73earch", "POST /Assistants/search", "GET *", "GET ",
		// queries that stop a run or name another method
		"GET /threads/t1/runs/r1/stream?cancel_on_disconnect=true", "GET /threads/t1/runs/r1/stream?cancel_on_disconnect=false", "GET /threads/t1/runs/r1/stream?cancel_on_disconnect",
		"GET /threads/t1/runs/r1/stream?cancel_on_disconnect=", "GET /threads/t1/runs/r1/stream?x=1&cancel_on_disconnect=1", "GET /threads/t1/runs/r1/stream?x=1;cancel_on_disconnect=1",
		"GET /threads/t1/runs/r1/stream?cancel_on_disconnect=0&cancel_on_disconnect=1", "GET /threads/t1/runs/r1/join?cancel%5Fon%5fdisconnect=1", "GET /threads/t1/runs/r1/join?%63ancel_on_disconnect=1",
		"GET /threads/t1/runs/r1/join?%2563ancel_on_disconnect=1", "GET /threads/t1/runs/r1/join?CANCEL_ON_DISCONNECT=1", "GET /threads/t1/runs/r1/join?Cancel-On-Disconnect=1",
		"GET /threads/t1/runs/r1/join?+cancel_on_disconnect=1", "GET /threads/t1/runs/r1/join?cancel_on_disconnect[]=1", "GET /threads/t1/runs/r1/join?cancel_on_disconnect%00=1",
		"GET /threads/t1/runs/r1/join?cancelOnDisconnect=1", "GET /threads/t1/runs/r1/join?%zz=1", "GET /threads/t1/runs/r1/join?_method=POST",
	} {
		if why := d.Refusal(lineOf(line)); why == "" {
			t.Errorf("%s passes", line)
		}
	}
	for query, want := range map[string]bool{"": true, "key=x": true, "cancel_on_disconnect=1": false, "cancel%5fon_disconnect=1": false} {
		if why := d.Refusal(translate.RequestLine{Method: "POST", Path: "/", Query: query, Run: true}); (why == "") != want {
			t.Errorf("a run with ?%s: %q", query, why)
		}
	}
}

func TestGuardOpensWhatTheOperatorSays(t *testing.T) {
	var allow kit.Requests
	if err := allow.UnmarshalText([]byte("PUT /store/items, GET  /store/items\n DELETE /threads/* ,,GET /threads\nPOST /threads/search\n")); err != nil {
		t.Fatal(err)
	}
	if got := allow.String(); got != "PUT /store/items,GET /store/items,DELETE /threads/*,GET /threads,POST /threads/search" {
		t.Error(got)
	}
	var warned []string
	d, err := New(Options{Assistant: "agent", Allow: allow}, func(_ string, args ...any) { warned = append(warned, args[3].(string)) })
	if err != nil || strings.Join(warned, ",") != allow.String() {
		t.Fatalf("%v %q", err, warned)
	}
	for line, want := range map[string]bool{
		"PUT /store/items": true, "GET /store/items?key=x": true, "DELETE " + threadT: true, "GET /threads?limit=3": true, "POST /threads/search": true,
		"POST /store/items": false, "DELETE /threads/x/y": false, "PUT /store/Items": false, "PUT /store/items/": false, "PUT /store//items": false, "PUT /store/%69tems": false,
		"GET /store/items?cancel_on_disconnect=1": false, "GET /ok": true,
	} {
		if why := d.Refusal(lineOf(line)); (why == "") != want {
			t.Errorf("%s: %q", line, why)
		}
	}
	// A pattern of the operator must never match a request that controls a run.
	wide := &Dialect{allow: kit.Requests{{Method: "POST", Path: "/*/*/*"}, {Method: "POST", Path: "/*/*/*/*"}, {Method: "POST", Path: "/*"}, {Method: "POST", Path: "/*/*"}}}
	for _, line := range []string{"POST /threads/t1/runs", "POST /threads/t1/runs/stream", "POST /threads/t1/state", "POST /threads/t1/commands", "POST /runs", "POST /runs/wait", "POST /mcp", "POST /a2a/agent"} {
		if why := wide.Refusal(lineOf(line)); why == "" {
			t.Errorf("%s passes", line)
		}
	}
	if why := wide.Refusal(lineOf("POST /threads/t1/history")); why != "" {
		t.Error(why)
	}
}

func TestGuardOptionsThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"/store/items": "not a method and a path", "PUT": "not a method and a path", "PUT /a b": "not a method and a path", "put /store/items": "method in capitals",
		"FETCH /store/items": "method in capitals", "PUT store/items": "plain letters", "PUT /store//items": "plain letters", "PUT /store/": "plain letters", "PUT /st%6fre": "plain letters",
		"PUT /store/[": "not a pattern", "POST /threads/*/runs/stream": "starts or steers a run", "POST /runs": "starts or steers a run", "POST /threads/*/state": "starts or steers a run",
		"DELETE /mcp": "starts or steers a run", "POST /a2a/agent": "starts or steers a run",
	} {
		var o Options
		err := o.Allow.UnmarshalText([]byte(text))
		if errs := o.Check(); err == nil && len(errs) == 1 {
			err = errs[0]
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// lineOf parses a text of the form "METHOD /path?query".
func lineOf(s string) translate.RequestLine {
	method, target, _ := strings.Cut(s, " ")
	at, query, _ := strings.Cut(target, "?")
	return translate.RequestLine{Method: method, Path: at, Query: query}
}
