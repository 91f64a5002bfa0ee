// Package doctor is `holdpoint doctor`. It looks at one answer of a backend, recorded or fetched,
// and tells which dialect it is, what Holdpoint would change of it, and what it cannot do.
//
// It recognises and rewrites nothing by itself. It plays the answer to a real proxy.Handler, and
// compares what came with what went out. What it tells of an answer are the names of events, tools,
// reasons and codes. It tells no text, arguments, state or ids.
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

// MaxBytes is how much of an answer is looked at.
const MaxBytes = 64 << 20

// maxFrame is the default of HOLDPOINT_MAX_FRAME_BYTES.
const maxFrame = 32 << 20

// An Answer is what a backend said to one run.
type Answer struct {
	Status int         // of the HTTP answer, 0 for a recording without its headers
	Header http.Header // nil if nobody knows
	Body   []byte
	Cut    bool // the body broke off, or is longer than MaxBytes
	Late   bool // it broke off because time was up
	// Run are the answers of a run that is several requests, this one among them. Nil for one that
	// is a single request.
	Run []Answer
}

// Options say how an Answer is to be read. The zero value is the default of everything.
type Options struct {
	// Dialect is that of HOLDPOINT_DIALECT. "": auto, and the dialects that are not AG-UI if nothing
	// of AG-UI is there.
	Dialect string
	// Tools is the JSON array of the tools that the client declared, nil for none. A call of one is
	// the client's and no pause.
	Tools []byte
	// ProtocolVersion is what the client declares. "": nothing. Such a client is told in both forms.
	ProtocolVersion string
	// TanStack reports that the client is TanStack AI's.
	TanStack bool
	// Request is a request of the client, nil if nobody has one. The answer is played to a run with
	// the signs of that client.
	Request []byte
	// Assistant is that of HOLDPOINT_LANGGRAPH_SERVER_ASSISTANT.
	Assistant string
}

// several reports whether a run is several requests. What they are for, an answer does not say, so
// such a run is not examined from a recording.
func (o Options) several() bool { return o.Dialect == langgraphserver.Name }

func (o Options) err() error {
	if o.several() != (o.Assistant != "") {
		return errors.New("-dialect " + langgraphserver.Name + " and -assistant go together")
	}
	return nil
}

// Examine plays the answer to Holdpoint and tells what came of it. The error is a wrong option.
func Examine(ctx context.Context, a Answer, o Options) (*Report, error) {
	o.Dialect = cmp.Or(o.Dialect, auto.Name)
	list, err := options(o)
	if err != nil {
		return nil, err
	}
	if o.several() && a.Run == nil {
		return nil, fmt.Errorf(refusedRecording, o.Dialect)
	}
	if _, err := list.New(o.Dialect, nil); err != nil {
		return nil, err
	}
	a.Header = withType(a)
	came := readStream(a)
	r := &Report{Answer: describe(a, came), Questions: []Question{}, Events: []Change{}, Cannot: []string{}, Notes: []string{}}
	if enc := a.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") && a.Status/100 == 2 {
		r.Verdict = Cannot
		r.cannot(fmt.Sprintf(cannotEncoding, word(enc)))
		return r, nil
	}
	if a.Header.Get("X-Vercel-Ai-Ui-Message-Stream") != "" {
		r.Verdict = Cannot
		r.cannot(cannotAISDK)
		return r, nil
	}
	why := noStream(a, came)
	if status := a.Status; o.several() && why != "" && len(a.Run) > 1 && (status == http.StatusNotFound || status == http.StatusUnprocessableEntity) {
		why = whyAssistant
	}
	if why != "" {
		r.Verdict = NoStream
		r.cannot(why)
		return r, nil
	}
	p, err := play(ctx, list, a, came, o)
	if err != nil {
		return nil, err
	}
	if o.Dialect == auto.Name && came.known == 0 {
		native, err := playForeignDialects(ctx, list, a, came, o)
		if err != nil {
			return nil, err
		}
		if native == nil {
			r.Verdict = Cannot
			if strings.Contains(r.Answer.MediaType, "proto") {
				r.cannot(cannotProtobuf)
				return r, nil
			}
			r.cannot(cannotUnknown)
			return r, nil
		}
		p = native
	}
	r.tell(came, p, o)
	r.noteClient(came, o)
	return r, nil
}

// options returns the dialects. What superagent needs is set to something, for its server looks at
// it in none of the runs here. auto would take every call without a result for a question, so the
// tools are set only if their dialect is named.
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

// playForeignDialects plays the answer to each dialect whose backend does not speak AG-UI. It is
// nil if none of them makes anything of it.
func playForeignDialects(ctx context.Context, list dialects.List, a Answer, came *stream, o Options) (*playedStream, error) {
	var best *playedStream
	most := 0
	for _, name := range list.Names() {
		d, err := list.New(name, nil)
		if err != nil {
			continue // it needs something that is not set, and speaks AG-UI
		}
		if _, is := d.(translate.Foreign); !is {
			continue
		}
		o.Dialect = name
		p, err := play(ctx, list, a, came, o)
		if err != nil {
			return nil, err
		}
		if n := p.understood(came); n > most {
			best, most = p, n
		}
	}
	return best, nil
}

// noStream says why an answer has nothing that could be judged, and "" if it has.
func noStream(a Answer, came *stream) string {
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
	case len(a.Body) == 0 && a.Late:
		return whyTime
	case len(a.Body) == 0:
		return whyEmpty
	}
	return ""
}

// withType returns the header of the answer. A recording without a header gets the media type that
// its beginning looks like.
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

// A stream is what the frames of an answer hold.
type stream struct {
	events   []agui.Event
	known    int  // events whose type AG-UI has
	tooLarge bool // a frame is longer than Holdpoint takes
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
				s.known++
			}
		}
		if err != nil {
			var large *sse.TooLargeError
			s.tooLarge = errors.As(err, &large)
			return
		}
	}
}

// first returns the first event of the type.
func (s *stream) first(t agui.Type) (agui.Event, bool) {
	i := slices.IndexFunc(s.events, func(ev agui.Event) bool { return ev.Type == t })
	if i < 0 {
		return agui.Event{}, false
	}
	return s.events[i], true
}

// end returns the type of the terminal event, "" without one.
func (s *stream) end() agui.Type {
	for _, ev := range s.events {
		if ev.Type.Terminal() {
			return ev.Type
		}
	}
	return ""
}

// has reports whether the event came as it is.
func (s *stream) has(ev agui.Event) bool {
	return slices.ContainsFunc(s.events, func(one agui.Event) bool { return bytes.Equal(one.JSON, ev.JSON) })
}
