package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"holdpoint/internal/edge/front"
	"holdpoint/internal/principal"
)

// TestUnderscores: some servers read a header with an underscore as the header with a dash. So
// Holdpoint must drop such a header or refuse its request. Whatever the setting is, nobody may be
// able to forge the principal's header in this way.
func TestUnderscores(t *testing.T) {
	peers, _ := principal.ParsePeers("127.0.0.1")
	ring, _ := principal.ParseRing(strings.Repeat("k", 32))
	for _, tt := range []struct {
		how    Underscores
		status int
		passes string // the X_Session header that the backend gets
	}{
		{"", 400, ""}, {UnderscoresRefuse, 400, ""}, {UnderscoresDrop, 200, ""}, {UnderscoresPass, 200, "s"},
	} {
		g := newRig(t, echo, func(o *Options) {
			o.Underscores, o.AllowOrigins = tt.how, []string{"https://app.example.com"}
			o.Gate = principal.New(principal.Options{Peers: peers, PrincipalHeader: "X-User", Keys: ring})
		})
		for _, body := range []string{input("t", "r", ""), `{"no":"run"}`} {
			calls := g.called()
			req, _ := http.NewRequest(http.MethodPost, g.front.URL, strings.NewReader(body))
			req.Header = http.Header{"X-User": {"ann"}, "X_User": {"eve"}, "x_user": {"eve"}, "X_Session": {"s"}, "Origin": {"https://app.example.com"}}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if res.StatusCode != tt.status || res.Header.Get("Access-Control-Allow-Origin") == "" {
				t.Errorf("%q: %d %v %s", tt.how, res.StatusCode, res.Header, text)
			}
			if tt.status != 200 {
				if g.called() != calls || !strings.Contains(string(text), "X_") || strings.Contains(string(text), "eve") {
					t.Errorf("%q: %d calls, %s", tt.how, g.called()-calls, text)
				}
				continue
			}
			head := g.heads[len(g.heads)-1]
			if head.Get("X-User") != "ann" || head.Get("X_Session") != tt.passes {
				t.Errorf("%q: the backend got %v", tt.how, head)
			}
			for name := range head {
				if strings.EqualFold(name, "X_User") {
					t.Errorf("%q: the backend got %s", tt.how, name)
				}
			}
		}
	}
}

// TestWebSocketOnAnAgentsPath: a WebSocket must be refused on a path that has served runs, and
// forwarded on other paths.
func TestWebSocketOnAnAgentsPath(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if r.Header.Get("Upgrade") != "" {
			w.Header().Set("X-Upgrade", "asked")
			return
		}
		sendStream(w, streamOf(started, finished))
	})
	ask := func(path string) *http.Response {
		req, _ := http.NewRequest(http.MethodGet, g.front.URL+path, nil)
		req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"WebSocket"}}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	if res := ask("/chat"); res.StatusCode != 200 || res.Header.Get("X-Upgrade") == "" {
		t.Errorf("where no run was seen: %d %v", res.StatusCode, res.Header)
	}
	res, err := http.Post(g.front.URL+"/chat", "application/json", strings.NewReader(input("t", "r", "")))
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	for _, path := range []string{"/chat", "/chat/", "/Chat", "//chat?x=1"} {
		if res := ask(path); res.StatusCode != 400 || res.Header.Get("X-Upgrade") != "" {
			t.Errorf("%s where a run was seen: %d", path, res.StatusCode)
		}
	}
	if res := ask("/live"); res.StatusCode != 200 {
		t.Errorf("elsewhere: %d", res.StatusCode)
	}
}

// TestWebSocketOnAConfiguredPath: if the address of the upstream has a path, that path belongs to
// an agent. Holdpoint must refuse a WebSocket there, even before the first run. It must forward a
// WebSocket below that path, and on any path if the address of the upstream has no path.
func TestWebSocketOnAConfiguredPath(t *testing.T) {
	for _, tt := range []struct {
		upstream, path string
		want           int
	}{
		{"/agent", "/", 400},
		{"/agent/", "", 400},
		{"/agent", "/?x=1", 400},
		{"/agent", "/live", 200},
		{"/", "/", 200},
		{"", "/", 200},
	} {
		asked := 0
		g := newRig(t, func(http.ResponseWriter, *http.Request, int) { asked++ }, func(o *Options) {
			upstream := *o.Upstream
			upstream.Path = tt.upstream
			o.Upstream = &upstream
		})
		req, _ := http.NewRequest(http.MethodGet, g.front.URL+tt.path, nil)
		req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != tt.want || (asked > 0) != (tt.want == 200) {
			t.Errorf("%s of an upstream with %q: %d, and the backend was asked %d times", tt.path, tt.upstream, res.StatusCode, asked)
		}
	}
}

// TestRequestsBehindTheFront: the listener of package front makes the handler refuse a request. A
// page of another origin must be able to read this refusal.
func TestRequestsBehindTheFront(t *testing.T) {
	g := newRig(t, echo, func(o *Options) { o.AllowOrigins = []string{"https://app.example.com"} })
	server := httptest.NewUnstartedServer(g.h)
	front.Attach(server.Config)
	server.Listener = front.Listen(server.Listener, front.Options{Connections: 1})
	server.Start()
	defer server.Close()
	ask := func(conn net.Conn, request string) *http.Response {
		t.Helper()
		io.WriteString(conn, request)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	const origin = "Host: x\r\nOrigin: https://app.example.com\r\n"
	for _, tt := range []struct {
		conn            net.Conn
		request, reason string
		status          int
		retry           string
	}{
		{dial(), "POST / HTTP/1.1\r\n" + origin + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "two servers could disagree", 400, ""},
		{dial(), "GET / HTTP/1.1\r\n" + origin + "\r\n", "HOLDPOINT_MAX_CONNECTIONS", 503, "1"},
	} {
		res := ask(tt.conn, tt.request)
		text, _ := io.ReadAll(res.Body)
		if res.StatusCode != tt.status || !res.Close || res.Header.Get("Retry-After") != tt.retry || !strings.Contains(string(text), tt.reason) ||
			res.Header.Get("Access-Control-Allow-Origin") != "https://app.example.com" {
			t.Errorf("%d %v %s", res.StatusCode, res.Header, text)
		}
	}
	if g.called() != 0 {
		t.Error("the backend was called")
	}
}

// TestUpstreamIsTheConfigured: Holdpoint must send a request to the configured upstream. No part of
// the request may select a different server.
func TestUpstreamIsTheConfigured(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s reached another server", r.Method, r.URL)
	}))
	defer other.Close()
	at, _ := url.Parse(other.URL)
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { io.WriteString(w, "configured") })
	body := input("t", "r", "")
	for name, tt := range map[string]struct {
		head   string
		status int
	}{
		"an absolute target":        {"POST " + other.URL + "/x HTTP/1.1\r\nHost: a\r\n", 200},
		"an absolute target, https": {"POST https://" + at.Host + "/x HTTP/1.1\r\nHost: a\r\n", 200},
		"another Host":              {"POST /x HTTP/1.1\r\nHost: " + at.Host + "\r\n", 200},
		"a Host with a user":        {"POST /x HTTP/1.1\r\nHost: a@" + at.Host + "\r\n", 400},
		"two Hosts":                 {"POST /x HTTP/1.1\r\nHost: a\r\nHost: " + at.Host + "\r\n", 400},
		"a path like an authority":  {"POST //" + at.Host + "/x HTTP/1.1\r\nHost: a\r\n", 200},
		"X-Forwarded-Host":          {"POST /x HTTP/1.1\r\nHost: a\r\nX-Forwarded-Host: " + at.Host + "\r\nForwarded: host=" + at.Host + "\r\n", 200},
		"X-Original-URL":            {"POST /x HTTP/1.1\r\nHost: a\r\nX-Original-URL: " + other.URL + "\r\n", 200},
		"CONNECT":                   {"CONNECT " + at.Host + " HTTP/1.1\r\nHost: " + at.Host + "\r\n", 501},
		"CONNECT with a path":       {"CONNECT /x HTTP/1.1\r\nHost: " + at.Host + "\r\n", 501},
		"no path":                   {"OPTIONS * HTTP/1.1\r\nHost: " + at.Host + "\r\n", 200},
	} {
		for _, body := range []string{body, ""} {
			conn, err := net.Dial("tcp", g.front.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			length := ""
			if body != "" {
				length = "Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n"
			}
			io.WriteString(conn, tt.head+"Connection: close\r\n"+length+"\r\n"+body)
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				conn.Close()
				continue
			}
			if res.StatusCode != tt.status && !(body != "" && res.StatusCode == http.StatusMethodNotAllowed) {
				text, _ := io.ReadAll(res.Body)
				t.Errorf("%s: %s %s", name, res.Status, text)
			}
			conn.Close()
		}
	}
}
