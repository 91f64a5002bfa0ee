package proxy_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"

	golden "holdpoint/internal/scenario"
	"holdpoint/proxy"
)

var update = flag.Bool("update", false, "rewrite the want parts of testdata: go test ./proxy -run TestGolden -update")

// TestGolden plays every scenario of testdata with every delivery. With -update, the first delivery
// writes the want parts.
func TestGolden(t *testing.T) {
	failing := knownFailing(t)
	for at, s := range scenarios(t) {
		reason, known := failing[s.Name]
		delete(failing, s.Name)
		if known && *update {
			continue // its want parts show the right result, and are written by hand
		}
		t.Run(s.Name, func(t *testing.T) {
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

// play plays a scenario and returns all complaints, such as a difference from a want part.
func play(t *testing.T, s scenario, d delivery, update bool) (complaints []string) {
	t.Helper()
	stage := newStage(t, s, d)
	defer stage.close()
	wants := map[string][]byte{}
	for turn := 1; turn <= s.Turns; turn++ {
		complain := func(format string, args ...any) {
			complaints = append(complaints, fmt.Sprintf("turn %d: ", turn)+fmt.Sprintf(format, args...))
		}
		check := func(name string, got []byte) {
			if update {
				wants[name] = got
			} else if diff := s.differs(name, got); diff != "" {
				complain("%s", diff)
			}
		}
		stage.begin(turn)
		got := stage.post(s.request(turn))
		check(golden.Want(turn), got)
		for n, body := range stage.backend.sent {
			pretty, err := indent(body)
			if err != nil && len(body) > 0 { // a GET has no body
				complain("what was sent is no JSON: %v\n%s", err, body)
			}
			check(golden.Sent(turn, n+1), pretty)
			if stage.foreign {
				check(golden.Head(turn, n+1), stage.backend.head[n])
			}
		}
		check(golden.Store(turn), stage.record())
		for _, c := range stage.backend.complaints(turn, got) {
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
		for _, c := range append(lint(got), lintUntouched(s, turn, stage.backend.sent, got)...) {
			complain("%s", c)
		}
	}
	if update {
		if err := s.Save(wants); err != nil {
			complaints = append(complaints, err.Error())
		}
	}
	return complaints
}

// differs compares got with a want part. It returns "" if they are equal, and the first difference
// otherwise. If the scenario has no such part, got must be empty.
func (s scenario) differs(part string, got []byte) string {
	want := s.Part(part)
	if bytes.Equal(got, want) {
		return ""
	}
	return s.Path + ": " + part + " differs\n" + firstDifference(string(got), string(want))
}

func indent(body []byte) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(body), "", "  "); err != nil {
		return body, err
	}
	return append(b.Bytes(), '\n'), nil
}

// firstDifference returns the first line in which got and want differ, shortened, because streams
// and their lines are long.
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

// TestUnreachedExchangeSaysWhy: an exchange never reached the backend because Holdpoint refused the
// run. The complaint about the missing exchange must contain the code and the detail of the
// refusal.
func TestUnreachedExchangeSaysWhy(t *testing.T) {
	for got, want := range map[string]string{
		"": "",
		`data: {"type":"RUN_FINISHED","threadId":"t","runId":"r"}` + "\n\n":                                                                                "",
		`data: {"type":"RUN_FINISHED","metadata":{"holdpoint":{"refusal":{"code":"INVALID_PAYLOAD","text":"No.","detail":"no {\"approved\"}"}}}}` + "\n\n": `: Holdpoint refused the run: INVALID_PAYLOAD, no {"approved"}`,
		`data: {"type":"RUN_ERROR","code":"UNKNOWN_INTERRUPT_ID","message":"gone"}` + "\n\n":                                                               ": the run ended in RUN_ERROR: UNKNOWN_INTERRUPT_ID, gone",
	} {
		if text := refusalOf([]byte(got)); text != want {
			t.Errorf("%s: %q", got, text)
		}
	}
}
