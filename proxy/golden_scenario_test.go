package proxy_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	golden "holdpoint/internal/scenario"
	"holdpoint/internal/variables"
	"holdpoint/proxy"
	"holdpoint/translate/auto"
	"holdpoint/translate/dialects"
)

const testdata = "../testdata"

// A scenario is a file of testdata with the wire data of one thread, turn by turn.
// testdata/README.md describes its parts.
type scenario struct {
	*golden.Scenario
	env map[string]string // a test may change it
}

func scenarios(t *testing.T) []scenario {
	t.Helper()
	all, err := golden.List(testdata, "*")
	if err != nil {
		t.Fatal(err)
	}
	var list []scenario
	for _, s := range all {
		list = append(list, scenario{s, s.Environment})
	}
	return list
}

func scenarioNamed(t *testing.T, name string) scenario {
	t.Helper()
	s, err := golden.Read(testdata + "/" + name + golden.Ext)
	if err != nil {
		t.Fatal(err)
	}
	return scenario{s, s.Environment}
}

// someScenarios returns all scenarios. With -short, it returns only every fourth, from the index
// part on. The scenarios of a dialect follow each other, so some scenarios of each dialect are
// among them.
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

func (s scenario) request(turn int) []byte {
	return bytes.TrimSpace(s.Part(golden.Request(turn)))
}

// configure applies the env lines of the scenario to o. The test fails if neither configure nor a
// dialect reads one of their variables.
func (s scenario) configure(t *testing.T, o *proxy.Options) {
	t.Helper()
	name, list := auto.Name, dialects.All()
	files, err := s.WithFiles(t.TempDir)
	if err != nil {
		t.Fatal(err)
	}
	env := maps.Clone(s.env)
	for k := range env {
		if path := files[k]; strings.HasSuffix(k, "_FILE") {
			env[k] = path
		}
	}
	for _, err := range list.Read(env) {
		t.Fatalf("%s: env %v", s.Name, err)
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
			t.Fatalf("%s: env %s: %v", s.Name, k, err)
		}
	}
	if o.Dialect, err = list.New(name, nil); err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	if o.Recognizer, err = list.Recognizer(name); err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	o.Logger = slog.New(falseAlarms{t})
}

// A falseAlarms is a log handler. It fails the test if the log says that the backend asks in
// another dialect than the scenario's.
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

// knownFailing reads the list of the scenarios that show a bug which is not fixed yet. It returns,
// for each name of such a scenario, what is wrong. The file has lines `name: what is wrong`. The
// want parts of these scenarios are written by hand.
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
