package proxy

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"holdpoint/internal/test/servers"
	"holdpoint/translate/standard"
)

// hinted sends a run to a backend, and returns the response, its body and the log.
func hinted(t *testing.T, upstream string, change ...func(*Options)) (*http.Response, string, string) {
	t.Helper()
	return hintedRequest(t, upstream, func(front string) *http.Request {
		req, _ := http.NewRequest(http.MethodPost, front, strings.NewReader(input("t", "r", "")))
		req.Header.Set("Content-Type", "application/json")
		return req
	}, change...)
}

func hintedRequest(t *testing.T, upstream string, request func(front string) *http.Request, change ...func(*Options)) (*http.Response, string, string) {
	t.Helper()
	up, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	logs := &lockedBuffer{}
	g := newRig(t, func(http.ResponseWriter, *http.Request, int) {}, append([]func(*Options){func(o *Options) {
		o.Upstream, o.Logger = up, slog.New(slog.NewTextHandler(logs, nil))
	}}, change...)...)
	res, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(request(g.front.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	said, _ := io.ReadAll(res.Body)
	return res, string(said), logs.String()
}

// TestHintsOfConnections: the log line of a failed connection to the backend names the variable to
// change.
func TestHintsOfConnections(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	secure.StartTLS()
	defer secure.Close()
	nobody := servers.RefusingAddress(t)
	// If a client sends plain HTTP to a server that speaks only TLS, the server sends an alert, or
	// resets the connection, as uvicorn does.
	alert := func(answer string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 64<<10))
				_, _ = io.WriteString(conn, answer)
				conn.Close()
			}
		}()
		return "http://" + l.Addr().String()
	}
	for name, c := range map[string]struct{ upstream, hint string }{
		"TLS to a server without":         {strings.Replace(plain.URL, "http", "https", 1), "must begin with http://"},
		"an authority of one's own":       {secure.URL, "HOLDPOINT_UPSTREAM_CA_FILE"},
		"plain to a server of TLS":        {strings.Replace(secure.URL, "https", "http", 1), "must begin with https://"},
		"plain to a server with alerts":   {alert("\x15\x03\x01\x00\x02\x02F"), "must begin with https://"},
		"plain to a server that hangs up": {alert(""), "must begin with https://"},
		"nobody listens":                  {"http://" + nobody, "nothing listens at " + nobody},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, log := hinted(t, c.upstream); !strings.Contains(log, "hint=") || !strings.Contains(log, c.hint) {
				t.Errorf("the log has no hint %q:\n%s", c.hint, log)
			}
		})
	}
	lookup := fmt.Errorf("dial: %w", &net.DNSError{Err: "no such host", Name: "agnet"})
	if hint := connectionHint(lookup, &url.URL{Scheme: "http", Host: "agnet:8000"}); !strings.Contains(hint, "no address is known for the host agnet") {
		t.Errorf("an unknown host: %q", hint)
	}
	if hint := connectionHint(context.Canceled, &url.URL{Scheme: "http"}); hint != "" {
		t.Errorf("a client that left: %s", hint)
	}
}

// TestHintsOfAnswers: the log line of a response that is not a stream names the variable to change.
// A stream causes no hint.
func TestHintsOfAnswers(t *testing.T) {
	named := func(o *Options) { o.Dialect = new(standard.Dialect) }
	for name, c := range map[string]struct {
		status     int
		kind, body string
		change     func(*Options)
		hint       string
	}{
		"a web page":            {200, "text/html; charset=utf-8", "<!doctype html>", nil, "this is a web page"},
		"another framework":     {422, "application/json", `{"detail":[]}`, named, "holdpoint doctor"},
		"a stream":              {200, "text/event-stream", streamOf(started, finished), named, ""},
		"an error of the agent": {500, "application/json", `{}`, named, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer s.Close()
			change := c.change
			if change == nil {
				change = func(*Options) {}
			}
			_, _, log := hinted(t, s.URL, change)
			if c.hint == "" && strings.Contains(log, "hint=") || !strings.Contains(log, c.hint) {
				t.Errorf("want the hint %q:\n%s", c.hint, log)
			}
		})
	}
}

// TestRedirectThatLeadsBack: the backend redirects a request to the same address of Holdpoint. The
// client would follow this redirect forever, so it must get status 502 instead. A redirect to
// another address must be forwarded.
func TestRedirectThatLeadsBack(t *testing.T) {
	for name, c := range map[string]struct {
		upstream, asked, to, want string
	}{
		"a slash too many":               {"/agent/", "/", "/agent", ""},
		"a slash that is missing":        {"/agent", "/", "/agent/", ""},
		"another address":                {"", "/agent/", "/agent", "/agent"},
		"another address, with a query":  {"/agent", "/", "/agent?x=1", "/?x=1"},
		"the same by https":              {"/agent", "/", "https://self/", "https://self/"},
		"another host":                   {"/agent", "/", "https://login.example/", "https://login.example/"},
		"the address of an agent's page": {"/agent", "/", "/login", "/login"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				to := c.to
				if strings.HasPrefix(to, "/") {
					to = fmt.Sprintf("http://%s%s", r.Host, to) // as Starlette writes it
				}
				w.Header().Set("Location", to)
				w.WriteHeader(http.StatusTemporaryRedirect)
			}))
			defer s.Close()
			res, said, log := hintedRequest(t, s.URL+c.upstream, func(front string) *http.Request {
				if strings.HasPrefix(c.to, "https://self") {
					c.to = strings.Replace(front, "http", "https", 1) + "/"
					c.want = c.to
				}
				req, _ := http.NewRequest(http.MethodPost, front+c.asked, strings.NewReader(input("t", "r", "")))
				req.Header.Set("Content-Type", "application/json")
				return req
			})
			got := strings.TrimPrefix(res.Header.Get("Location"), "http://"+res.Request.URL.Host)
			if c.want != "" {
				if res.StatusCode != http.StatusTemporaryRedirect || got != c.want {
					t.Errorf("%s to %q, want %q", res.Status, got, c.want)
				}
				return
			}
			if res.StatusCode != http.StatusBadGateway || got != "" || !strings.Contains(said, "log") || !strings.Contains(log, "HOLDPOINT_UPSTREAM") {
				t.Errorf("%s to %q: %s\n%s", res.Status, got, said, log)
			}
		})
	}
}

// TestHintsOfWhatPasses: the backend refuses a preflight, and responds to a run with a stream of
// the AI SDK. Holdpoint must forward both responses and log one line about each.
func TestHintsOfWhatPasses(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("X-Vercel-Ai-Ui-Message-Stream", "v1")
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"type\":\"start\"}\n\ndata: [DONE]\n\n")
	}))
	defer s.Close()
	_, _, log := hintedRequest(t, s.URL, func(front string) *http.Request {
		req, _ := http.NewRequest(http.MethodOptions, front, nil)
		req.Header.Set("Origin", "https://app.example")
		req.Header.Set("Access-Control-Request-Method", "POST")
		return req
	})
	if !strings.Contains(log, "HOLDPOINT_CORS_ORIGINS") || !strings.Contains(log, "https://app.example") {
		t.Error(log)
	}
	_, said, log := hintedRequest(t, s.URL, func(front string) *http.Request {
		req, _ := http.NewRequest(http.MethodPost, front+"/api/chat", strings.NewReader(`{"id":"c1","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"hi"}]}]}`))
		req.Header.Set("Content-Type", "application/json")
		return req
	})
	if !strings.Contains(log, "AI SDK") || !strings.Contains(said, `"start"`) {
		t.Error(said, log)
	}
}
