//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestLangGraphServerOwnRequests: Holdpoint may forward a request that is not a run only if its
// endpoint is on the list of allowed endpoints. A client cannot delete the server's data, change
// what others run, list the threads of others, or stop a run that carries an answer.
func TestLangGraphServerOwnRequests(t *testing.T) {
	eachLangGraphServer(t, "agent", func(t *testing.T, w world) {
		cl := w.client(t, "")
		cl.asksAbout(t, step{say: "delete slow.txt"}, 1)
		direct, through := w.b.server.base(), w.h.address
		thread := "/threads/" + serverThread(t, direct, cl.thread)
		_, list := sent(t, "POST", direct, "/assistants/search", "{}", "")
		assistant := "/assistants/" + firstOf(t, list, "assistant_id")
		_, runs := sent(t, "GET", direct, thread+"/runs", "", "")
		run := thread + "/runs/" + firstOf(t, runs, "run_id")
		before := kept(t, direct, thread, assistant)

		for _, line := range []string{
			"GET /ok", "HEAD /ok", "GET /info", "GET " + assistant, "GET " + assistant + "/graph", "GET " + thread, "GET " + thread + "/state",
			"GET " + thread + "/history", "GET " + thread + "/runs?limit=1", "GET " + run, "POST /assistants/search {}", "POST /assistants/count {}",
		} {
			method, rest, _ := strings.Cut(line, " ")
			path, body, _ := strings.Cut(rest, " ")
			if status, _ := sent(t, method, through, path, body, ""); status != http.StatusOK {
				t.Errorf("%s: %d", line, status)
			}
		}

		const wipe = `{"threads":true,"runs":true,"checkpointer":true,"store":true,"assistants":true}`
		refused := []string{
			"POST /internal/truncate " + wipe, "POST /Internal/truncate " + wipe, "POST /internal/truncate/ " + wipe, "POST //internal/truncate " + wipe,
			"POST /internal//truncate " + wipe, "POST /internal/%74runcate " + wipe, "POST /%69nternal/truncate " + wipe, "POST /internal%2ftruncate " + wipe,
			"POST /assistants/../internal/truncate " + wipe, "POST /assistants/%2e%2e/internal/truncate " + wipe, "POST /ok/..%2finternal/truncate " + wipe,
			"POST /internal/./truncate " + wipe, "POST /internal/truncate;x " + wipe, "post /internal/truncate " + wipe,
			"PATCH " + assistant + ` {"graph_id":"free"}`, "PATCH " + assistant + `/ {"graph_id":"free"}`, "PATCH /" + assistant + ` {"graph_id":"free"}`,
			"PATCH " + strings.Replace(assistant, "a", "%61", 1) + ` {"graph_id":"free"}`, "PATCH " + strings.ToUpper(assistant) + ` {"graph_id":"free"}`,
			"DELETE " + assistant, "POST " + assistant + `/latest {"version":1}`, "POST /assistants " + `{"graph_id":"free"}`,
			"GET /threads", "GET /threads/", "GET //threads", "GET /threads/search", "POST /threads/search {}", "POST /threads/count {}", "POST /threads/prune {}",
			"POST /threads {}", "PATCH " + thread + ` {"metadata":{"x":1}}`, "DELETE " + thread, "DELETE " + run, "POST " + run + "/cancel {}", "POST " + thread + "/copy {}",
			"POST " + thread + `/state {"values":null,"as_node":"__end__"}`, "POST " + thread + `/runs {"assistant_id":"agent","command":{"resume":true}}`,
			"PUT " + `/store/items {"namespace":["a"],"key":"k","value":{}}`, "GET /store/items?key=k&namespace=a", "POST /store/items/search {}", "POST /store/namespaces {}",
			"GET /runs/" + firstOf(t, runs, "run_id") + "/stream", "GET /", "GET /docs", "GET /mcp",
		}
		for _, spelling := range []string{
			"cancel_on_disconnect=true", "cancel_on_disconnect=1", "cancel_on_disconnect=", "cancel_on_disconnect", "cancel_on_disconnect=false&cancel_on_disconnect=true",
			"x=1&cancel_on_disconnect=true", "cancel%5Fon%5Fdisconnect=true", "%63%61ncel_on_disconnect=true", "CANCEL_ON_DISCONNECT=true", "cancel_on_disconnect%20=true",
			"%2563ancel_on_disconnect=true", "cancel_on_disconnect[]=true", "x;cancel_on_disconnect=true", "%zz&cancel_on_disconnect=true",
		} {
			refused = append(refused, "GET "+run+"/stream?"+spelling, "GET "+run+"/join?"+spelling)
		}
		for _, line := range refused {
			method, rest, _ := strings.Cut(line, " ")
			path, body, _ := strings.Cut(rest, " ")
			if status, _ := sent(t, method, through, path, body, ""); status != http.StatusMethodNotAllowed && status != http.StatusBadRequest {
				t.Errorf("%s: %d", line, status)
			}
		}
		for _, name := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
			for _, line := range []string{"POST /assistants/search", "GET " + assistant, "GET " + thread, "HEAD " + thread} {
				method, path, _ := strings.Cut(line, " ")
				if status, _ := sent(t, method, through, path, "", name+": DELETE"); status != http.StatusMethodNotAllowed {
					t.Errorf("%s with %s: %d", line, name, status)
				}
			}
		}
		if after := kept(t, direct, thread, assistant); after != before {
			t.Errorf("the server has\n%s\nand had\n%s", after, before)
		}

		// An approved run is in progress. However a client asks to join it, the run must not stop
		// when that client leaves.
		running := cl.start(t, step{resume: cl.answers(yesToServer)})
		if !eventually(func() bool { return len(w.b.ledger(t, cl.thread).Runs) == 2 }) {
			t.Fatal("no second run")
		}
		_, runs = sent(t, "GET", through, thread+"/runs", "", "")
		var all []struct {
			ID string `json:"run_id"`
		}
		if err := json.Unmarshal(runs, &all); err != nil {
			t.Fatal(err)
		}
		for _, one := range all {
			for _, spelling := range []string{"cancel_on_disconnect=true", "cancel%5Fon_disconnect=true", "a&cancel_on_disconnect=1"} {
				if status, _ := sent(t, "GET", through, thread+"/runs/"+one.ID+"/stream?"+spelling, "", ""); status != http.StatusMethodNotAllowed {
					t.Errorf("%s: %d", spelling, status)
				}
			}
		}
		if r := <-running; len(r.Wire) != 1 || r.Wire[0].code() != "" {
			t.Errorf("the answer ended with %v", summary(r))
		}
		w.ran(t, cl, `delete_file {"path":"slow.txt"}`)
	})
}

// TestLangGraphServerOpened: the operator allows some endpoints in addition to the list. Requests
// to these must reach the server. Requests to other endpoints must still be refused, and the log
// must name the endpoints that are open.
func TestLangGraphServerOpened(t *testing.T) {
	t.Parallel()
	together(t, langGraphServers, func(t *testing.T, s stack) {
		one := need(t, s.framework, s.version)
		h := ofServer(t, one, "agent", map[string]string{"HOLDPOINT_LANGGRAPH_SERVER_ALLOW": "PUT /store/items, GET /store/items\nPOST /threads/search"})
		key := fresh("key")
		for _, c := range []struct {
			method, path, body string
			want               bool
		}{
			{"PUT", "/store/items", `{"namespace":["mine"],"key":"` + key + `","value":{"x":1}}`, true},
			{"GET", "/store/items?key=" + key + "&namespace=mine", "", true},
			{"POST", "/threads/search", `{"limit":1}`, true},
			{"DELETE", "/store/items", `{"namespace":["mine"],"key":"` + key + `"}`, false},
			{"GET", "/store/items/?key=" + key + "&namespace=mine", "", false},
			{"POST", "/threads/count", "{}", false},
		} {
			status, body := sent(t, c.method, h.address, c.path, c.body, "")
			if status/100 == 2 != c.want {
				t.Errorf("%s %s: %d %s", c.method, c.path, status, body)
			}
			if c.method == "GET" && c.want && !bytes.Contains(body, []byte(`"x":1`)) {
				t.Errorf("the item is not there: %s", body)
			}
		}
		if log := h.log.tail(1000); !contains(log, "any client can make this request", "PUT /store/items", "GET /store/items", "POST /threads/search") {
			t.Errorf("the log does not say what is open: %s", log)
		}
	})
}

// serverThread returns the id that the server has for a client's thread.
func serverThread(t *testing.T, direct, thread string) string {
	t.Helper()
	_, body := sent(t, "POST", direct, "/threads/search", fmt.Sprintf(`{"metadata":{"agui_thread_id":%q}}`, thread), "")
	return firstOf(t, body, "thread_id")
}

func firstOf(t *testing.T, list []byte, key string) string {
	t.Helper()
	var all []map[string]any
	if err := json.Unmarshal(list, &all); err != nil || len(all) == 0 {
		t.Fatalf("no list of %s: %s", key, list)
	}
	return fmt.Sprint(all[0][key])
}

// kept returns what the server has stored about a thread and an assistant. A test compares the
// results of two calls.
func kept(t *testing.T, direct, thread, assistant string) string {
	t.Helper()
	_, state := sent(t, "GET", direct, thread+"/state", "", "")
	_, graph := sent(t, "GET", direct, assistant, "", "")
	return string(state) + "\n" + string(graph)
}

// sent sends a request whose target is exactly as given. It returns the status and the body of the
// response.
func sent(t *testing.T, method, address, target, body, header string) (int, []byte) {
	t.Helper()
	at, query, _ := strings.Cut(target, "?")
	base, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(at, "//") { // net/http would read the first segment as a host
		at = "//" + base.Host + at
	}
	req := &http.Request{Method: method, URL: &url.URL{Scheme: base.Scheme, Host: base.Host, Opaque: at, RawQuery: query}, Header: http.Header{}}
	if body != "" {
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		req.Header.Set("Content-Type", "application/json")
	}
	if name, value, ok := strings.Cut(header, ": "); ok {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	defer res.Body.Close()
	got, _ := io.ReadAll(res.Body)
	return res.StatusCode, got
}
