package doctor

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/internal/scenario"
	"holdpoint/internal/test/servers"
)

func address(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := Address(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func fetch(t *testing.T, h http.HandlerFunc, p Probe) *Report {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	p.URL = address(t, server.URL+"/agent?key=1")
	a, err := Fetch(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Examine(t.Context(), a, p.Options)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTheHarmlessRun: doctor sends exactly one run to the given address, with the given headers.
// The run has one message, no tools and a new thread.
func TestTheHarmlessRun(t *testing.T) {
	stream := stored(t, "langgraph/approve-py-0.0.43/1.upstream.sse")
	threads := map[string]bool{}
	asked := 0
	for range 2 {
		r := fetch(t, func(w http.ResponseWriter, req *http.Request) {
			asked++
			body, _ := io.ReadAll(req.Body)
			in, isRun, err := agui.ParseInput(body)
			if err != nil || !isRun || len(in.Messages) != 1 || !strings.Contains(string(body), `"content":"Hi there."`) || !strings.Contains(string(body), `"tools":[]`) {
				t.Errorf("body %s, %v", body, err)
			}
			threads[in.ThreadID] = true
			if req.Method != http.MethodPost || req.URL.String() != "/agent?key=1" || req.Header.Get("Authorization") != "Bearer x" || req.Header.Get("Accept") != eventStream {
				t.Errorf("%s %s %v", req.Method, req.URL, req.Header)
			}
			w.Header().Set("Content-Type", eventStream)
			w.Header().Set("Server", "uvicorn")
			w.Write(stream)
		}, Probe{Message: "Hi there.", Header: http.Header{"Authorization": {"Bearer x"}}, Options: Options{ProtocolVersion: "1.0"}})
		if r.Verdict != CanTranslate || r.Dialect != "langgraph" || r.Answer.Status != http.StatusOK || r.Answer.Server != "uvicorn" || r.Framework.Name != "LangGraph" {
			t.Errorf("%+v", r)
		}
	}
	if asked != 2 || len(threads) != 2 {
		t.Errorf("%d requests on %d threads, want 2 and 2", asked, len(threads))
	}
}

// TestOneRequestOnly: for some streams Holdpoint would send the server one more request. Doctor
// must not send that request, and its report must note that there would be one.
func TestOneRequestOnly(t *testing.T) {
	asked := 0
	r := fetch(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", eventStream)
		w.Write(stored(t, "strands/asked-what-py/1.upstream.sse"))
	}, Probe{Options: Options{Dialect: "strands"}})
	if asked != 1 || r.Verdict != Plain || !strings.Contains(strings.Join(r.Notes, "\n"), "one more request") {
		t.Errorf("%d requests, %+v", asked, r)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	status := func(code int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if header != nil {
				w.Header().Set(header[0], header[1])
			}
			w.WriteHeader(code)
			io.WriteString(w, `{"detail":"secret"}`)
		}
	}
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		want Verdict
		says string
	}{
		"401":  {status(401), NoStream, "-header"},
		"404":  {status(404), NoStream, "no agent at this address"},
		"307":  {status(307, "Location", "/agent/?key=1"), NoStream, "redirects"},
		"422":  {status(422), NoStream, "-dialect"},
		"500":  {status(500), NoStream, "error"},
		"JSON": {status(200, "Content-Type", "application/json"), CannotTranslate, "nothing in it"},
		"brotli": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", eventStream)
			w.Header().Set("Content-Encoding", "br")
			io.WriteString(w, "\x0b\x02")
		}, CannotTranslate, "Content-Encoding br"},
		"gzip": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", eventStream)
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, started+finished)
			z.Close()
		}, Plain, ""},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", eventStream)
			io.WriteString(w, started)
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, CannotTranslate, "UPSTREAM_EOF"},
	} {
		r := fetch(t, c.h, Probe{})
		var words bytes.Buffer
		if err := r.Print(&words); err != nil || strings.Contains(words.String(), "secret") || strings.Contains(words.String(), "key=1") {
			t.Errorf("%s: %v, %s", name, err, &words)
		}
		if all := strings.Join(r.Failures, "\n"); r.Verdict != c.want || !strings.Contains(all, c.says) {
			t.Errorf("%s: %s, cannot %q", name, r.Verdict, r.Failures)
		}
	}
}

// TestNative: with -dialect strands, doctor must send a request in the format of Strands' native
// server, which does not speak AG-UI.
func TestNative(t *testing.T) {
	r := fetch(t, func(w http.ResponseWriter, req *http.Request) {
		if body, _ := io.ReadAll(req.Body); !strings.Contains(string(body), `"prompt":"`+DefaultMessage) {
			t.Errorf("body %s", body)
		}
		w.Header().Set("Content-Type", eventStream)
		w.Write(stored(t, "strands/approve-py/1.upstream.sse"))
	}, Probe{Options: Options{Dialect: "strands"}})
	if r.Verdict != CanTranslate || r.Dialect != "strands" || r.Setting != "strands" {
		t.Errorf("%+v", r)
	}
}

// TestABackendThatHangs: at the timeout, doctor must examine the part of the stream that it has
// received.
func TestABackendThatHangs(t *testing.T) {
	for name, stream := range map[string]string{"silent": "", "in the middle": started} {
		ctx, cancel := context.WithCancelCause(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			io.Copy(io.Discard, req.Body)
			if stream != "" {
				w.Header().Set("Content-Type", eventStream)
				io.WriteString(w, stream)
				http.NewResponseController(w).Flush()
			} else {
				cancel(nil)
			}
			<-req.Context().Done()
		}))
		transport := &watched{cancel: func() { cancel(nil) }}
		a, err := Fetch(deadline{ctx}, Probe{URL: address(t, server.URL), Transport: transport})
		cancel(nil)
		server.Close()
		if err != nil || !a.TimedOut || !a.Incomplete || string(a.Body) != stream {
			t.Errorf("%s: %+v, %v", name, a, err)
			continue
		}
		r, err := Examine(t.Context(), a, Options{})
		want := map[string]Verdict{"silent": NoStream, "in the middle": CannotTranslate}[name]
		if err != nil || r.Verdict != want {
			t.Errorf("%s: %v, %+v", name, err, r)
		}
	}
}

// A deadline is a context that reports DeadlineExceeded as soon as it is canceled. With it a test
// need not wait for a real deadline.
type deadline struct{ context.Context }

func (d deadline) Err() error {
	if d.Context.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}

// watched is an http.RoundTripper that calls cancel as soon as the client has read bytes of the
// response's body.
type watched struct{ cancel func() }

func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		res.Body = &watchedBody{res.Body, w.cancel}
	}
	return res, err
}

type watchedBody struct {
	io.ReadCloser
	cancel func()
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.cancel()
	}
	return n, err
}

func TestUnreachable(t *testing.T) {
	if _, err := Fetch(t.Context(), Probe{URL: address(t, "http://"+servers.RefusingAddress(t))}); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("nobody listens: %v", err)
	}
	secure := httptest.NewUnstartedServer(nil)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	if _, err := Fetch(t.Context(), Probe{URL: address(t, secure.URL)}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of nobody: %v", err)
	}
	evil := errors.New("no\x1b[2J\nway")
	_, err := Fetch(t.Context(), Probe{URL: address(t, "http://127.0.0.1"), Transport: failing{evil}})
	if err == nil || strings.ContainsAny(err.Error(), "\x1b\n") {
		t.Errorf("control characters: %q", err)
	}
}

type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

func TestAddress(t *testing.T) {
	for _, bad := range []string{"", "localhost:8000", "ftp://host/", "http://", "http://u:hunter2@host/", "http://[::1", "://"} {
		if _, err := Address(bad); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestARunOfSeveralRequests: a run of LangGraph Server takes several requests, and doctor must send
// all of them. It must recognize the first turn of each recording.
func TestARunOfSeveralRequests(t *testing.T) {
	list, err := scenario.List(recordings, "langgraph-server")
	if err != nil || len(list) < 30 {
		t.Fatalf("%d recordings: %v", len(list), err)
	}
	options := Options{Dialect: "langgraph-server", Assistant: "agent"}
	for _, s := range list {
		name := strings.TrimPrefix(s.Name, "langgraph-server/")
		t.Run(name, func(t *testing.T) {
			var paths []string
			r := fetch(t, func(w http.ResponseWriter, r *http.Request) {
				paths = append(paths, r.Method+" "+r.URL.Path)
				a := answerOf(s.Part(scenario.Answer(1, len(paths))))
				w.Header().Set("Content-Type", eventStream)
				if a.Header != nil {
					w.Header().Set("Content-Type", a.Header.Get("Content-Type"))
				}
				if r.Header.Get("X-Api-Key") != "k" {
					t.Errorf("%s without the key", r.URL.Path)
				}
				w.Write(a.Body)
			}, Probe{Options: options, Header: http.Header{"X-Api-Key": {"k"}}})
			want, verdict := 1, CanTranslate
			switch {
			case strings.HasPrefix(name, "two"):
				want = 2
			case strings.HasPrefix(name, "plain"), strings.HasPrefix(name, "error"):
				want, verdict = 0, Plain
			}
			if len(r.Questions) != want || r.Verdict != verdict || r.Answer.MediaType != eventStream || len(paths) < 3 {
				t.Errorf("%q: %+v", paths, r)
			}
			if notes := strings.Join(r.Notes, "\n"); verdict == Plain && (strings.Contains(notes, "FILE") || !strings.Contains(notes, "-message")) {
				t.Errorf("%q", notes)
			}
			if want > 0 && (r.Dialect != "langgraph-server" || r.Framework.Name != "LangGraph Server") {
				t.Errorf("%+v", r)
			}
		})
	}
	for name, c := range map[string]struct {
		status map[string]int // by the end of the request's path
		says   string
	}{
		"no key":                      {map[string]int{"/threads": 401}, "-header"},
		"another place":               {map[string]int{"/threads": 404}, "no agent at this address"},
		"no assistant":                {map[string]int{"/stream": 404}, "-assistant"},
		"no assistant, in JavaScript": {map[string]int{"/stream": 422}, "-assistant"},
	} {
		t.Run(name, func(t *testing.T) {
			r := fetch(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				for end, status := range c.status {
					if strings.HasSuffix(r.URL.Path, end) {
						w.WriteHeader(status)
					}
				}
				io.WriteString(w, `{"thread_id":"t","values":{},"next":[],"tasks":[]}`)
			}, Probe{Options: options})
			if r.Verdict != NoStream || !strings.Contains(strings.Join(r.Failures, "\n"), c.says) {
				t.Errorf("%+v", r)
			}
		})
	}
	if _, err := Examine(t.Context(), Answer{Body: []byte("event: metadata\ndata: {}\n\n")}, options); err == nil || !strings.Contains(err.Error(), "address of the server") {
		t.Errorf("a recording: %v", err)
	}
	for _, odd := range []Options{{Dialect: "langgraph-server"}, {Assistant: "agent"}, {Dialect: "auto", Assistant: "agent"}} {
		if _, err := Fetch(t.Context(), Probe{URL: address(t, "http://127.0.0.1:1"), Options: odd}); err == nil || !strings.Contains(err.Error(), "-assistant") {
			t.Errorf("%+v: %v", odd, err)
		}
	}
}
