package intake

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/principal"
	"holdpoint/translate"
)

// TestForm checks which requests Holdpoint refuses because of their request line or headers. It
// does so before it identifies the sender.
func TestForm(t *testing.T) {
	socket := []string{"Connection", "Upgrade", "Upgrade", "WebSocket"}
	for what, c := range map[string]struct {
		dialect     translate.Dialect // nil: bareDialect
		underscores Underscores
		method      string // "": GET
		target      string // /
		header      []string
		want        int // 0: it is not refused
		reason      string
		drops       []string // names of headers that are removed
	}{
		"ordinary headers":                 {header: []string{"X-User", "a"}},
		"an underscore":                    {header: []string{"X_User", "a"}, want: 400, reason: "X_User"},
		"an underscore, refused":           {underscores: UnderscoresRefuse, header: []string{"X_User", "a"}, want: 400, reason: "X_User"},
		"the first of several underscores": {header: []string{"X_User", "a", "A_Name", "b"}, want: 400, reason: "the header A_Name"},
		"a long name":                      {header: []string{"X_" + strings.Repeat("a", 200), "a"}, want: 400, reason: "the header X_" + strings.Repeat("a", 98) + " has"},
		"an underscore, dropped":           {underscores: UnderscoresDrop, header: []string{"X_User", "a", "X-User", "b"}, drops: []string{"X_User"}},
		"an underscore, passed":            {underscores: UnderscoresPass, header: []string{"X_User", "a"}},

		"a WebSocket on an agent's path":            {target: "/chat", header: socket, want: 400, reason: "a WebSocket"},
		"a WebSocket on another spelling of it":     {target: "/Chat/", header: socket, want: 400, reason: "a WebSocket"},
		"a WebSocket elsewhere":                     {target: "/live", header: socket},
		"a POST that asks for a WebSocket":          {method: "POST", target: "/chat", header: socket},
		"another upgrade":                           {target: "/chat", header: []string{"Upgrade", "h2c"}},
		"a WebSocket on a foreign agent's path":     {dialect: foreignDialect{}, target: "/run", header: socket, want: 400, reason: "a WebSocket"},
		"a WebSocket where no foreign agent is":     {dialect: foreignDialect{}, target: "/chat", header: socket},
		"a WebSocket, and an underscore is dropped": {underscores: UnderscoresDrop, target: "/chat", header: append(socket, "X_User", "a"), want: 400, reason: "a WebSocket", drops: []string{"X_User"}},
	} {
		t.Run(what, func(t *testing.T) {
			d, method := c.dialect, c.method
			if d == nil {
				d = bareDialect{}
			}
			if method == "" {
				method = http.MethodGet
			}
			req := requestOf(method, c.target, nil, "")
			for n := 0; n < len(c.header); n += 2 {
				req.Header[c.header[n]] = append(req.Header[c.header[n]], c.header[n+1])
			}
			before := len(req.Header)
			dropped, refused := newIntake(d, func(o *Options) { o.Underscores = c.underscores }).Form(req)
			got, reason := 0, ""
			if refused != nil {
				got, reason = refused.Status, refused.Reason
				if refused.Line.Level != slog.LevelInfo || !slices.Contains(refused.Line.Args, any(req.RemoteAddr)) {
					t.Errorf("the line: %+v", refused.Line)
				}
			}
			if got != c.want || !strings.Contains(reason, c.reason) {
				t.Errorf("%d %q, want %d %q", got, reason, c.want, c.reason)
			}
			if dropped != (c.drops != nil) || len(req.Header) != before-len(c.drops) {
				t.Errorf("dropped: %t, and left %v", dropped, req.Header)
			}
			for _, name := range c.drops {
				if req.Header[name] != nil {
					t.Errorf("%s is not dropped", name)
				}
			}
		})
	}
}

// TestAsk: the gate rejects the sender of a request. The test checks the response to this request.
func TestAsk(t *testing.T) {
	ring, err := principal.ParseRing(strings.Repeat("k", 32))
	if err != nil {
		t.Fatal(err)
	}
	peers, err := principal.ParsePeers("192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	gate := principal.New(principal.Options{PrincipalHeader: "X-User", Peers: peers, Keys: ring})
	preflight := []string{"Access-Control-Request-Method", "POST"}
	for what, c := range map[string]struct {
		gate   *principal.Gate
		method string
		peer   string
		header []string
		body   string
		name   string
		want   int // 0: it is not refused
		level  slog.Level
	}{
		"a user":                  {gate, "POST", "192.0.2.1:1", []string{"X-User", "ann"}, aRun, "ann", 0, 0},
		"no gate":                 {nil, "POST", "192.0.2.9:1", nil, aRun, "", 0, 0},
		"no user":                 {gate, "POST", "192.0.2.1:1", nil, aRun, "", 401, slog.LevelInfo},
		"a user of nobody's":      {gate, "POST", "192.0.2.9:1", []string{"X-User", "ann"}, aRun, "", 403, slog.LevelWarn},
		"a preflight":             {gate, "OPTIONS", "192.0.2.1:1", preflight, "", "", 0, 0},
		"a preflight with a body": {gate, "OPTIONS", "192.0.2.1:1", preflight, "x", "", 401, slog.LevelInfo},
		"a preflight that forges": {gate, "OPTIONS", "192.0.2.9:1", append(preflight, "X-User", "ann"), "", "", 403, slog.LevelWarn},
	} {
		t.Run(what, func(t *testing.T) {
			req := requestOf(c.method, "", c.header, c.body)
			req.RemoteAddr = c.peer
			who, refused := Ask(c.gate, req)
			got := 0
			if refused != nil {
				got = refused.Status
				if refused.Line.Level != c.level || !slices.Contains(refused.Line.Args, any(c.peer)) {
					t.Errorf("the line: %+v", refused.Line)
				}
			}
			if got != c.want || who.Name() != c.name {
				t.Errorf("%d for %q, want %d for %q", got, who.Name(), c.want, c.name)
			}
		})
	}
}

// TestRequestID checks which request ids of a client Holdpoint accepts.
func TestRequestID(t *testing.T) {
	for what, c := range map[string]struct {
		brings []string
		taken  bool
	}{
		"the request's":         {[]string{"6f1e/a:b=1"}, true},
		"one of the most":       {[]string{strings.Repeat("a", MaxRequestID)}, true},
		"none":                  {nil, false},
		"an empty one":          {[]string{""}, false},
		"two":                   {[]string{"a", "b"}, false},
		"too long":              {[]string{strings.Repeat("a", MaxRequestID+1)}, false},
		"with a space":          {[]string{"a b"}, false},
		"with a line's end":     {[]string{"a\nb"}, false},
		"with other letters":    {[]string{"ä"}, false},
		"with a quotation mark": {[]string{`a"b`}, false},
	} {
		req := httptest.NewRequest("POST", "/", nil)
		req.Header[RequestIDHeader] = c.brings
		if got := RequestID(req); c.taken != (len(c.brings) == 1 && got == c.brings[0]) || !c.taken && len(got) != 32 {
			t.Errorf("%s: %q", what, got)
		}
	}
}

// A brokenBody is a request body that cannot be read: it breaks off at once.
type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, errors.New("broken") }

func readAll(t *testing.T, req *http.Request) string {
	t.Helper()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
