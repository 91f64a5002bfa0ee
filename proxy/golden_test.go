package proxy_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/sse"
	"holdpoint/proxy"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/translate/dialects"
	"holdpoint/translate/langgraph"
)

var update = flag.Bool("update", false, "rewrite the want files of testdata")

// A scenario is a folder of testdata, see testdata/README.md.
type scenario struct {
	dir   string
	keys  map[string]string
	turns int
}

var scenarioKeys = []string{"title", "source", "clock", "env", "ids", "wire", "wait"}

func scenarios(t *testing.T) []scenario {
	t.Helper()
	files, err := filepath.Glob("../testdata/*/*/scenario.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	var list []scenario
	for _, f := range files {
		s := scenario{dir: filepath.Dir(f), keys: map[string]string{}}
		for line := range strings.Lines(string(read(t, f))) {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			key, value, ok := strings.Cut(line, ":")
			if !ok || !slices.Contains(scenarioKeys, key) {
				t.Fatalf("%s: unknown key in line %q", f, line)
			}
			if key == "env" && s.keys[key] != "" {
				value = s.keys[key] + "\n" + strings.TrimSpace(value)
			}
			s.keys[key] = strings.TrimSpace(value)
		}
		if s.keys["source"] == "" {
			t.Errorf("%s: no source: say from which framework and version, recorded or made by hand", f)
		}
		for s.turns = 0; exists(s.file(s.turns+1, "request.json")); s.turns++ {
		}
		if s.turns == 0 {
			t.Fatalf("%s: no 1.request.json", s.dir)
		}
		list = append(list, s)
	}
	return list
}

func (s scenario) name() string { return strings.TrimPrefix(s.dir, "../testdata/") }

func (s scenario) file(turn int, name string) string {
	return filepath.Join(s.dir, fmt.Sprintf("%d.%s", turn, name))
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// A delivery is a way in which the upstream's bytes arrive.
type delivery struct {
	name string
	// serve writes the stream; flush hands on what was written.
	serve func(w io.Writer, flush func(), stream []byte)
	gzip  bool
}

var deliveries = []delivery{
	{name: "whole", serve: func(w io.Writer, flush func(), stream []byte) { w.Write(stream) }},
	{name: "byte by byte", serve: func(w io.Writer, flush func(), stream []byte) {
		for i := range stream {
			w.Write(stream[i : i+1])
			if i < 4000 {
				flush() // each flush is a chunk; beyond that the rest comes in the server's own pieces
			}
		}
	}},
	{name: "CRLF", serve: func(w io.Writer, flush func(), stream []byte) {
		w.Write(bytes.ReplaceAll(stream, []byte("\n"), []byte("\r\n")))
	}},
	{name: "CR", serve: func(w io.Writer, flush func(), stream []byte) {
		w.Write(bytes.ReplaceAll(stream, []byte("\n"), []byte("\r")))
	}},
	{name: "heartbeats", serve: func(w io.Writer, flush func(), stream []byte) {
		w.Write(bytes.ReplaceAll(stream, []byte("\n\n"), []byte("\n\n: beat\n\n")))
	}},
	{name: "frame by frame", serve: func(w io.Writer, flush func(), stream []byte) {
		for frame := range bytes.SplitAfterSeq(stream, []byte("\n\n")) {
			w.Write(frame)
			flush()
		}
	}},
	{name: "gzip", gzip: true, serve: func(w io.Writer, flush func(), stream []byte) {
		z := gzip.NewWriter(w)
		z.Write(stream)
		z.Close()
	}},
}

// upstream serves a scenario's files, turn by turn, and keeps what it was asked. Files of a second exchange in the same
// turn are called N.upstream-2.json and .sse.
type upstream struct {
	t     *testing.T
	s     scenario
	d     delivery
	turn  int
	calls []*http.Request
	sent  [][]byte
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u.calls = append(u.calls, r)
	u.sent = append(u.sent, body)
	name := "upstream.sse"
	if n := len(u.calls); n > 1 {
		name = fmt.Sprintf("upstream-%d.sse", n)
	}
	file := u.s.file(u.turn, name)
	if !exists(file) {
		u.t.Errorf("turn %d: the backend was called (%d) and must not be:\n%s", u.turn, len(u.calls), body)
		w.WriteHeader(http.StatusTeapot)
		return
	}
	stream, _ := os.ReadFile(file)
	if head, rest, ok := bytes.Cut(stream, []byte("\n--\n")); ok && bytes.HasPrefix(stream, []byte("HTTP ")) {
		serveHTTPAnswer(w, head, rest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if u.d.gzip {
		w.Header().Set("Content-Encoding", "gzip")
	}
	cut := bytes.HasSuffix(stream, []byte("\n<cut>"))
	stream = bytes.TrimSuffix(stream, []byte("\n<cut>"))
	control := http.NewResponseController(w)
	u.d.serve(w, func() { control.Flush() }, stream)
	if cut {
		control.Flush()
		panic(http.ErrAbortHandler)
	}
}

// serveHTTPAnswer writes an answer that is no stream: "HTTP 429", header lines, "--", body.
func serveHTTPAnswer(w http.ResponseWriter, head, body []byte) {
	lines := strings.Split(string(head), "\n")
	for _, l := range lines[1:] {
		k, v, _ := strings.Cut(l, ":")
		w.Header().Set(k, strings.TrimSpace(v))
	}
	status := 0
	fmt.Sscanf(lines[0], "HTTP %d", &status)
	w.WriteHeader(status)
	w.Write(body)
}

// clock is a fixed time that a scenario's wait moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// options are the handler's options for a scenario's env lines.
func (s scenario) options(t *testing.T, target string, c *clock) (proxy.Options, store.Store) {
	t.Helper()
	kept := memory.New(memory.Options{Entries: 100, ReplayTTL: 24 * time.Hour, PauseRetention: 720 * time.Hour, Now: c.Now})
	up, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	o := proxy.Options{Upstream: up, Store: kept, Now: c.Now}
	name, lg := "auto", langgraph.Options{Cancel: langgraph.JSON("false")}
	for line := range strings.Lines(s.keys["env"]) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch k {
		case "":
		case "HOLDPOINT_DIALECT":
			name = v
		case "HOLDPOINT_CLIENT":
			o.Client = proxy.Client(v)
		case "HOLDPOINT_REFUSAL":
			o.Refusal = proxy.Refusal(v)
		case "HOLDPOINT_IDS":
			o.IDs = proxy.IDs(v)
		case "HOLDPOINT_TRANSCRIPT_BYTES":
			fmt.Sscanf(v, "%d", &o.TranscriptBytes)
		case "HOLDPOINT_MAX_FRAME_BYTES":
			fmt.Sscanf(v, "%d", &o.MaxFrameBytes)
		case "HOLDPOINT_INTERRUPT_TTL":
			o.InterruptTTL, _ = time.ParseDuration(v)
		case "HOLDPOINT_LANGGRAPH_CANCEL":
			lg.Cancel = langgraph.JSON(v)
		case "HOLDPOINT_LANGGRAPH_NS_IDS":
			lg.NSIDs = v == "true"
		default:
			t.Fatalf("%s: env %q is not known to the runner", s.dir, k)
		}
	}
	if o.Dialect, err = dialects.New(name, dialects.Options{LangGraph: lg}); err != nil {
		t.Fatal(err)
	}
	n := 0
	ids := strings.Fields(s.keys["ids"])
	o.NewID = func() string {
		n++
		if n <= len(ids) {
			return ids[n-1]
		}
		return fmt.Sprintf("id%d", n)
	}
	return o, kept
}

// TestGolden runs every scenario under every delivery, through two real HTTP hops.
func TestGolden(t *testing.T) {
	for _, s := range scenarios(t) {
		t.Run(s.name(), func(t *testing.T) {
			for _, d := range deliveries {
				if *update && d.name != "whole" {
					continue
				}
				t.Run(d.name, func(t *testing.T) { s.run(t, d) })
			}
		})
	}
}

func (s scenario) run(t *testing.T, d delivery) {
	start := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	if v := s.keys["clock"]; v != "" {
		start, _ = time.Parse(time.RFC3339, v)
	}
	c := &clock{start}
	up := &upstream{t: t, s: s, d: d}
	backend := httptest.NewServer(up)
	defer backend.Close()
	o, _ := s.options(t, backend.URL+"/agent", c)
	h, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(h)
	defer front.Close()
	for turn := 1; turn <= s.turns; turn++ {
		up.turn, up.calls, up.sent = turn, nil, nil
		for _, w := range strings.Fields(s.keys["wait"]) { // "2=5m": before turn 2
			if at, dur, _ := strings.Cut(w, "="); at == fmt.Sprint(turn) {
				wait, err := time.ParseDuration(dur)
				if err != nil {
					t.Fatal(err)
				}
				c.now = c.now.Add(wait)
			}
		}
		got := post(t, front.URL+"/", read(t, s.file(turn, "request.json")))
		if d.name == "heartbeats" {
			got = bytes.ReplaceAll(got, []byte(": beat\n\n"), nil)
		}
		s.compare(t, turn, "want.sse", got)
		for n, body := range up.sent {
			name := "upstream.json"
			if n > 0 {
				name = fmt.Sprintf("upstream-%d.json", n+1)
			}
			s.compare(t, turn, name, indent(t, body))
		}
		for n := len(up.sent) + 1; n <= 3; n++ {
			name := "upstream.sse"
			if n > 1 {
				name = fmt.Sprintf("upstream-%d.sse", n)
			}
			if exists(s.file(turn, name)) {
				t.Errorf("turn %d: exchange %d never reached the backend", turn, n)
			}
		}
		if bytes.HasPrefix(got, []byte("HTTP ")) {
			continue
		}
		for _, complaint := range lint(got) {
			t.Errorf("turn %d: %s\n%s", turn, complaint, got)
		}
	}
}

// post sends a run and gives the stream, or the status and body of an answer that is none.
func post(t *testing.T, url string, body []byte) []byte {
	t.Helper()
	res, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("the stream did not end cleanly: %v", err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Appendf(nil, "HTTP %d\n%s", res.StatusCode, got)
	}
	return got
}

func indent(t *testing.T, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", "  "); err != nil {
		t.Errorf("what was sent is no JSON: %v\n%s", err, body)
	}
	return append(bytes.TrimSpace(b.Bytes()), '\n')
}

func (s scenario) compare(t *testing.T, turn int, name string, got []byte) {
	t.Helper()
	file := s.file(turn, name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want := read(t, file); !bytes.Equal(got, want) {
		t.Errorf("%s differs\n--- got\n%s\n--- want\n%s", file, got, want)
	}
}

// lint checks what every client of every version demands of a stream (shared properties of the scenarios).
func lint(stream []byte) (complaints []string) {
	frames := sse.NewReader(bytes.NewReader(stream), 0)
	terminal, first := agui.Unknown, true
	open := map[string]bool{}
	for {
		f, err := frames.Next()
		if err != nil {
			break
		}
		data, ok := f.Data(nil)
		if !ok {
			continue
		}
		ev := agui.NewEvent(bytes.Clone(data))
		if !json.Valid(data) {
			complaints = append(complaints, "an event that is no JSON")
			continue
		}
		if terminal != agui.Unknown && !(ev.Type == agui.RunErrored && terminal == agui.RunFinished) && ev.Type != agui.RunStarted {
			complaints = append(complaints, fmt.Sprintf("%s after %s", ev.Type, terminal))
		}
		if first && ev.Type != agui.RunStarted && ev.Type != agui.RunErrored {
			complaints = append(complaints, "first event is "+string(ev.Type))
		}
		first = false
		switch ev.Type {
		case agui.RunStarted:
			terminal = agui.Unknown
		case agui.TextStart:
			open["text "+ev.Get("messageId").Str] = true
		case agui.TextEnd:
			delete(open, "text "+ev.Get("messageId").Str)
		case agui.CallStart:
			open["call "+ev.Get("toolCallId").Str] = true
		case agui.CallEnd:
			delete(open, "call "+ev.Get("toolCallId").Str)
		case agui.StepStarted:
			open["step "+ev.Get("stepName").Str] = true
		case agui.StepFinished:
			delete(open, "step "+ev.Get("stepName").Str)
		case agui.RunFinished:
			terminal = ev.Type
			if len(open) > 0 {
				complaints = append(complaints, fmt.Sprintf("RUN_FINISHED with %v open", open))
			}
			complaints = append(complaints, lintOutcome(ev)...)
		case agui.RunErrored:
			terminal = ev.Type
		}
	}
	if terminal == agui.Unknown {
		complaints = append(complaints, "no terminal event")
	}
	return complaints
}

func lintOutcome(ev agui.Event) (complaints []string) {
	outcome := ev.Get("outcome")
	if !outcome.Exists() {
		return nil
	}
	list := outcome.Get("interrupts").Array()
	if outcome.Get("type").Str == "interrupt" && len(list) == 0 {
		complaints = append(complaints, "an interrupt outcome without interrupts")
	}
	ids := map[string]bool{}
	for _, i := range list {
		if i.Get("id").Str == "" || !i.Get("reason").Exists() || ids[i.Get("id").Str] {
			complaints = append(complaints, "an interrupt without id or reason, or with an id twice: "+i.Raw)
		}
		ids[i.Get("id").Str] = true
		for k, v := range i.Map() {
			if v.Raw == "null" {
				complaints = append(complaints, "null in an interrupt: "+k)
			}
		}
	}
	return complaints
}
