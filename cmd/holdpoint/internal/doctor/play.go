package doctor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/clients"
	"holdpoint/internal/event"
	"holdpoint/proxy"
	"holdpoint/store/memory"
	"holdpoint/translate/dialects"
	"holdpoint/translate/superagent"
)

// A playedStream is what Holdpoint did with a backend's answer.
type playedStream struct {
	setting         string // value of HOLDPOINT_DIALECT
	run             event.Run
	output          *stream
	warnings        []string
	furtherRequests int // number of further requests that Holdpoint would send
}

// play sends a run through a new Holdpoint whose backend replies with the answer.
func play(ctx context.Context, list dialects.List, a Answer, received *stream, o Options) (*playedStream, error) {
	p := &playedStream{setting: o.Dialect, output: &stream{}}
	warn := func(msg string, _ ...any) { p.warnings = append(p.warnings, msg) }
	d, err := list.New(o.Dialect, warn)
	if err != nil {
		return nil, err
	}
	recognizer, err := list.Recognizer(o.Dialect)
	if err != nil {
		return nil, err
	}
	backend := &replay{a: a}
	h, err := proxy.New(proxy.Options{
		Upstream: &url.URL{Scheme: "http", Host: "backend"}, Dialect: d, Recognizer: recognizer, Store: memory.New(memory.Options{}),
		Transport: backend, Logger: slog.New(warnings{warn}), MaxFrameBytes: maxFrame,
		RunEnded: func(r *event.Run) { p.run = *r },
	})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://holdpoint/", bytes.NewReader(input(received, o)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	w := &clientView{header: http.Header{}}
	h.ServeHTTP(w, req)
	if w.status != http.StatusOK {
		return nil, fmt.Errorf(failedOwnRun, w.body.String())
	}
	p.output.read(w.body.Bytes())
	p.furtherRequests = max(0, backend.requests-max(1, len(a.RunAnswers)))
	return p, nil
}

// countRecognized measures how much of the backend's answer the dialect recognized: 1 for each text
// and call that the dialect made, and 1000 for each question. It returns 0 if the stream does not
// end as the streams of the dialect's backend do.
//
// superagent's dialect accepts any text, so it gets a measure only if it made a question, or if the
// frames look like superagent's.
func (p *playedStream) countRecognized(received *stream) int {
	n, asked := 0, 0
	for _, ev := range p.output.events {
		switch ev.Type {
		case agui.RunErrored:
			if agui.Code(ev.Get("code").Str) == agui.UpstreamEOF {
				return 0
			}
		case agui.TextStart, agui.CallStart:
			n++
		case agui.RunFinished:
			asked += 1000 * int(ev.Get("outcome.interrupts.#").Int())
		}
	}
	if p.setting == superagent.Name && asked == 0 && !received.looksLikeSuperagent() {
		return 0
	}
	return n + asked
}

// looksLikeSuperagent reports whether a frame has the fields type, data and timestamp, which every
// frame of superagent's A2UI framing has.
func (s *stream) looksLikeSuperagent() bool {
	return slices.ContainsFunc(s.events, func(ev agui.Event) bool {
		return ev.Get("type").Str != "" && ev.Get("data").Exists() && ev.Get("timestamp").Exists()
	})
}

// input returns the run to which the answer is played. It has the thread id and run id of the
// stream, because Holdpoint treats an answer with the ids of another run differently.
func input(received *stream, o Options) []byte {
	if in := clientRun(o.Request); in != nil {
		return in
	}
	run := map[string]any{
		"threadId": "doctor", "runId": "doctor", "state": map[string]any{}, "context": []any{}, "tools": []any{},
		"messages":       []any{map[string]any{"id": "doctor-message", "role": "user", "content": DefaultMessage}},
		"forwardedProps": map[string]any{},
	}
	if ev, ok := received.first(agui.RunStarted); ok {
		for _, name := range []string{"threadId", "runId"} {
			if id := ev.Get(name).Str; id != "" {
				run[name] = id
			}
		}
		if tools := ev.Get("input.tools"); tools.IsArray() {
			run["tools"] = json.RawMessage(tools.Raw)
		}
	}
	if o.Tools != nil {
		run["tools"] = json.RawMessage(o.Tools)
	}
	if o.ProtocolVersion != "" {
		run["protocolVersion"] = o.ProtocolVersion
	}
	return agui.MustMarshal(run)
}

// clientRun returns the client's request with only its user messages, if the request shows which
// .NET client sent it, and nil otherwise. The result has no resume and no command, because there is
// no open question that they could answer.
func clientRun(request []byte) []byte {
	in, is, err := agui.ParseInput(request)
	if err != nil || !is || clients.Of(&in).ReadsAll() {
		return nil
	}
	in = in.Rewritten(agui.Rewrite{Replaced: true, NoResume: true, NoCommand: true, Messages: slices.DeleteFunc(slices.Clone(in.Messages), func(m agui.Message) bool {
		return m.Role != "user"
	})})
	return in.Raw
}

// A replay is a backend that replies with one recorded answer, or with the answers of one run in
// order.
type replay struct {
	a        Answer
	requests int
}

// RoundTrip implements http.RoundTripper.
func (b *replay) RoundTrip(r *http.Request) (*http.Response, error) {
	b.requests++
	a := b.a
	switch {
	case b.requests <= len(a.RunAnswers):
		a = a.RunAnswers[b.requests-1]
	case b.requests > 1:
		return nil, &net.OpError{Op: "dial", Err: errors.New(failedSecondAnswer)}
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
		// a real transport calls GotConn before it sends the request
		trace.GotConn(httptrace.GotConnInfo{})
	}
	body := io.Reader(bytes.NewReader(a.Body))
	if a.Incomplete {
		body = io.MultiReader(body, brokenStream{})
	}
	status := http.StatusOK
	if b.a.RunAnswers != nil {
		status = a.Status
	}
	return &http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Request: r, ContentLength: -1,
		Header: http.Header{"Content-Type": a.Header["Content-Type"], "Content-Encoding": a.Header["Content-Encoding"]}, Body: io.NopCloser(body),
	}, nil
}

type brokenStream struct{}

func (brokenStream) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// clientView is a ResponseWriter that keeps the response that a client gets.
type clientView struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *clientView) Header() http.Header { return w.header }

func (w *clientView) WriteHeader(status int) {
	w.status = cmp.Or(w.status, status)
}

func (w *clientView) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// Flush implements http.Flusher.
func (w *clientView) Flush() { w.WriteHeader(http.StatusOK) }

// warnings is a slog.Handler that keeps the messages of warnings. It drops the attributes, because
// they may contain parts of a request.
type warnings struct{ keep func(string, ...any) }

func (warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (w warnings) Handle(_ context.Context, r slog.Record) error {
	w.keep(r.Message)
	return nil
}

func (w warnings) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w warnings) WithGroup(string) slog.Handler      { return w }
