package scenario

import (
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const whole = `# a comment
title: two turns

source: by hand
env: HOLDPOINT_DIALECT=strands
env: HOLDPOINT_STRANDS_FILE=rules.json
covers: approve again
wait: 2=1h
restart: 2
clock: 2026-10-01T00:00:00Z
ids: x y
-- rules.json --
{}
\ no newline at the end
-- 1.request.json --
{"runId": "r1"}
-- 1.upstream.head --
POST /
-- 1.upstream.json --
{}
-- 1.upstream.sse --
data: 1

-- 1.upstream-2.json --
{}
-- 1.upstream-2.sse --
HTTP 429
Retry-After: 7

slow<cut>
\ no newline at the end
-- 1.want.sse --
data: 1

-- 1.store.json --
{}
-- 2.request.json --
{"runId": "r2"}
`

func TestParse(t *testing.T) {
	s, err := Parse(whole)
	if err != nil {
		t.Fatal(err)
	}
	s.archive = nil
	if want := (&Scenario{
		Title: "two turns", Source: "by hand", Covers: []string{"approve", "again"}, IDs: []string{"x", "y"},
		Environment: map[string]string{"HOLDPOINT_DIALECT": "strands", "HOLDPOINT_STRANDS_FILE": "rules.json"},
		Clock:       time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), Wait: map[int]time.Duration{2: time.Hour}, Restart: 2, Turns: 2,
	}); !reflect.DeepEqual(s, want) {
		t.Errorf("got\n%+v\nwant\n%+v", s, want)
	}
}

func TestAnswers(t *testing.T) {
	s, err := Parse(whole)
	if err != nil {
		t.Fatal(err)
	}
	list := s.Answers(1)
	if len(list) != 2 || s.Answers(2) != nil || s.Part(Want(2)) != nil {
		t.Fatalf("%q, then %q", list, s.Answers(2))
	}
	want := []Response{
		{Status: http.StatusOK, Body: []byte("data: 1\n\n")},
		{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"7"}}, Body: []byte("slow"), Cut: true},
	}
	for n, part := range list {
		if got := ReadAnswer(part); !reflect.DeepEqual(got, want[n]) {
			t.Errorf("got %+v, want %+v", got, want[n])
		}
	}
	list[0][0] = 'x'
	if string(s.Answers(1)[0]) != "data: 1\n\n" {
		t.Error("a caller can write into a part")
	}
}

// TestParseRefuses: a part or a setting has a misspelt name. Parsing must fail, because such a part
// would check nothing.
func TestParseRefuses(t *testing.T) {
	for name, change := range map[string]struct{ from, to, complaint string }{
		"an unknown key":              {"title:", "titel:", "unknown key"},
		"no source":                   {"source: by hand\n", "", "source"},
		"a variable without a value":  {"env: HOLDPOINT_DIALECT=strands", "env: HOLDPOINT_DIALECT", "NAME=value"},
		"a case that there is not":    {"covers: approve", "covers: approved", "approved"},
		"a wait without a turn":       {"wait: 2=1h", "wait: 1h", "turn=duration"},
		"no turn":                     {"-- 1.request.json --", "-- 0.request.json --", "no part 1.request.json"},
		"a file that nothing names":   {"-- rules.json --", "-- rule.json --", "belongs to no turn"},
		"a turn that there is not":    {"-- 2.request.json --", "-- 3.request.json --", "belongs to no turn"},
		"an exchange that is not":     {"-- 1.upstream-2.sse --", "-- 1.upstream-3.sse --", "belongs to no turn"},
		"a misspelt part":             {"-- 1.store.json --", "-- 1.stored.json --", "belongs to no turn"},
		"an answer after the outcome": {"-- 2.request.json --\n{\"runId\": \"r2\"}\n", "-- 2.upstream.sse --\n-- 2.request.json --\n{}\n", "order"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(whole, change.from, change.to, 1)
			if _, err := Parse(text); text == whole || err == nil || !strings.Contains(err.Error(), change.complaint) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestSave: Save changes some parts that are expectations, adds some at their positions, and
// removes some. All other bytes must stay the same. A file in which nothing changes must not be
// written.
func TestSave(t *testing.T) {
	s := kept(t, whole)
	err := s.Save(map[string][]byte{
		Sent(1, 1): []byte("{}\n"), Head(1, 1): nil, Head(1, 2): []byte("GET /"), Want(1): []byte("data: 2\n\n"),
		Store(1): {}, Want(2): []byte("-- \n"), Store(2): []byte("{}\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := whole
	for _, change := range []struct{ from, to string }{
		{"-- 1.upstream.head --\nPOST /\n", ""},
		{"-- 1.upstream-2.json --", "-- 1.upstream-2.head --\nGET /\n" + unended + "-- 1.upstream-2.json --"},
		{"-- 1.want.sse --\ndata: 1\n", "-- 1.want.sse --\ndata: 2\n"},
		{"-- 1.store.json --\n{}\n", ""},
		{"{\"runId\": \"r2\"}\n", "{\"runId\": \"r2\"}\n-- 2.want.sse --\n\\-- \n-- 2.store.json --\n{}\n"},
	} {
		want = strings.Replace(want, change.from, change.to, 1)
	}
	text, err := os.ReadFile(s.Path)
	if err != nil || string(text) != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, text, want)
	}
	if err := s.Save(map[string][]byte{"3.want.sse": []byte("x")}); err == nil {
		t.Error("a part of no turn is taken")
	}
	if err := os.Remove(s.Path); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(map[string][]byte{Want(1): []byte("data: 2\n\n"), Store(1): nil}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.Path); !os.IsNotExist(err) {
		t.Errorf("written again: %v", err)
	}
}

func TestWithFiles(t *testing.T) {
	s := kept(t, whole)
	env, err := s.WithFiles(t.TempDir)
	if err != nil || env["HOLDPOINT_DIALECT"] != "strands" {
		t.Fatalf("%v, %v", env, err)
	}
	if b, err := os.ReadFile(env["HOLDPOINT_STRANDS_FILE"]); err != nil || string(b) != "{}" {
		t.Errorf("%q, %v", b, err)
	}
	if s.Environment["HOLDPOINT_STRANDS_FILE"] != "rules.json" {
		t.Error("the scenario has changed")
	}
	s.Environment["HOLDPOINT_STRANDS_FILE"] = "others.json"
	if _, err := s.WithFiles(t.TempDir); err == nil {
		t.Error("a part that is missing is named")
	}
}

// TestListRefusesFolders: a scenario in a folder of its own must be an error, because List would
// skip it.
func TestListRefusesFolders(t *testing.T) {
	root := t.TempDir()
	if _, err := List(root, "*"); err == nil {
		t.Error("no scenario is a list")
	}
	if err := os.MkdirAll(filepath.Join(root, "agui", "approve"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := List(root, "*"); err == nil || !strings.Contains(err.Error(), "one file") {
		t.Errorf("%v", err)
	}
}

func TestListIsInOrder(t *testing.T) {
	root := t.TempDir()
	names := []string{"a/x", "a/x-1", "a-b/x"}
	for _, name := range names {
		path := filepath.Join(root, name+Ext)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := List(root, "*")
	if err != nil || len(list) != len(names) {
		t.Fatalf("%d, %v", len(list), err)
	}
	for at, s := range list {
		if s.Name != names[at] || s.Folder()+"/" != names[at][:strings.Index(names[at], "/")+1] {
			t.Errorf("%d is %s in %s", at, s.Name, s.Folder())
		}
	}
}

// kept writes the text of a scenario into a new file, and reads it.
func kept(t *testing.T, text string) *Scenario {
	t.Helper()
	path := filepath.Join(t.TempDir(), "one"+Ext)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
