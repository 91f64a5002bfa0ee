package proxy

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	gotypes "go/types"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdpoint/proxy/internal/cors"
	"holdpoint/proxy/internal/intake"
	"holdpoint/translate"
)

const page, stranger = "https://app.example", "https://evil.example"

// A corsBackend serves runs and responds to preflights. It calls answers and prefls for the CORS
// headers of each response.
type corsBackend struct {
	mu      sync.Mutex
	answers func(r *http.Request) http.Header // CORS headers of responses to other requests
	// CORS headers of responses to preflights; nil if the backend does not support OPTIONS
	prefls   func(r *http.Request) http.Header
	status   int // status of responses to other requests; 0 for 200 with a stream
	serve    func(w http.ResponseWriter, r *http.Request, n int)
	preflown []*http.Request
}

// allows returns a function for the CORS headers of a response. They are the headers that
// Starlette's middleware sends if it allows these origins.
func allows(origins ...string) func(*http.Request) http.Header {
	return func(r *http.Request) http.Header {
		h := http.Header{"Vary": {"Origin"}}
		if slices.Contains(origins, r.Header.Get("Origin")) {
			h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
			h.Set("Access-Control-Allow-Credentials", "true")
			if cors.IsPreflight(r) {
				h.Set("Access-Control-Allow-Methods", "POST, PUT")
			}
		}
		return h
	}
}

func (b *corsBackend) ServeHTTP(w http.ResponseWriter, r *http.Request, n int) {
	b.mu.Lock()
	answers, prefls, status := b.answers, b.prefls, b.status
	if cors.IsPreflight(r) {
		b.preflown = append(b.preflown, r)
	}
	b.mu.Unlock()
	put := func(more http.Header) {
		for k, v := range more {
			w.Header()[k] = v
		}
	}
	switch {
	case cors.IsPreflight(r) && prefls == nil:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case cors.IsPreflight(r):
		put(prefls(r))
		if w.Header().Get("Access-Control-Allow-Origin") == "" {
			w.WriteHeader(http.StatusBadRequest)
		}
	default:
		if answers != nil {
			put(answers(r))
		}
		if status != 0 {
			w.WriteHeader(status)
			return
		}
		b.serve(w, r, n)
	}
}

func (b *corsBackend) change(f func(b *corsBackend)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b)
}

func (b *corsBackend) preflights() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.preflown)
}

// from sends a request as a page of this origin does. It returns the response and its body. more
// has names and values of headers in turn.
func (g *rig) from(origin, method, path, body string, more ...string) (*http.Response, string) {
	g.t.Helper()
	req, _ := http.NewRequest(method, g.front.URL+path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	for i := 0; i+1 < len(more); i += 2 {
		req.Header.Set(more[i], more[i+1])
		if more[i] == "Host" {
			req.Host = more[i+1]
		}
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	got, _ := io.ReadAll(res.Body)
	return res, string(got)
}

// preflight sends the preflight that a browser sends before a POST with JSON.
func (g *rig) preflight(origin, path string, more ...string) *http.Response {
	g.t.Helper()
	res, _ := g.from(origin, http.MethodOptions, path, "", append([]string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type"}, more...)...)
	return res
}

// pausesOnce is a backend that pauses in the run r1 and finishes all other runs.
func pausesOnce(w http.ResponseWriter, r *http.Request, n int) {
	body, _ := io.ReadAll(r.Body)
	if bytes.Contains(body, []byte(`"r1"`)) {
		sendStream(w, streamOf(started, asks))
		return
	}
	sendStream(w, streamOf(started, finished))
}

// An ownAnswer is a kind of response that Holdpoint writes itself. prepare brings the thread into
// the state that causes this response. The requests of prepare do not come from a page: they have
// no Origin.
type ownAnswer struct {
	name    string
	options func(*Options)
	prepare func(g *rig, b *corsBackend)
	// last is called just before the request, when Holdpoint already knows what the backend allows.
	last   func(g *rig, b *corsBackend)
	method string // "" for POST
	path   string
	body   string
	header []string
	status int
	want   string // event types of the stream, or a part of the body
}

func owns() []ownAnswer {
	down := &downStore{}
	return []ownAnswer{
		{name: "a refusal", body: `{"threadId":"t","runId":"r2","messages":[` + oldUser + `,` + newUser + `]}`, prepare: pauses, want: "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:PENDING_INTERRUPTS"},
		{name: "an answer to nothing", body: input("t", "r2", resumeWith(yes("n1~nobody"))), want: "RUN_STARTED RUN_FINISHED RUN_ERROR:UNKNOWN_INTERRUPT_ID"},
		{name: "a pause told again", prepare: pauses, body: input("t", "r2", ""), want: "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt"},
		{name: "a replay", prepare: func(g *rig, b *corsBackend) { pauses(g, b); g.do(input("t", "r2", resumeWith(yes("n1~id1")))) },
			body: input("t", "r3", resumeWith(yes("n1~id1"))), want: "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED"},
		{name: "a quiet end", body: `{"threadId":"t","runId":"r2","messages":[]` + resumeWith(no("n1~nobody")) + `}`, want: "RUN_STARTED RUN_FINISHED"},
		{name: "no JSON", body: `{"threadId":`, status: 400, want: "not valid JSON"},
		{name: "a path that misleads", path: "/a/%2e%2e/b", body: input("t", "r", ""), status: 400, want: "dot segments"},
		{name: "a body that is too large", options: func(o *Options) { o.MaxRequestBytes = 100 }, body: input("t", "r", strings.Repeat(" ", 200)), status: 413, want: "exceeds the limit"},
		{name: "a body that is compressed", body: input("t", "r", ""), header: []string{"Content-Encoding", "gzip"}, status: 415, want: "Content-Encoding"},
		{name: "a run by another method", method: "PUT", body: input("t", "r", ""), status: 405, want: "with POST"},
		{name: "a run in a form", body: "threadId=t&runId=r&messages=x", header: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 415, want: "a form is not accepted"},
		{name: "a run in the parts of a form", body: multipart("Content-Disposition: form-data; name=threadId", "Content-Disposition: form-data; name=runId"),
			header: []string{"Content-Type", "multipart/form-data; boundary=x"}, status: 415, want: "a form is not accepted"},
		{name: "a run while it drains", last: func(g *rig, _ *corsBackend) { g.h.runs.drain() },
			body: input("t", "r", ""), want: "RUN_STARTED RUN_ERROR:PROXY_DRAINING"},
		{name: "a store that is down", options: func(o *Options) { down.Store, down.load = o.Store, false; o.Store = down },
			last: func(*rig, *corsBackend) { down.load = true }, body: input("t", "r", ""), want: "RUN_STARTED RUN_ERROR:STORE_UNAVAILABLE"},
		{name: "a backend that hangs up", last: func(_ *rig, b *corsBackend) {
			b.change(func(b *corsBackend) {
				b.answers = nil
				b.serve = func(http.ResponseWriter, *http.Request, int) { panic(http.ErrAbortHandler) }
			})
		}, body: input("t", "r", ""), want: "RUN_STARTED RUN_ERROR:UPSTREAM_EOF"},
		{name: "another request that is not answered", last: func(_ *rig, b *corsBackend) {
			b.change(func(b *corsBackend) {
				b.answers = nil
				b.serve = func(http.ResponseWriter, *http.Request, int) { panic(http.ErrAbortHandler) }
			})
		}, body: `{"a":1}`, status: 502},
		{name: "an error that became a stream", prepare: func(g *rig, b *corsBackend) {
			pauses(g, b)
			g.dialect.end = func(_ int, e translate.End) (translate.Result, error) {
				if e.Status == 0 {
					return translate.Result{}, nil
				}
				return translate.Result{Fate: translate.Lost}, nil
			}
		}, last: func(_ *rig, b *corsBackend) {
			b.change(func(b *corsBackend) { b.status, b.answers = 500, nil })
		}, body: input("t", "r2", resumeWith(yes("n1~id1"))), want: "RUN_STARTED RUN_FINISHED RUN_ERROR:BACKEND_LOST_INTERRUPT"},
	}
}

func pauses(g *rig, _ *corsBackend) { g.do(input("t", "r1", "")) }

// TestAnswersOfOurOwnSayWhatTheBackendSaidToThatOrigin tests every kind of response that Holdpoint
// writes itself. It combines each kind with every way in which Holdpoint can learn what the backend
// allows, and with the cases in which Holdpoint cannot learn it.
func TestAnswersOfOurOwnSayWhatTheBackendSaidToThatOrigin(t *testing.T) {
	ways := []struct {
		name    string
		options func(*Options)
		backend func(b *corsBackend)
		teach   func(g *rig, method, path string)
		allowed bool
		asks    bool // Holdpoint asks the backend, at most once for each origin
	}{
		{name: "said by an answer", teach: func(g *rig, method, path string) {
			g.from(page, method, path, map[bool]string{true: input("other", "r", ""), false: `{"a":1}`}[method == "POST"])
		},
			backend: func(b *corsBackend) { b.answers = allows(page) }, allowed: true},
		{name: "said by the answer to a request that is no run", teach: func(g *rig, method, path string) { g.from(page, method, path, `{"a":1}`) },
			backend: func(b *corsBackend) { b.answers = allows(page) }, allowed: true},
		{name: "said to a preflight", teach: func(g *rig, method, path string) {
			g.preflight(page, path, "Access-Control-Request-Method", method)
		},
			backend: func(b *corsBackend) { b.prefls = allows(page) }, allowed: true},
		{name: "asked for", teach: func(*rig, string, string) {}, backend: func(b *corsBackend) { b.prefls = allows(page) }, allowed: true, asks: true},
		{name: "asked for and refused", teach: func(*rig, string, string) {}, backend: func(b *corsBackend) { b.prefls = allows("https://other.example") }, asks: true},
		{name: "of a backend without CORS", teach: func(*rig, string, string) {}, backend: func(*corsBackend) {}, asks: true},
		{name: "set", options: func(o *Options) { o.AllowOrigins = []string{page} }, teach: func(*rig, string, string) {},
			backend: func(b *corsBackend) { b.prefls, b.answers = allows(stranger), allows(stranger) }, allowed: true},
	}
	for _, own := range owns() {
		for _, way := range ways {
			t.Run(own.name+"/"+way.name, func(t *testing.T) {
				b := &corsBackend{serve: pausesOnce}
				way.backend(b)
				var change []func(*Options)
				for _, f := range []func(*Options){own.options, way.options} {
					if f != nil {
						change = append(change, f)
					}
				}
				g := newRig(t, b.ServeHTTP, change...)
				if own.prepare != nil {
					own.prepare(g, b)
				}
				path := own.path
				if path == "" {
					path = "/"
				}
				misled, method := intake.IsMisleading(path), own.method
				if method == "" {
					method = http.MethodPost
				}
				if !misled { // at a misleading path, Holdpoint never asks the backend
					way.teach(g, method, path)
				}
				if own.last != nil {
					own.last(g, b)
				}
				before := b.preflights()
				for _, origin := range []string{page, stranger, ""} {
					res, got := g.from(origin, method, path, own.body, own.header...)
					status := own.status
					if status == 0 {
						status = http.StatusOK
					}
					told := own.want
					if origin != "" { // a page gets the refusal only within the interrupts
						before, _, _ := strings.Cut(told, " RUN_ERROR")
						if strings.HasSuffix(before, "+interrupt") {
							told = before
						}
					}
					if res.StatusCode != status || status == http.StatusOK && types(got) != told || !strings.Contains(got, own.want) && status != http.StatusOK {
						// "an error that became a stream" happens only in the first request
						if origin == page || own.name != "an error that became a stream" {
							t.Errorf("%d %s\n%s", res.StatusCode, types(got), got)
						}
					}
					want := ""
					if way.allowed && origin == page && !(misled && way.options == nil) {
						want = page
					}
					if allow := res.Header["Access-Control-Allow-Origin"]; strings.Join(allow, "|") != want {
						t.Errorf("a page of %q gets Access-Control-Allow-Origin %q, want %q", origin, allow, want)
					}
					if credentials := res.Header.Get("Access-Control-Allow-Credentials"); credentials != map[bool]string{true: "true"}[want != ""] {
						t.Errorf("a page of %q gets Access-Control-Allow-Credentials %q", origin, credentials)
					}
					if !strings.Contains(strings.Join(res.Header["Vary"], ","), "Origin") {
						t.Errorf("a page of %q gets Vary %q: a cache would give its answer to others", origin, res.Header["Vary"])
					}
				}
				asked, most := b.preflights()-before, 2 // at most one for page and one for stranger
				if way.options != nil || misled {
					most = 0
				}
				if asked > most || way.asks && !misled && asked == 0 {
					t.Errorf("the backend was asked %d times", asked)
				}
			})
		}
	}
}

// TestWhatPassesHasTheBackendsHeadersOnly: if a response is forwarded, its CORS headers must be
// unchanged, byte for byte.
func TestWhatPassesHasTheBackendsHeadersOnly(t *testing.T) {
	for _, tt := range []struct {
		name   string
		header http.Header
		status int
	}{
		{"nothing", http.Header{}, 0},
		{"everything", http.Header{
			"Access-Control-Allow-Origin": {page}, "Access-Control-Allow-Credentials": {"true"}, "Access-Control-Expose-Headers": {"X-A", "X-B"},
			"Access-Control-Max-Age": {"7"}, "Vary": {"Accept-Encoding", "Origin"}, "Timing-Allow-Origin": {"*"},
		}, 0},
		{"nonsense", http.Header{"Access-Control-Allow-Origin": {"*", "*"}, "Access-Control-Allow-Credentials": {"True"}, "Vary": {"*"}}, 0},
		{"nothing on an error", http.Header{}, 500},
		{"something on an error", http.Header{"Access-Control-Allow-Origin": {page}}, 422},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &corsBackend{serve: pausesOnce, answers: allows(page), prefls: allows(page)}
			g := newRig(t, b.ServeHTTP)
			g.from(page, "POST", "/", input("other", "r", ""))
			b.change(func(b *corsBackend) {
				b.status, b.answers = tt.status, func(*http.Request) http.Header { return tt.header }
			})
			for _, body := range []string{input("t", "r", ""), `{"a":1}`} {
				res, _ := g.from(page, "POST", "/", body)
				for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Access-Control-Expose-Headers", "Access-Control-Max-Age", "Vary", "Timing-Allow-Origin"} {
					if got := res.Header[name]; !slices.Equal(got, tt.header[name]) {
						t.Errorf("%s: %s is %q, the backend sent %q", body, name, got, tt.header[name])
					}
				}
			}
		})
	}
}

// TestTheOperatorsOrigins: if HOLDPOINT_CORS_ORIGINS is set, responses must allow its origins
// instead of those that the backend allows.
func TestTheOperatorsOrigins(t *testing.T) {
	b := &corsBackend{serve: pausesOnce, answers: func(r *http.Request) http.Header {
		h := allows(stranger, "null")(r)
		h.Set("Access-Control-Expose-Headers", "X-Request-Id")
		h.Set("Access-Control-Max-Age", "86400")
		return h
	}}
	g := newRig(t, b.ServeHTTP, func(o *Options) { o.AllowOrigins = []string{page, "https://*.tenant.example"} })
	for _, tt := range []struct {
		origin string
		want   string
	}{
		{page, page}, {"https://a.tenant.example", "https://a.tenant.example"}, {"https://a.b.tenant.example", "https://a.b.tenant.example"},
		{stranger, ""}, {"null", ""}, {"http://app.example", ""}, {"https://app.example:8443", ""}, {"https://app.example.evil.example", ""},
		{"https://tenant.example", ""}, {"https://eviltenant.example", ""}, {"", ""},
	} {
		for _, body := range []string{input("other", "r", ""), `{"a":1}`, `{"threadId":`} {
			res, _ := g.from(tt.origin, "POST", "/", body)
			if got := strings.Join(res.Header["Access-Control-Allow-Origin"], "|"); got != tt.want {
				t.Errorf("%q, %s: Access-Control-Allow-Origin %q", tt.origin, body, got)
			}
			if got := res.Header.Get("Access-Control-Allow-Credentials"); (got == "true") != (tt.want != "") {
				t.Errorf("%q, %s: Access-Control-Allow-Credentials %q", tt.origin, body, got)
			}
			if got := res.Header.Get("Access-Control-Max-Age"); got != "" {
				t.Errorf("%q, %s: the backend's Access-Control-Max-Age %q", tt.origin, body, got)
			}
			if !strings.Contains(strings.Join(res.Header["Vary"], ","), "Origin") {
				t.Errorf("%q, %s: Vary %q", tt.origin, body, res.Header["Vary"])
			}
			if got := res.Header.Get("Access-Control-Expose-Headers"); got != map[bool]string{true: "X-Request-Id"}[body != `{"threadId":`] {
				t.Errorf("%q, %s: Access-Control-Expose-Headers %q", tt.origin, body, got)
			}
		}
		called := g.called()
		res := g.preflight(tt.origin, "/", "Access-Control-Request-Headers", "authorization,content-type,x-tenant", "Access-Control-Request-Private-Network", "true")
		if g.called() != called {
			t.Error("a preflight reached the backend")
		}
		wantHeaders, wantNetwork := "", ""
		if tt.want != "" {
			wantHeaders, wantNetwork = "authorization,content-type,x-tenant", "true"
		}
		if res.StatusCode != http.StatusNoContent || res.Header.Get("Access-Control-Allow-Origin") != tt.want || res.Header.Get("Access-Control-Allow-Headers") != wantHeaders ||
			res.Header.Get("Access-Control-Allow-Private-Network") != wantNetwork || tt.want != "" && res.Header.Get("Access-Control-Max-Age") != "600" {
			t.Errorf("%q: preflight %d %v", tt.origin, res.StatusCode, res.Header)
		}
	}
}

// TestEveryAnswerOfOurOwnSaysWhoMayReadIt reads the source code of the package. Each function that
// writes a status must also write CORS headers, so that no kind of response is forgotten.
func TestEveryAnswerOfOurOwnSaysWhoMayReadIt(t *testing.T) {
	passOn := map[string]bool{"(*writer).WriteHeader": true}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || strings.HasSuffix(name, "_test.go") {
				continue
			}
			calls := map[string]bool{}
			ast.Inspect(f, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if s, ok := call.Fun.(*ast.SelectorExpr); ok {
						calls[s.Sel.Name] = true
					}
				}
				return true
			})
			who := f.Name.Name
			if f.Recv != nil {
				who = "(" + gotypes.ExprString(f.Recv.List[0].Type) + ")." + who
			}
			if calls["WriteHeader"] && !passOn[who] {
				found++
				if !calls["Allow"] {
					t.Errorf("%s: %s writes a status and does not call Allow: a page of another origin could not read it", name, who)
				}
			}
		}
	}
	if found < 4 {
		t.Errorf("only %d functions that write a status were found: the test looks for the wrong thing", found)
	}
}

// TestEverybodysPages: if the operator allows the origin "*", responses must not allow credentials.
func TestEverybodysPages(t *testing.T) {
	g := newRig(t, pausesOnce, func(o *Options) { o.AllowOrigins = []string{"*"} })
	for _, body := range []string{input("t", "r", ""), `{"threadId":`} {
		res, _ := g.from(stranger, "POST", "/", body)
		if res.Header.Get("Access-Control-Allow-Origin") != "*" || res.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %v", body, res.Header)
		}
	}
	if res := g.preflight(stranger, "/", "Access-Control-Request-Private-Network", "true"); res.Header.Get("Access-Control-Allow-Origin") != "*" || res.Header.Get("Access-Control-Allow-Private-Network") != "" {
		t.Errorf("%v", res.Header)
	}
}

// TestTheOperatorsOriginsOutliveAnInformationalAnswer: the backend sends a response with status 103
// before its final response. ReverseProxy clears the headers after the 103. The final response must
// still have the operator's CORS headers.
func TestTheOperatorsOriginsOutliveAnInformationalAnswer(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		w.Header().Set("Link", "</a>")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		sendStream(w, streamOf(started, finished))
	}, func(o *Options) { o.AllowOrigins = []string{page} })
	for _, body := range []string{input("t", "r", ""), `{"a":1}`} {
		if res, _ := g.from(page, "POST", "/", body); res.Header.Get("Access-Control-Allow-Origin") != page {
			t.Errorf("%s: %v", body, res.Header)
		}
	}
}
