package proxy_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/variables"
	"holdpoint/proxy"
	"holdpoint/translate/auto"
	"holdpoint/translate/dialects"
)

const testdata = "../testdata"

// A scenario is a folder of testdata: the wire files of one thread, turn by turn.
// testdata/README.md says what is what.
type scenario struct {
	dir     string
	name    string // folder and subfolder, langgraph/approve-0.0.43
	turns   int
	clock   time.Time
	env     map[string]string
	ids     []string
	wait    map[int]time.Duration // before a turn
	restart int                   // the turn before which Holdpoint is started anew; its store stays
	covers  []string
	files   []string // that variables name
}

// coverable are the cases that every dialect must have (design, section 3).
var coverable = []string{"approve", "deny", "cancel", "two", "again", "plain", "error"}

func scenarios(t *testing.T) []scenario {
	t.Helper()
	folders, err := filepath.Glob(testdata + "/*/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	var list []scenario
	for _, dir := range folders {
		s := scenario{dir: dir, name: strings.TrimPrefix(filepath.ToSlash(dir), testdata+"/")}
		if err := s.read(); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		list = append(list, s)
	}
	return list
}

// someScenarios returns every fourth scenario in the short form, from the one at part on, and all
// of them in the long form. Those of one dialect follow one another, so each dialect has its share.
func someScenarios(t *testing.T, part int) []scenario {
	t.Helper()
	all := scenarios(t)
	if !testing.Short() {
		return all
	}
	var some []scenario
	for at := part; at < len(all); at += 4 {
		some = append(some, all[at])
	}
	return some
}

// read reads scenario.txt. An unknown key or value is an error: a misspelt one would test nothing.
func (s *scenario) read() error {
	text, err := os.ReadFile(filepath.Join(s.dir, "scenario.txt"))
	if err != nil {
		return err
	}
	s.clock = time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	s.env, s.wait = map[string]string{}, map[int]time.Duration{}
	title, source := "", ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "title":
			title = value
		case "source":
			source = value
		case "clock":
			s.clock, err = time.Parse(time.RFC3339, value)
		case "env":
			name, v, ok := strings.Cut(value, "=")
			if !ok {
				err = fmt.Errorf("env: want NAME=value, not %q", value)
			}
			if s.env[name] = v; strings.HasSuffix(name, "_FILE") {
				s.files = append(s.files, v)
				s.env[name] = filepath.Join(s.dir, v)
			}
		case "ids":
			s.ids = strings.Fields(value)
		case "wait":
			err = s.readWait(value)
		case "restart":
			_, err = fmt.Sscanf(value, "%d", &s.restart)
		case "covers":
			s.covers = strings.Fields(value)
			for _, c := range s.covers {
				if !slices.Contains(coverable, c) {
					err = fmt.Errorf("covers: %q is none of %v", c, coverable)
				}
			}
		default:
			err = fmt.Errorf("unknown key in line %q", line)
		}
		if err != nil {
			return err
		}
	}
	if title == "" || source == "" {
		return fmt.Errorf("title and source must be there: what it shows, and from where its bytes are")
	}
	for exists(s.file(s.turns+1, "request.json")) {
		s.turns++
	}
	if s.turns == 0 {
		return fmt.Errorf("no 1.request.json")
	}
	return s.strangers()
}

func (s *scenario) readWait(value string) error {
	for _, w := range strings.Fields(value) { // 2=5m: before turn 2
		var turn int
		at, long, _ := strings.Cut(w, "=")
		if _, err := fmt.Sscanf(at, "%d", &turn); err != nil {
			return fmt.Errorf("wait: want turn=duration, not %q", w)
		}
		d, err := time.ParseDuration(long)
		if err != nil {
			return err
		}
		s.wait[turn] = d
	}
	return nil
}

// strangers finds files that no turn has: a misspelt name would test nothing either.
func (s *scenario) strangers() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	known := map[string]bool{"scenario.txt": true}
	for _, file := range s.files {
		known[file] = true
	}
	for turn := 1; turn <= s.turns; turn++ {
		for _, name := range []string{"request.json", "want.sse", "store.json"} {
			known[filepath.Base(s.file(turn, name))] = true
		}
		for n := 1; exists(s.file(turn, numbered("upstream", n, "sse"))); n++ {
			known[filepath.Base(s.file(turn, numbered("upstream", n, "sse")))] = true
			known[filepath.Base(s.file(turn, numbered("upstream", n, "json")))] = true
			known[filepath.Base(s.file(turn, numbered("upstream", n, "head")))] = true
		}
	}
	for _, e := range entries {
		if !known[e.Name()] {
			return fmt.Errorf("%s belongs to no turn", e.Name())
		}
	}
	return nil
}

func (s scenario) file(turn int, name string) string {
	return filepath.Join(s.dir, fmt.Sprintf("%d.%s", turn, name))
}

func (s scenario) request(turn int) []byte {
	b, err := os.ReadFile(s.file(turn, "request.json"))
	if err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b)
}

// streams returns the backend's answers in a turn, one for each exchange.
func (s scenario) streams(turn int) [][]byte {
	var list [][]byte
	for n := 1; ; n++ {
		b, err := os.ReadFile(s.file(turn, numbered("upstream", n, "sse")))
		if err != nil {
			return list
		}
		list = append(list, b)
	}
}

// dialect returns what a scenario is counted for: the folder that it is in.
func (s scenario) dialect() string { return filepath.Dir(s.name) }

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// configure sets what the scenario's env lines say. A variable that neither it nor a dialect knows
// fails.
func (s scenario) configure(t *testing.T, o *proxy.Options) {
	t.Helper()
	name, list := auto.Name, dialects.All()
	for _, err := range list.Read(s.env) {
		t.Fatalf("%s: env %v", s.name, err)
	}
	known := list.Variables()
	for k, v := range s.env {
		var err error
		switch k {
		case "HOLDPOINT_DIALECT":
			name = v
		case "HOLDPOINT_CLIENT":
			o.Client = proxy.Client(v)
		case "HOLDPOINT_SESSIONS":
			o.Sessions, err = strconv.ParseBool(v)
		case "HOLDPOINT_ANSWERS":
			err = o.Answers.UnmarshalText([]byte(v))
		case "HOLDPOINT_TRANSCRIPT_BYTES":
			_, err = fmt.Sscanf(v, "%d", &o.TranscriptBytes)
		case "HOLDPOINT_MAX_FRAME_BYTES":
			_, err = fmt.Sscanf(v, "%d", &o.MaxFrameBytes)
		case "HOLDPOINT_INTERRUPT_TTL":
			o.InterruptTTL, err = time.ParseDuration(v)
		default:
			if !slices.ContainsFunc(known, func(one variables.Variable) bool { return one.Name == k }) {
				err = fmt.Errorf("known neither to the runner nor to a dialect")
			}
		}
		if err != nil {
			t.Fatalf("%s: env %s: %v", s.name, k, err)
		}
	}
	var err error
	if o.Dialect, err = list.New(name, nil); err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	if o.Recognizer, err = list.Recognizer(name); err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	o.Logger = slog.New(falseAlarms{t})
}

// falseAlarms fails a test whose log says that its scenario's dialect is another framework's.
type falseAlarms struct{ t *testing.T }

func (falseAlarms) Enabled(context.Context, slog.Level) bool { return true }

func (f falseAlarms) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "asks in the dialect") {
		f.t.Error(r.Message)
	}
	return nil
}

func (f falseAlarms) WithAttrs([]slog.Attr) slog.Handler { return f }
func (f falseAlarms) WithGroup(string) slog.Handler      { return f }

// knownFailing reads the scenarios that show a bug which is not mended yet: `name: what is wrong`.
// Their want files are written by hand.
func knownFailing(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(testdata + "/known-failing.txt")
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, _ := strings.Cut(line, ":")
		if strings.TrimSpace(reason) == "" {
			t.Errorf("testdata/known-failing.txt: %q without a reason", name)
		}
		list[name] = strings.TrimSpace(reason)
	}
	return list
}
