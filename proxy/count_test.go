package proxy

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"holdpoint/internal/event"
)

// TestRunsAreCounted: Holdpoint must count each frame of the backend once, as passed, rewritten or
// dropped. If a backend fails, Holdpoint must count the failure by its kind.
func TestRunsAreCounted(t *testing.T) {
	row := func(delta string) string {
		return `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"` + delta + `"}`
	}
	pieces := func(body string) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) { answers("application/x-ndjson", body)(w, nil, 0) }
	}
	foreign := func(d *foreignDialect) func(*Options) { return func(o *Options) { o.Dialect = d } }
	const custom = `{"type":"CUSTOM","name":"x","value":1}`
	for _, c := range []struct {
		name   string
		serve  func(w http.ResponseWriter)
		body   string
		change func(*Options)
		want   event.Run
	}{
		{
			"texts in rows and other events", func(w http.ResponseWriter) {
				sendStream(w, streamOf(started, `{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`, row("a"), row("b"), row("c"), row("d"),
					`{"type":"TEXT_MESSAGE_END","messageId":"m1"}`, custom)+": a comment\n\n"+streamOf(finished))
			}, input("t", "r", ""), nil,
			event.Run{Dialect: "fake", Outcome: "finished", PassedFrames: 10},
		},
		{
			"other ids, and lines that end in CRLF", func(w http.ResponseWriter) {
				sendStream(w, strings.ReplaceAll(streamOf(started, custom, finished), "\n", "\r\n"))
			}, input("t", "r9", ""), nil,
			event.Run{Dialect: "fake", Outcome: "finished", PassedFrames: 1, RewrittenFrames: 2},
		},
		{
			"an event that is dropped", func(w http.ResponseWriter) { sendStream(w, streamOf(started, custom, finished, custom)) }, input("t", "r", ""), nil,
			event.Run{Dialect: "fake", Outcome: "finished", PassedFrames: 3, DroppedFrames: 1},
		},
		{
			"a client of .NET", func(w http.ResponseWriter) { sendStream(w, streamOf(started, finished)) },
			`{"threadId":"t","runId":"run_0d66c3ca00004ab4b96e8b2898de1e9a","messages":[{"name":null,"id":"u","role":"user","content":"x"}],"context":[]}`, nil,
			event.Run{Dialect: "fake", Outcome: "finished", Client: "Microsoft.Agents.AI.AGUI", RewrittenFrames: 2},
		},
		{"no connection", nil, input("t", "r", ""), nil, event.Run{Dialect: "fake", Outcome: "error", Upstream: "unreachable", MadeEvents: 2}},
		{
			"a stream without an end", func(w http.ResponseWriter) { sendStream(w, streamOf(started, custom)) }, input("t", "r", ""), nil,
			event.Run{Dialect: "fake", Outcome: "error", Upstream: "eof", PassedFrames: 2, MadeEvents: 1},
		},
		{
			"an HTTP status", func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }, input("t", "r", ""), nil,
			event.Run{Dialect: "fake", Outcome: "http status", Upstream: "status_5xx"},
		},
		{
			"an answer that is no stream", func(w http.ResponseWriter) { w.Write([]byte("{}")) }, input("t", "r", ""), nil,
			event.Run{Dialect: "fake", Outcome: "error", Upstream: "no_stream", MadeEvents: 2},
		},
		{
			"a RUN_ERROR", func(w http.ResponseWriter) {
				sendStream(w, streamOf(started, `{"type":"RUN_ERROR","message":"kaput"}`))
			}, input("t", "r", ""), nil,
			event.Run{Dialect: "fake", Outcome: "error", Upstream: "run_error", PassedFrames: 2},
		},
		{
			"pieces whose end is the run's", pieces("hello\n"), input("t", "r", ""), foreign(&foreignDialect{endless: true}),
			event.Run{Dialect: "fake", Outcome: "finished", MadeEvents: 3},
		},
		{
			"pieces that say the end", pieces("hello\nends\n"), input("t", "r", ""), foreign(&foreignDialect{}),
			event.Run{Dialect: "fake", Outcome: "finished", MadeEvents: 3},
		},
		{
			"pieces that lack their end", pieces("hello\n"), input("t", "r", ""), foreign(&foreignDialect{}),
			event.Run{Dialect: "fake", Outcome: "error", Upstream: "eof", MadeEvents: 3},
		},
		{
			"pieces that break off", func(w http.ResponseWriter) {
				pieces("hello\n")(w)
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}, input("t", "r", ""), foreign(&foreignDialect{endless: true}),
			event.Run{Dialect: "fake", Outcome: "error", Upstream: "eof", MadeEvents: 3},
		},
		{"a refusal", nil, input("t", "r", resumeWith(yes("n1"))), nil, event.Run{Outcome: "refused", MadeEvents: 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ended := make(chan event.Run, 1)
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { c.serve(w) }, func(o *Options) {
				if c.change != nil {
					c.change(o)
				}
				o.RunEnded = func(r *event.Run) { ended <- *r }
				if c.serve == nil {
					o.Transport = roundTripper(func(*http.Request) (*http.Response, error) {
						return nil, &net.OpError{Op: "dial", Err: errUnreachable}
					})
				}
			})
			g.answer(c.body)
			got := <-ended
			began := got.PassedFrames+got.RewrittenFrames > 0 || c.change != nil || got.Upstream == "unreachable" || got.Upstream == "no_stream"
			if got.Duration <= 0 || (got.TimeToFirstByte > 0) != began {
				t.Errorf("times: %+v", got)
			}
			if got.Duration, got.TimeToFirstByte = 0, 0; got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// TestOpenRuns: a run must count as open from its request to its end.
func TestOpenRuns(t *testing.T) {
	var g *rig
	during := make(chan int, 1)
	g = newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		during <- g.h.OpenRuns()
		sendStream(w, streamOf(started, finished))
	})
	before := g.h.OpenRuns()
	g.answer(input("t", "r", ""))
	if err := g.h.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := [3]int{before, <-during, g.h.OpenRuns()}; got != [3]int{0, 1, 0} {
		t.Errorf("open before, while and after the run: %v", got)
	}
}
