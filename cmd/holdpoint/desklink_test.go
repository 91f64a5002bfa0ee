//go:build unix

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// TestEventsLeadToTheDesk: an event of the webhook must have the id of the approval. If
// HOLDPOINT_DESK_URL is set, it must also have a link that opens the question on the desk's page.
// If HOLDPOINT_SHOW_PRINCIPAL is name, the event of an answer must have the name of the person who
// decided.
func TestEventsLeadToTheDesk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ show, set, base string }{
		{"name", "https://desk.example.com", "https://desk.example.com/"},
		{"hash", "https://intra.example.com/approvals/", "https://intra.example.com/approvals/"},
		{"none", "", ""},
	} {
		t.Run(c.show, func(t *testing.T) {
			t.Parallel()
			upstream := httptest.NewServer(http.HandlerFunc(refunder))
			defer upstream.Close()
			bodies := make(chan gjson.Result, 100)
			hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
				body, _ := io.ReadAll(req.Body)
				bodies <- gjson.ParseBytes(body)
			}))
			defer hook.Close()
			next := func(kind string) gjson.Result {
				t.Helper()
				for {
					select {
					case b := <-bodies:
						if b.Get("type").Str == kind {
							return b.Get("data")
						}
					case <-time.After(30 * time.Second):
						t.Fatalf("no %s", kind)
					}
				}
			}
			at := socket(t)
			environ := []string{
				"HOLDPOINT_UPSTREAM=" + upstream.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_CLIENT=outcome", "HOLDPOINT_DRAIN_DELAY=0s",
				"HOLDPOINT_WEBHOOK_URL=" + hook.URL, "HOLDPOINT_WEBHOOK_PRIVATE=true", "HOLDPOINT_SHOW_PRINCIPAL=" + c.show,
				"HOLDPOINT_DESK_LISTEN=" + at, "HOLDPOINT_DESK_TOKEN=" + deskToken,
			}
			if c.set != "" {
				environ = append(environ, "HOLDPOINT_DESK_URL="+c.set)
			}
			_, addr := start(t, environ...)
			d := auditDesk{caller{T: t, at: at, token: deskToken}, addr}
			a := d.asks("carried", false)
			raised := next("interrupt.raised")
			if raised.Get("approval").Str != a.Get("id").Str {
				t.Errorf("the event has the approval %q, want %s", raised.Get("approval").Str, a.Get("id").Str)
			}
			if status, _ := d.call("GET", "/v1/approvals/"+raised.Get("approval").Str); status != http.StatusOK {
				t.Errorf("the desk knows no such approval: %d", status)
			}
			link := raised.Get("link").Str
			if c.base == "" {
				if link != "" || raised.Get("interrupts.0.link").Exists() {
					t.Errorf("without an address of the desk the link is %q", link)
				}
			} else {
				base, route, _ := strings.Cut(link, "#/")
				id, question, _ := strings.Cut(route, "/")
				id, _ = url.PathUnescape(id)
				question, _ = url.PathUnescape(question)
				if base != c.base || id != a.Get("id").Str || question != a.Get("questions.0.id").Str || raised.Get("interrupts.0.link").Str != link {
					t.Errorf("the link is %q", link)
				}
			}
			d.becomes(d.says(a, 0, `"decision":"approve"`, 200), "ended")
			ended := next("interrupt.resolved")
			by := ended.Get("interrupts.0.by").Str
			if (by != "") != (c.show == "name") || ended.Get("interrupts.0.door").Str != "desk" || ended.Get("interrupts.0.says").Str != "approved" || ended.Get("link").Str != link {
				t.Errorf("the end: %s", ended)
			}
			if _, me := d.call("GET", "/v1/me"); by != "" && by != me.Get("name").Str {
				t.Errorf("decided by %q: %s", by, me)
			}
		})
	}
}

func TestDeskURL(t *testing.T) {
	for set, want := range map[string]string{
		"HOLDPOINT_DESK_URL=desk.example.com":             "not an address",
		"HOLDPOINT_DESK_URL=ftp://desk.example.com":       "not an address",
		"HOLDPOINT_DESK_URL=https://u:p@desk.example.com": "an address has no user and password here",
		"HOLDPOINT_DESK_URL=https://desk.example.com/?a":  "without ? and #",
		"HOLDPOINT_DESK_URL=https://desk.example.com/#/":  "without ? and #",
	} {
		_, stderr, code := holdpoint(t, []string{"HOLDPOINT_UPSTREAM=http://x.example", "HOLDPOINT_DESK_LISTEN=:7082", "HOLDPOINT_DESK_TOKEN=" + deskToken, set}, "check")
		if code != 2 || !strings.Contains(stderr, want) || strings.Contains(stderr, "u:p") {
			t.Errorf("%s: exit %d: %s", set, code, stderr)
		}
	}
	_, stderr, code := holdpoint(t, []string{"HOLDPOINT_UPSTREAM=http://x.example", "HOLDPOINT_DESK_URL=https://desk.example.com"}, "check")
	if code != 2 || !strings.Contains(stderr, "HOLDPOINT_DESK_URL") {
		t.Errorf("without a desk: exit %d: %s", code, stderr)
	}
}
