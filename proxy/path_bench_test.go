package proxy

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/store/memory"
	"holdpoint/translate/dialects"
)

// These benchmarks measure what a run costs besides its stream. They measure from the client's
// request to the request to the backend, and from the end of the stream to the end of the response.
// The backend responds at once with a stream of a few frames, without the network.

// newShort returns a short. Its Handler has the defaults of the command, and its backend responds
// at once with the stream that answer returns.
func newShort(b *testing.B, answer func(run int) string) *short {
	d, err := dialects.All().New("auto", nil)
	if err != nil {
		b.Fatal(err)
	}
	p := &short{b: b, answer: answer}
	up, _ := url.Parse("http://backend/agent")
	p.h, err = New(Options{
		Upstream: up, Dialect: d, Store: memory.New(memory.Options{}), Transport: p,
		Heartbeat: 15 * time.Second, IdleTimeout: time.Hour,
		Logger: slog.New(slog.NewJSONHandler(io.Discard, nil)),
	})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

type short struct {
	b      *testing.B
	h      *Handler
	answer func(run int) string
	runs   int
	got    bytes.Buffer
	header http.Header
}

// RoundTrip is the backend: it implements http.RoundTripper.
func (p *short) RoundTrip(req *http.Request) (*http.Response, error) {
	p.runs++
	return &http.Response{
		StatusCode: 200, Request: req, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body:   io.NopCloser(strings.NewReader(p.answer(p.runs))),
	}, nil
}

// With Header and the following methods, a short is also the ResponseWriter of its runs. It has the
// optional methods that net/http's ResponseWriter has.
func (p *short) Header() http.Header              { return p.header }
func (p *short) WriteHeader(int)                  {}
func (p *short) Write(b []byte) (int, error)      { return p.got.Write(b) }
func (p *short) Flush()                           {}
func (p *short) SetReadDeadline(time.Time) error  { return nil }
func (p *short) SetWriteDeadline(time.Time) error { return nil }

// post plays a run to its end and returns the response. The returned bytes are valid only until the
// next call of post.
func (p *short) post(body string) []byte {
	p.got.Reset()
	p.header = http.Header{}
	req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	p.h.ServeHTTP(p, req)
	return p.got.Bytes()
}

// cycle plays pause number n of a thread: the run that asks, and the run that answers.
func (p *short) cycle(thread string, n int) {
	got := p.post(order(thread, n, 0, ""))
	last := got[bytes.LastIndex(got, []byte("data: "))+len("data: "):]
	id := gjson.GetBytes(last, "outcome.interrupts.0.id").Str
	if id == "" {
		p.b.Fatalf("%s", got)
	}
	got = p.post(order(thread, n, 0, resumeWith(fmt.Sprintf(`{"interruptId":%q,"status":"resolved","payload":{"approved":true}}`, id))))
	if p.runs != 2*n || !bytes.HasSuffix(got, []byte("\n\n")) {
		p.b.Fatalf("%s", got)
	}
}

// order returns the body of a run. Its history has as many earlier messages as the parameter
// history says.
func order(thread string, run, history int, more string) string {
	var list []string
	for n := range history {
		list = append(list, fmt.Sprintf(`{"id":"m%d","role":%q,"content":%q}`, n, []string{"user", "assistant"}[n%2], strings.Repeat("what was\n\"said\" ", 20)))
	}
	list = append(list, fmt.Sprintf(`{"id":"u-%d","role":"user","content":"Clean up the reports"}`, run))
	return fmt.Sprintf(`{"threadId":%q,"runId":"run-%d","state":{},"messages":[%s],"tools":[],"context":[],"forwardedProps":{}%s}`,
		thread, run, strings.Join(list, ","), more)
}

const (
	begins  = `{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`
	says    = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Done."}`
	ends    = `{"type":"TEXT_MESSAGE_END","messageId":"m"}`
	tellsOf = `{"type":"CUSTOM","name":"on_interrupt","value":"{\"action\":\"rm\"}"}`
)

func BenchmarkShortRun(b *testing.B) {
	for _, messages := range []int{1, 40, 1000} {
		b.Run(fmt.Sprint(messages, " messages"), func(b *testing.B) {
			p := newShort(b, func(int) string { return streamOf(started, begins, says, ends, finished) })
			body := order("thread", 1, messages-1, "")
			b.ReportAllocs()
			for b.Loop() {
				if got := p.post(body); !bytes.HasSuffix(got, []byte("\n\n")) {
					b.Fatalf("%s", got)
				}
			}
		})
	}
}

// BenchmarkCycle measures two runs: one that pauses, and one that answers the pause. Their thread
// has many earlier pauses.
func BenchmarkCycle(b *testing.B) {
	for _, asking := range []struct{ name, stream string }{
		{"outcome", streamOf(started, begins, says, ends, asks)},
		{"langgraph", streamOf(started, begins, says, ends, tellsOf, finished)},
	} {
		b.Run(asking.name, func(b *testing.B) {
			p := newShort(b, func(run int) string {
				if run%2 == 1 {
					return asking.stream
				}
				return streamOf(started, begins, says, ends, finished)
			})
			n := 0
			cycle := func() {
				n++
				p.cycle("thread", n)
			}
			for range 100 { // more cycles than the record keeps
				cycle()
			}
			b.ReportAllocs()
			for b.Loop() {
				cycle()
			}
		})
	}
}

// BenchmarkTombstone measures how much memory the record of a thread needs for a pause that can no
// longer be replayed.
func BenchmarkTombstone(b *testing.B) {
	heap := func() int {
		runtime.GC()
		runtime.GC() // the second one frees what pools keep
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	for _, asking := range []struct{ name, stream string }{
		{"outcome", streamOf(started, begins, says, ends, asks)},
		{"langgraph", streamOf(started, begins, says, ends, tellsOf, finished)},
	} {
		b.Run(asking.name, func(b *testing.B) {
			const threads, before, more = 100, 10, 40 // before is more than can be replayed
			for b.Loop() {
				p := newShort(b, func(run int) string {
					if run%2 == 1 {
						return asking.stream
					}
					return streamOf(started, begins, says, ends, finished)
				})
				n, from := 0, 0
				for range before + more {
					if n == before*threads {
						from = heap()
					}
					for t := range threads {
						n++
						p.cycle(fmt.Sprint("thread-", t), n)
					}
				}
				b.ReportMetric(float64(heap()-from)/(threads*more), "B/tombstone")
				runtime.KeepAlive(p)
			}
		})
	}
}
