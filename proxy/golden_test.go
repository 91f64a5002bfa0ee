package proxy_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"holdpoint/proxy"
)

var update = flag.Bool("update", false, "rewrite the want files of testdata: go test ./proxy -run TestGolden -update")

// TestGolden runs every scenario of testdata under every delivery. With -update the first one
// writes the want files.
func TestGolden(t *testing.T) {
	failing := knownFailing(t)
	for at, s := range scenarios(t) {
		reason, known := failing[s.name]
		delete(failing, s.name)
		if known && *update {
			continue // its want files say what should be, by hand
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if known {
				if whole := deliveries()[0]; len(play(t, s, whole, *update)) == 0 {
					t.Errorf("it passes: take it out of testdata/known-failing.txt (%s)", reason)
				}
				return
			}
			for n, d := range deliveries() {
				if step := 3; proxy.Brief() {
					if !proxy.RaceDetector {
						step = 9
					}
					if n%step != at%step {
						continue
					}
				}
				t.Run(d.name, func(t *testing.T) {
					for _, complaint := range play(t, s, d, *update) {
						t.Error(complaint)
					}
				})
				if *update {
					break
				}
			}
		})
	}
	for name := range failing {
		t.Errorf("testdata/known-failing.txt names %q, which is no scenario", name)
	}
}

// play runs a scenario and says what is not as it should be.
func play(t *testing.T, s scenario, d delivery, update bool) (complaints []string) {
	t.Helper()
	stage := newStage(t, s, d)
	defer stage.close()
	for turn := 1; turn <= s.turns; turn++ {
		complain := func(format string, args ...any) {
			complaints = append(complaints, fmt.Sprintf("turn %d: ", turn)+fmt.Sprintf(format, args...))
		}
		check := func(name string, got []byte) {
			if update {
				write(t, s.file(turn, name), got)
			} else if diff := s.differs(turn, name, got); diff != "" {
				complain("%s", diff)
			}
		}
		stage.begin(turn)
		got := stage.post(s.request(turn))
		check("want.sse", got)
		for n, body := range stage.backend.sent {
			pretty, err := indent(body)
			if err != nil && len(body) > 0 { // a GET has none
				complain("what was sent is no JSON: %v\n%s", err, body)
			}
			check(numbered("upstream", n+1, "json"), pretty)
			if stage.foreign {
				check(numbered("upstream", n+1, "head"), stage.backend.head[n])
			}
		}
		check("store.json", stage.record())
		for _, c := range stage.backend.complaints(turn) {
			complain("%s", c)
		}
		if stage.foreign {
			complaints = append(complaints, lintForeign(s.request(turn), stage.backend.sent)...)
			if !bytes.HasPrefix(got, []byte("HTTP ")) {
				complaints = append(complaints, lint(got)...)
			}
			continue
		}
		for _, c := range lintRequests(s.request(turn), stage.backend.sent, s.free(turn), s.renamedKeys()...) {
			complain("%s", c)
		}
		if bytes.HasPrefix(got, []byte("HTTP ")) {
			continue
		}
		for _, c := range append(lint(got), lintUntouched(s, turn, got)...) {
			complain("%s", c)
		}
	}
	return complaints
}

// differs compares with a want file; a file that is not there wants nothing.
func (s scenario) differs(turn int, name string, got []byte) string {
	want, err := os.ReadFile(s.file(turn, name))
	switch {
	case os.IsNotExist(err):
		want = nil
	case err != nil:
		return err.Error()
	}
	if bytes.Equal(got, want) {
		return ""
	}
	return s.file(turn, name) + " differs\n" + firstDifference(string(got), string(want))
}

// write keeps no file for nothing, so that a file's absence says something.
func write(t *testing.T, file string, b []byte) {
	t.Helper()
	if len(b) == 0 {
		os.Remove(file)
	} else if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// numbered returns the name of a file of the n-th exchange in a turn: upstream.json,
// upstream-2.json.
func numbered(name string, n int, ext string) string {
	if n == 1 {
		return name + "." + ext
	}
	return fmt.Sprintf("%s-%d.%s", name, n, ext)
}

func indent(body []byte) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(body), "", "  "); err != nil {
		return body, err
	}
	return append(b.Bytes(), '\n'), nil
}

// firstDifference shows the first line in which two texts differ: streams are long, and so are
// their lines.
func firstDifference(got, want string) string {
	const around = 400
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		one, other := "<end>", "<end>"
		if i < len(g) {
			one = g[i]
		}
		if i < len(w) {
			other = w[i]
		}
		if one == other {
			continue
		}
		at := 0
		for at < len(one) && at < len(other) && one[at] == other[at] {
			at++
		}
		cut := func(s string) string {
			from, to := max(0, at-around/2), min(len(s), at+around)
			return fmt.Sprintf("%q", s[from:to])
		}
		return fmt.Sprintf("line %d, byte %d\ngot  %s\nwant %s", i+1, at+1, cut(one), cut(other))
	}
	return ""
}
