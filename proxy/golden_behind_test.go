package proxy_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/proxy"
	"holdpoint/store/memory"
	"holdpoint/translate/dialects"
)

// TestGoldenBehindHoldpoint: what leaves Holdpoint is AG-UI, so a Holdpoint behind a Holdpoint changes nothing. The outer
// one speaks agui, keeps the ids and shows the outcome alone.
func TestGoldenBehindHoldpoint(t *testing.T) {
	failing := knownFailing(t)
	for _, s := range scenarios(t) {
		if _, known := failing[s.name]; known {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			t.Run("its streams", func(t *testing.T) { feedOuter(t, s) })
			t.Run("the whole chain", func(t *testing.T) { playChain(t, s) })
		})
	}
}

// outer is a Holdpoint before what inner answers.
func outer(t *testing.T, s scenario, c *clock, inner http.RoundTripper) http.Handler {
	t.Helper()
	o := proxy.Options{
		Upstream: &url.URL{Scheme: "http", Host: "inner", Path: "/"}, Transport: inner,
		Store: memory.New(memory.Options{Now: c.Now}), Now: c.Now,
	}
	s.configure(t, &o)
	o.Client, o.IDs, o.InterruptTTL = proxy.ClientOutcome, proxy.KeepIDs, 0
	var err error
	if o.Dialect, err = dialects.New("agui", dialects.Options{}); err != nil {
		t.Fatal(err)
	}
	h, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// feedOuter gives every stream that a client is to get to an outer Holdpoint that knows nothing of the thread. The
// request brings no messages, so that nothing but the stream can be the source of a snapshot.
func feedOuter(t *testing.T, s scenario) {
	for turn := 1; turn <= s.turns; turn++ {
		want := readFile(t, s.file(turn, "want.sse"))
		if bytes.HasPrefix(want, []byte("HTTP ")) {
			continue
		}
		h := outer(t, s, &clock{now: s.clock}, roundTrip(func(r *http.Request) (*http.Response, error) {
			header := http.Header{"Content-Type": {"text/event-stream"}}
			return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(bytes.NewReader(want)), Request: r}, nil
		}))
		in := gjson.ParseBytes(s.request(turn))
		body := map[string]any{"threadId": in.Get("threadId").Str, "runId": in.Get("runId").Str, "messages": []string{}}
		if v := in.Get("protocolVersion"); v.Exists() {
			body["protocolVersion"] = v.Str
		}
		got, _ := io.ReadAll(serve(h, agui.MustMarshal(body)).Body)
		if !bytes.Equal(got, want) {
			t.Errorf("turn %d: %s", turn, firstDifference(string(got), string(want)))
		}
	}
}

// playChain plays a scenario through two Holdpoints, one behind the other, as far as its client answers by resume: the
// forms of a backend's own are the inner one's to read, and the outer one does not know them.
func playChain(t *testing.T, s scenario) {
	st := newStage(t, s, delivery{})
	defer st.close()
	inner := roundTrip(func(r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		st.handler.ServeHTTP(rec, req)
		return rec.Result(), nil
	})
	h := outer(t, s, st.clock, inner)
	for turn := 1; turn <= s.turns; turn++ {
		body := s.request(turn)
		if gjson.GetBytes(body, "forwardedProps.command").Exists() || gjson.GetBytes(body, "resume").IsArray() && s.env["HOLDPOINT_CLIENT"] == "native" {
			return
		}
		st.begin(turn)
		res := serve(h, body)
		got, _ := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusOK {
			got = httpAnswer(res, got)
		}
		if want := readFile(t, s.file(turn, "want.sse")); !bytes.Equal(got, want) {
			t.Errorf("turn %d: %s", turn, firstDifference(string(got), string(want)))
			return
		}
	}
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
