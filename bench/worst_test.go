package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"net/http"
	"net/http/httptest"
)

// TestWorstInputsAreWhole: the streams of every input must consist of valid events, and its bodies
// must have about the right size.
func TestWorstInputsAreWhole(t *testing.T) {
	var names []string
	for _, one := range worsts() {
		if slices.Contains(names, one.name) {
			t.Errorf("two rows are named %s", one.name)
		}
		names = append(names, one.name)
		if one.runStream == nil && one.request == nil {
			t.Errorf("%s costs nothing", one.name)
		}
		for what, stream := range map[string]func(int) []byte{"says": one.runStream, "asks": one.pauseStream} {
			if stream == nil {
				continue
			}
			for n, f := range strings.Split(strings.TrimSuffix(string(stream(10<<10)), "\n\n"), "\n\n") {
				if event, ok := strings.CutPrefix(f, "data: "); !ok || !json.Valid([]byte(event)) {
					t.Fatalf("%s %s: frame %d is %q", one.name, what, n, f)
				}
			}
		}
		if one.request != nil {
			if b := one.request(10<<10, "t", []string{"i"}); !bytes.HasPrefix(b, []byte(`{"threadId":"t"`)) || len(b) > 12<<10 {
				t.Errorf("%s: a body of %d bytes, %.60q", one.name, len(b), b)
			}
		}
	}
}

func TestOriginSaysTheRow(t *testing.T) {
	origin := newOrigin()
	for path, want := range map[string]string{
		"/worst/calls?bytes=1000":           "TOOL_CALL_START",
		"/worst/messages?bytes=1000":        "RUN_FINISHED",
		"/worst/none?bytes=1":               "no such row",
		"/worst/calls":                      "no size",
		"/worst/calls?bytes=10&part=asks":   "RUN_FINISHED",
		"/worst/history?bytes=1":            "interrupt",
		"/worst/deltas-grow?bytes=10000000": "new100000",
	} {
		w := httptest.NewRecorder()
		origin.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader("{}")))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %.300s", path, w.Body)
		}
	}
}
