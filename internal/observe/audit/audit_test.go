package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"holdpoint/internal/event"
)

var testNow = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

func openLog(t *testing.T, o Options) *Log {
	t.Helper()
	o.Now = func() time.Time { return testNow }
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func asked(n int) *event.Event {
	return &event.Event{
		Kind: event.Raised, Time: testNow, Agent: "billing", Thread: "t", Run: fmt.Sprint("r", n), Pause: "p", Door: event.Chat,
		Interrupts: []event.Interrupt{{
			ID: "n~1", Reason: "tool_call", Tools: []string{"refund"}, QuestionDigest: "sha256:" + noPrevious, Object: json.RawMessage(`{"id":"n~1"}`),
		}},
	}
}

// lines writes n events into a new audit file, and returns the path and the lines of the file.
func lines(t *testing.T, n int) (path string, list []string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, Options{Path: path})
	for i := range n {
		if err := l.Take(asked(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return path, linesOf(t, path)
}

func linesOf(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func writeLines(t *testing.T, list ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(list, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func verify(t *testing.T, head *Head, paths ...string) Report {
	t.Helper()
	r, err := Verify(paths, StoredHeads{Head: head})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestVerifyFindsWhatWasDone: any change to a line must be reported, with the place of the line.
func TestVerifyFindsWhatWasDone(t *testing.T) {
	path, list := lines(t, 5) // 6 lines, because chain.begun is line 1
	if r := verify(t, nil, path); len(r.Problems)+len(r.Notes) > 0 || r.Lines != 6 || r.Head.Seq != 6 {
		t.Fatalf("an untouched file: %+v", r)
	}
	changed := strings.Replace(list[3], `"refund"`, `"refunt"`, 1)
	for _, c := range []struct {
		name string
		list []string
		want string
	}{
		{"taken out", slices.Concat(list[:3], list[4:]), ":4: seq 4 is missing before it: the line was taken out"},
		{"several taken out", slices.Concat(list[:2], list[4:]), ":3: seq 3 to 4 are missing before it"},
		{"changed", slices.Concat(list[:3], []string{changed}, list[4:]), ":4: the next line (seq 5) has another hash for seq 4"},
		{"twice", slices.Concat(list[:4], list[3:]), ":5: seq 4 follows seq 4"},
		{"two changed places", slices.Concat(list[:2], []string{list[3], list[2]}, list[4:]), ":3: seq 3 is missing before it"},
		{"no line any more", slices.Concat(list[:3], []string{list[3][:40]}, list[4:]), ":4: this is not an audit line, and the next line is not its line of recovery"},
		{"the last one torn", slices.Concat(list[:5], []string{list[5][:40]}), ":6: this is not an audit line, and no line of recovery follows"},
		{"put in", slices.Concat(list[:3], []string{"{}"}, list[3:]), ":4: this is not an audit line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := verify(t, nil, writeLines(t, c.list...))
			if len(r.Problems) == 0 || !strings.Contains(r.Problems[0], c.want) {
				t.Errorf("got %q, want %q", r.Problems, c.want)
			}
		})
	}
}

// TestVerifyWantsAllFilesInTheirOrder: missing lines at the beginning, files in the wrong order,
// and repeated files must be reported as problems.
func TestVerifyWantsAllFilesInTheirOrder(t *testing.T) {
	_, list := lines(t, 5)
	first, second := writeLines(t, list[:3]...), writeLines(t, list[3:]...)
	begins := func(at string) string {
		return writeLines(t, `{"v":1,"seq":1,"prev":"`+noPrevious+`","time":"`+at+`","event":"chain.begun"}`)
	}
	other, older := begins("2999-01-01T00:00:00Z"), begins("1999-01-01T00:00:00Z")
	for name, c := range map[string]struct {
		paths []string
		want  string // "" means no problem
		notes int
	}{
		"all of them":               {[]string{first, second}, "", 0},
		"and another chain":         {[]string{first, second, other}, "", 1},
		"the front is missing":      {[]string{second}, "seq 1 to 3 are missing before it: give the files before as well", 0},
		"some lines of the front":   {[]string{writeLines(t, list[1:]...)}, "seq 1 to 1 are missing before it", 0},
		"the other way around":      {[]string{second, first}, "seq 1 to 3 are missing before it", 0},
		"the older chain later":     {[]string{first, second, older}, "the files are not in their order", 0},
		"the first twice":           {[]string{first, first, second}, "a file was given twice", 0},
		"all of it twice":           {[]string{first, second, first, second}, "a file was given twice", 0},
		"the second twice":          {[]string{first, second, second}, "seq 4 follows seq 6", 0},
		"a chain twice, not in row": {[]string{first, second, other, first, second}, "a file was given twice", 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := verify(t, nil, c.paths...)
			if got := strings.Join(r.Problems, "; "); (c.want == "") != (got == "") || !strings.Contains(got, c.want) || c.want == "" && len(r.Notes) != c.notes {
				t.Errorf("problems %q, notes %q, want %q", got, r.Notes, c.want)
			}
		})
	}
}

// TestEachByteCounts: a byte of a line is changed. Verify must find the change, in any line except
// the last.
func TestEachByteCounts(t *testing.T) {
	_, list := lines(t, 2)
	for at := range list[1] {
		b := []byte(list[1])
		b[at] ^= 1
		if b[at] == '\n' {
			continue
		}
		if r := verify(t, nil, writeLines(t, list[0], string(b), list[2])); len(r.Problems) == 0 {
			t.Fatalf("byte %d of %s is %q, and nobody sees it", at, list[1], b[at])
		}
	}
}

// TestHeadShowsWhatTheChainCannot: lines are removed at the end of the file, or the whole file is
// written anew. The chain alone cannot show this. With a head that was saved elsewhere, both must
// be found.
func TestHeadShowsWhatTheChainCannot(t *testing.T) {
	path, list := lines(t, 3)
	head := verify(t, nil, path).Head
	if r := verify(t, &head, path); len(r.Problems) > 0 {
		t.Fatalf("an untouched file: %q", r.Problems)
	}
	parsed, err := ParseHead(head.String())
	if err != nil || parsed != head {
		t.Fatalf("%q is read as %v, %v", head.String(), parsed, err)
	}
	// short is the head in the short form that the metric has.
	short, err := ParseHead(fmt.Sprintf("%d:%013x", head.Seq, uint64(head.Number())))
	if err != nil || !strings.HasPrefix(head.Hash, short.Hash) {
		t.Fatalf("%s by its number is %v, %v", head, short, err)
	}
	if r := verify(t, &short, path); len(r.Problems) > 0 {
		t.Fatalf("an untouched file, by its number: %q", r.Problems)
	}
	for _, text := range []string{"", "4", "4:", "4:" + head.Hash[:12], "4:" + head.Hash + "0", "4:" + strings.ToUpper("abcdefabcdefa"), "x:" + head.Hash} {
		if _, err := ParseHead(text); err == nil {
			t.Errorf("%q is taken as a head", text)
		}
	}
	other, _ := lines(t, 4)
	for name, path := range map[string]string{"the end taken off": writeLines(t, list[:3]...), "written anew": other} {
		if r := verify(t, nil, path); len(r.Problems) > 0 {
			t.Errorf("%s: seen without the head, too: %q", name, r.Problems)
		}
		if name == "written anew" {
			head.Hash, short.Hash = strings.Repeat("1", 64), strings.Repeat("1", 13)
		}
		for _, head := range []Head{head, short} {
			if r := verify(t, &head, path); len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "the head that was given") {
				t.Errorf("%s: %q", name, r.Problems)
			}
		}
	}
}

// TestRotation: after a rotation the chain must continue in the new file, also after a restart.
func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, Options{Path: path})
	l.Take(asked(1))
	if err := l.Reopen(); err != nil { // the file was not renamed
		t.Fatal(err)
	}
	os.Rename(path, path+".1")
	l.Take(asked(2)) // Reopen was not called yet, so this line is in the old file
	if err := l.Reopen(); err != nil {
		t.Fatal(err)
	}
	l.Take(asked(3))
	l.Close()
	l = openLog(t, Options{Path: path})
	l.Take(asked(4))
	if r := verify(t, nil, path+".1", path); len(r.Problems)+len(r.Notes) > 0 || r.Lines != 5 {
		t.Errorf("%+v", r)
	}
	if r := verify(t, nil, path); len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "seq 1 to 3 are missing before it") {
		t.Errorf("the second file alone: %+v", r)
	}
	after := verify(t, nil, path+".1").Head
	for name, c := range map[string]struct {
		after Head
		path  string
		want  string
	}{
		"the head of the first file": {after, path, ""},
		"its short form":             {Head{Seq: after.Seq, Hash: after.Hash[:13]}, path, ""},
		"another hash":               {Head{Seq: after.Seq, Hash: strings.Repeat("1", 64)}, path, "seq 4 does not follow"},
		"another place":              {Head{Seq: after.Seq - 1, Hash: after.Hash}, path, "seq 4 does not follow the head that was given with -after (seq 2)"},
		"before the first file":      {after, path + ".1", "seq 1 does not follow"},
	} {
		r, err := Verify([]string{c.path}, StoredHeads{After: &c.after})
		if got := strings.Join(r.Problems, "; "); err != nil || (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if err := l.Close(); err != nil || l.Take(asked(5)) == nil {
		t.Errorf("closed with %v, and takes lines", err)
	}
}

// TestOneWriter: only one process can open the file, because two processes would write two chains
// into it.
func TestOneWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, Options{Path: path})
	if _, err := Open(Options{Path: path}); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Fatalf("a second one: %v", err)
	}
	l.Close()
	openLog(t, Options{Path: path})
}

// TestWaitsForTheFile: New must wait until another process has closed the file, or until its
// context ends.
func TestWaitsForTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	first := openLog(t, Options{Path: path})
	s := Settings{Target: Target("file://" + filepath.ToSlash(path)), Content: contentFalse}
	var said strings.Builder
	logger := slog.New(slog.NewTextHandler(&said, nil))
	stops := errors.New("a signal")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(stops)
	if p, err := s.New(ctx, logger); !errors.Is(err, stops) || p != nil || strings.Count(said.String(), "this process waits") != 1 {
		t.Fatalf("at the signal: %v, %v\n%s", p, err, said.String())
	}
	synctest.Test(t, func(t *testing.T) {
		time.AfterFunc(time.Minute, func() { first.Close() })
		begun := time.Now()
		p, err := s.New(t.Context(), logger)
		if err != nil || time.Since(begun) > time.Minute+retryInterval {
			t.Fatalf("after %v: %v", time.Since(begun), err)
		}
		p.Close()
	})
}

// TestTornLine: a crash has left a part of a line. These bytes must stay in the file, must never be
// read as a line, and must be described by a recovery line.
func TestTornLine(t *testing.T) {
	_, list := lines(t, 3)
	for cut := 1; cut < len(list[3]); cut += 7 {
		path := writeLines(t, list[:3]...)
		f, _ := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		f.WriteString(list[3][:cut])
		f.Close()
		l := openLog(t, Options{Path: path})
		if err := l.Take(asked(9)); err != nil {
			t.Fatal(err)
		}
		l.Close()
		r := verify(t, nil, path)
		if len(r.Problems) > 0 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], fmt.Sprintf("was torn (%d bytes)", cut)) || r.Lines != 5 {
			t.Fatalf("cut at %d: %+v", cut, r)
		}
	}
	whole := writeLines(t, list...)
	os.Truncate(whole, int64(len(strings.Join(list, "\n")))) // only the last newline is missing
	l := openLog(t, Options{Path: whole})
	l.Take(asked(9))
	if r := verify(t, nil, whole); len(r.Problems)+len(r.Notes) > 0 || r.Lines != 5 {
		t.Errorf("a line without its end: %+v", r)
	}
	first := writeLines(t)
	os.WriteFile(first, []byte(list[0][:20]), 0o600)
	l = openLog(t, Options{Path: first})
	l.Take(asked(9))
	if r := verify(t, nil, first); len(r.Problems) > 0 || r.Lines != 2 {
		t.Errorf("the very first line was torn: %+v", r)
	}
}

// TestForeignFile: if a file is not an audit, nothing may be appended to it.
func TestForeignFile(t *testing.T) {
	path := writeLines(t, "root:x:0:0:root:/root:/bin/bash")
	if _, err := Open(Options{Path: path}); !errors.Is(err, errForeign) {
		t.Fatal(err)
	}
	if got := linesOf(t, path); len(got) != 1 {
		t.Errorf("it is %q now", got)
	}
}

// A disk is a writer that accepts as many bytes as room says, and then fails.
type disk struct {
	bytes.Buffer
	room int
}

var errRoom = errors.New("no space left on device")

func (d *disk) Write(p []byte) (int, error) {
	n := min(len(p), d.room)
	d.room -= n
	d.Buffer.Write(p[:n])
	if n < len(p) {
		return n, errRoom
	}
	return n, nil
}

// TestDiskWithoutRoom: a disk becomes full at any byte of a line. When there is room again, the
// chain must be intact, and must say how many events are missing.
func TestDiskWithoutRoom(t *testing.T) {
	var sizes disk
	sizes.room = 1 << 20
	l := openLog(t, Options{Writer: &sizes})
	begun := sizes.Len()
	l.Take(asked(1))
	one := sizes.Len() - begun
	for room := range one + 1 {
		d := &disk{room: 1 << 20}
		l := openLog(t, Options{Writer: d})
		d.room = room
		var failed int
		for n := range 3 {
			if l.Take(asked(n)) != nil {
				failed++
			}
		}
		d.room = 1 << 20
		if err := l.Take(asked(3)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		os.WriteFile(path, d.Bytes(), 0o600)
		r := verify(t, nil, path)
		if len(r.Problems) > 0 {
			t.Fatalf("room for %d bytes: %+v\n%s", room, r, d.String())
		}
		if want := fmt.Sprintf("%d events before it could not be written", failed); !strings.HasSuffix(r.Notes[len(r.Notes)-1], want) {
			t.Fatalf("room for %d bytes: %q, want %q", room, r.Notes, want)
		}
		if head := l.Head(); head.FailedEvents != uint64(failed) || head.Hash != r.Head.Hash || failed == 0 {
			t.Fatalf("head %+v, file's %+v, %d failed", head, r.Head, failed)
		}
	}
}

// TestWritersAtOnce: many goroutines write at the same time. Their lines must form one chain.
func TestWritersAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, Options{Path: path, Sync: true})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for n := range 20 {
				if err := l.Take(asked(n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() {
		os.Rename(path, path+".1")
		if err := l.Reopen(); err != nil {
			t.Error(err)
		}
	})
	all.Wait()
	if r := verify(t, nil, path+".1", path); len(r.Problems)+len(r.Notes) > 0 || r.Lines != 161 {
		t.Errorf("%+v", r)
	}
}

// TestSchema: lines of every kind must match docs/audit.schema.json, with and without payloads.
func TestSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../../docs/audit.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range []bool{false, true} {
		d := &disk{room: 1 << 20}
		l := openLog(t, Options{Writer: d, Payload: payload})
		for _, kind := range event.Kinds() {
			e := asked(1)
			e.Kind, e.Code, e.PrincipalHash, e.Tenant, e.Dialect = kind, "KAPUT", noPrevious, "acme", "agui"
			i := &e.Interrupts[0]
			i.Status, i.Verdict, i.AnswerDigest, i.Payload, i.Calls = "resolved", "approved", "sha256:"+noPrevious, json.RawMessage("not JSON\n"), json.RawMessage("[]")
			if err := l.Take(e); err != nil {
				t.Fatal(err)
			}
		}
		if has := strings.Contains(d.String(), "not JSON"); has != payload {
			t.Errorf("payloads in the lines: %t, want %t", has, payload)
		}
		d.room = 10
		l.Take(asked(2))
		d.room = 1 << 20
		l.Take(asked(3))
		seen := map[string]bool{}
		for text := range strings.SplitSeq(strings.TrimSpace(d.String()), "\n") {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err != nil {
				continue // the line that was cut
			}
			if err := schema.Validate(v); err != nil {
				t.Errorf("%s: %v", text, err)
			}
			seen[v.(map[string]any)["event"].(string)] = true
		}
		if want := len(event.Kinds()) + 2; len(seen) != want {
			t.Errorf("%d kinds of line, want %d", len(seen), want)
		}
	}
	for _, bad := range []string{
		`{"v":1}`,
		`{"v":1,"seq":2,"prev":"` + noPrevious + `","time":"2026-11-24T10:00:00Z","event":"interrupt.raised"}`,
		`{"v":1,"seq":2,"prev":"` + noPrevious + `","time":"2026-11-24T10:00:00Z","event":"chain.begun","extra":1}`,
	} {
		v, _ := jsonschema.UnmarshalJSON(strings.NewReader(bad))
		if schema.Validate(v) == nil {
			t.Errorf("the schema takes %s", bad)
		}
	}
}

// TestStdout: a process writes its audit to stdout. It must write one chain there and nothing else,
// also after Reopen.
func TestStdout(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	got := make(chan string)
	go func() {
		b, _ := io.ReadAll(r)
		got <- string(b)
	}()
	l := openLog(t, Options{Writer: w})
	l.Take(asked(1))
	if err := l.Reopen(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if s := <-got; strings.Count(s, "\n") != 2 || !strings.Contains(s, `"event":"chain.begun"`) {
		t.Errorf("%q", s)
	}
}
