// Package doctor implements `holdpoint doctor`. It examines one answer of a backend, which was
// recorded or is fetched. It reports the dialect of the answer, what Holdpoint would change in the
// answer, and what Holdpoint cannot do with it.
//
// The package recognizes and rewrites nothing by itself: it plays the answer to a real
// proxy.Handler, and compares the events that the handler gets with those that it sends to the
// client. The report has the names of events, tools, reasons and codes. It has no texts, arguments,
// state or ids from the answer.
package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/internal/sse"
	"holdpoint/translate"
	"holdpoint/translate/auto"
	"holdpoint/translate/dialects"
	"holdpoint/translate/langgraphserver"
	"holdpoint/translate/toolcall"
)

// MaxBytes is the largest number of bytes that doctor reads of an answer.
const MaxBytes = 64 << 20

// maxFrame is the default of HOLDPOINT_MAX_FRAME_BYTES.
const maxFrame = 32 << 20

// An Answer is the HTTP response with which a backend answers one run.
type Answer struct {
	Status     int         // status of the HTTP response, 0 for a recording without headers
	Header     http.Header // nil for a recording without headers
	Body       []byte
	Incomplete bool // the body is incomplete, or longer than MaxBytes
	TimedOut   bool // the body is incomplete because the timeout was reached
	// RunAnswers is set if the run takes several requests to the backend. It then has the answers to
	// all of them, including this one. It is nil if the run is a single request.
	RunAnswers []Answer
}

// Options control how doctor reads an Answer. The zero value has all defaults.
type Options struct {
	// Dialect is a value of HOLDPOINT_DIALECT. "" means auto. If the answer has no AG-UI event, ""
	// also means to try the dialects of the backends that do not speak AG-UI.
	Dialect string
	// Tools is the JSON array of tools that the client declared, or nil. A call of such a tool is
	// for the client to execute, and is not a pause.
	Tools []byte
	// ProtocolVersion is the protocol version that the client declares, or "" for none. A client
	// without one gets each question both as an AG-UI interrupt and in the backend's own form.
	ProtocolVersion string
	// TanStack reports whether the client is TanStack AI.
	TanStack bool
	// Request is a request of the client, or nil. If it is set, the run to which the answer is
	// played has the marks by which Holdpoint recognizes that client.
	Request []byte
	// Assistant is the value of HOLDPOINT_LANGGRAPH_SERVER_ASSISTANT.
	Assistant string
}

// needsSeveralRequests reports whether a run of the dialect takes several requests to the backend.
// A recorded answer does not show to which of the requests it belongs, so such a run cannot be
// examined from a recording.
func (o Options) needsSeveralRequests() bool { return o.Dialect == langgraphserver.Name }

func (o Options) err() error {
	if o.needsSeveralRequests() != (o.Assistant != "") {
		return fmt.Errorf(refusedAssistant, langgraphserver.Name)
	}
	return nil
}

// Examine plays the answer to Holdpoint and returns the report on it. It returns an error for a
// wrong option.
func Examine(ctx context.Context, a Answer, o Options) (*Report, error) {
	o.Dialect = cmp.Or(o.Dialect, auto.Name)
	list, err := options(o)
	if err != nil {
		return nil, err
	}
	if o.needsSeveralRequests() && a.RunAnswers == nil {
		return nil, fmt.Errorf(refusedRecording, o.Dialect)
	}
	if _, err := list.New(o.Dialect, nil); err != nil {
		return nil, err
	}
	a.Header = withType(a)
	received := readStream(a)
	r := &Report{Answer: describe(a, received), Questions: []Question{}, Events: []Change{}, Failures: []string{}, Notes: []string{}}
	if enc := a.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") && a.Status/100 == 2 {
		r.Verdict = CannotTranslate
		r.addFailure(fmt.Sprintf(cannotEncoding, word(enc)))
		return r, nil
	}
	if a.Header.Get("X-Vercel-Ai-Ui-Message-Stream") != "" {
		r.Verdict = CannotTranslate
		r.addFailure(cannotAISDK)
		return r, nil
	}
	why := noStream(a, received)
	if status := a.Status; o.needsSeveralRequests() && why != "" && len(a.RunAnswers) > 1 && (status == http.StatusNotFound || status == http.StatusUnprocessableEntity) {
		why = whyAssistant
	}
	if why != "" {
		r.Verdict = NoStream
		r.addFailure(why)
		return r, nil
	}
	p, err := play(ctx, list, a, received, o)
	if err != nil {
		return nil, err
	}
	if o.Dialect == auto.Name && received.knownEvents == 0 {
		native, err := playForeignDialects(ctx, list, a, received, o)
		if err != nil {
			return nil, err
		}
		if native == nil {
			r.Verdict = CannotTranslate
			if strings.Contains(r.Answer.MediaType, "proto") {
				r.addFailure(cannotProtobuf)
				return r, nil
			}
			r.addFailure(cannotUnknown)
			return r, nil
		}
		p = native
	}
	r.fill(received, p, o)
	r.noteClient(received, o)
	return r, nil
}

// options returns all dialects, with option values for doctor. superagent requires an agent id, but
// its value does not matter to doctor. HOLDPOINT_TOOLS is set only if the user names the dialect
// tool-call, because auto would otherwise treat every call without a result as a question.
func options(o Options) (dialects.List, error) {
	list, set := dialects.All(), map[string]string{"HOLDPOINT_SUPERAGENT_AGENT_ID": "doctor"}
	if o.Assistant != "" {
		set["HOLDPOINT_LANGGRAPH_SERVER_ASSISTANT"] = o.Assistant
	}
	if o.Dialect == toolcall.Name {
		set["HOLDPOINT_TOOLS"] = "*=approval"
	}
	return list, errors.Join(append(list.Read(set), o.err())...)
}

// playForeignDialects plays the answer to each dialect whose backend does not speak AG-UI. It
// returns the result of the dialect that recognizes the most events, or nil if no dialect
// recognizes an event.
func playForeignDialects(ctx context.Context, list dialects.List, a Answer, received *stream, o Options) (*playedStream, error) {
	var best *playedStream
	most := 0
	for _, name := range list.Names() {
		d, err := list.New(name, nil)
		if err != nil {
			continue // the dialect has a required option, and its backend speaks AG-UI
		}
		if _, is := d.(translate.Foreign); !is {
			continue
		}
		o.Dialect = name
		p, err := play(ctx, list, a, received, o)
		if err != nil {
			return nil, err
		}
		if n := p.countRecognized(received); n > most {
			best, most = p, n
		}
	}
	return best, nil
}

// noStream returns the reason why the answer cannot be examined, or "" if it can be.
func noStream(a Answer, received *stream) string {
	switch {
	case a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden:
		return whyWho
	case a.Status == http.StatusNotFound || a.Status == http.StatusMethodNotAllowed:
		return whyNoAgent
	case a.Status/100 == 3:
		return whyRedirect
	case a.Status == http.StatusUnprocessableEntity || a.Status == http.StatusBadRequest:
		return whyNotARun
	case a.Status != 0 && a.Status/100 != 2:
		return whyError
	case len(a.Body) == 0 && a.TimedOut:
		return whyTime
	case len(a.Body) == 0:
		return whyEmpty
	}
	return ""
}

// withType returns the header of the answer. If the answer is a recording without headers, withType
// adds the Content-Type that the body seems to have.
func withType(a Answer) http.Header {
	h := a.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	if h.Get("Content-Type") == "" && a.Status == 0 {
		h.Set("Content-Type", sniff(a.Body))
	}
	return h
}

func sniff(body []byte) string {
	text := strings.TrimLeft(strings.TrimPrefix(string(body[:min(len(body), 4<<10)]), "\ufeff"), " \t\r\n")
	for _, field := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if strings.HasPrefix(text, field) {
			return eventStream
		}
	}
	if strings.HasPrefix(text, "{") {
		if trimmed := strings.TrimSpace(string(body)); strings.Contains(trimmed, "\n{") {
			return "application/x-ndjson"
		}
		return "application/json"
	}
	return eventStream
}

const eventStream = "text/event-stream"

func mediaType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		t, _, _ = strings.Cut(h.Get("Content-Type"), ";")
	}
	return strings.ToLower(strings.TrimSpace(t))
}

// A stream has the events of a backend's answer, or of Holdpoint's response to the client.
type stream struct {
	events      []agui.Event
	knownEvents int  // number of events whose type is one of AG-UI's
	tooLarge    bool // a frame is larger than maxFrame
}

func readStream(a Answer) *stream {
	s := &stream{}
	if mediaType(a.Header) != eventStream {
		return s
	}
	s.read(a.Body)
	return s
}

func (s *stream) read(body []byte) {
	frames := sse.NewReader(bytes.NewReader(body), maxFrame)
	for {
		f, err := frames.Next()
		if data, ok := f.Data(nil); ok && err == nil {
			ev := agui.NewEvent(slices.Clone(data))
			s.events = append(s.events, ev)
			if ev.Type != agui.Unknown {
				s.knownEvents++
			}
		}
		if err != nil {
			var large *sse.TooLargeError
			s.tooLarge = errors.As(err, &large)
			return
		}
	}
}

// first returns the first event of type t, and whether there is one.
func (s *stream) first(t agui.Type) (agui.Event, bool) {
	i := slices.IndexFunc(s.events, func(ev agui.Event) bool { return ev.Type == t })
	if i < 0 {
		return agui.Event{}, false
	}
	return s.events[i], true
}

// end returns the type of the terminal event, or "" if there is none.
func (s *stream) end() agui.Type {
	for _, ev := range s.events {
		if ev.Type.Terminal() {
			return ev.Type
		}
	}
	return ""
}

// has reports whether the stream has an event with the same JSON as ev.
func (s *stream) has(ev agui.Event) bool {
	return slices.ContainsFunc(s.events, func(one agui.Event) bool { return bytes.Equal(one.JSON, ev.JSON) })
}
