//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestStateDeltasAsTheClientAppliesThem: Holdpoint must apply a backend's STATE_DELTA events as the
// real client does. A client behind Holdpoint gets its state from the snapshot before the question.
// This state must equal the state of a client without Holdpoint.
func TestStateDeltasAsTheClientAppliesThem(t *testing.T) {
	t.Parallel()
	var deltas []string
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range append(append([]string{`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`}, deltas...),
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"confirm"}]}}`) {
			fmt.Fprintf(w, "data: %s\n\n", event)
		}
	}))
	t.Cleanup(backend.Close)
	h := ownHoldpoint(t, backend.URL, nil)
	told := 0
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 11))
		deltas = []string{`{"type":"STATE_SNAPSHOT","snapshot":{"a":{"b":[1,2,{"c":null}],"d~e":"x"},"f/g":[],"":0,"n":1.50}}`}
		for range 1 + random.IntN(8) {
			deltas = append(deltas, `{"type":"STATE_DELTA","delta":[`+operations(random)+`]}`)
		}
		// loose, because the client reports an error if it cannot apply a patch.
		straight := newClient(t, shared.direct, newest, backend.URL, fresh("state"), nil).run(t, step{say: "go", loose: true})
		through := newClient(t, shared.through, newest, h.address, fresh("state"), nil).run(t, step{say: "go", loose: true})
		if len(through.answer(t).of("STATE_SNAPSHOT")) > 1 {
			told++
		}
		want, _ := json.Marshal(straight.State)
		if got, _ := json.Marshal(through.State); !bytes.Equal(got, want) {
			t.Errorf("seed %d: the state is %s, want %s, of\n%s", seed, got, want, strings.Join(deltas, "\n"))
		}
	}
	if told < 15 {
		t.Errorf("only %d of 60 snapshots were told: nothing was compared", told)
	}
}

// operations returns one or two JSON Patch operations, with commas between them. Some of them can
// be applied to the state of this test, others cannot.
func operations(random *rand.Rand) string {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	place := func() string {
		return pick("/a", "/a/b", "/a/b/0", "/a/b/2/c", "/a/b/-", "/a/d~0e", "/f~1g", "/f~1g/-", "/f~1g/0", "/", "/n", "/x", "/x/y", "/a/new")
	}
	var list []string
	for range 1 + random.IntN(2) {
		value := pick("1", `"ü\n"`, "null", `{"y":[1]}`, "[]", `{"y":{"z":1}}`)
		switch op := pick("add", "add", "add", "add", "replace", "replace", "remove", "move", "copy", "copy", "test"); op {
		case "move", "copy":
			list = append(list, fmt.Sprintf(`{"op":%q,"from":%q,"path":%q}`, op, pick("/a/b", "/a", "/f~1g", "/n", "/a/b/0"), place()))
		case "replace":
			list = append(list, fmt.Sprintf(`{"op":"replace","path":%q,"value":%s}`, pick("/a/b/0", "/a/d~0e", "/n", "/", "/f~1g"), value))
		case "remove":
			list = append(list, fmt.Sprintf(`{"op":"remove","path":%q}`, pick("/a/b/1", "/a/b/0", "/n", "/x")))
		case "test":
			list = append(list, `{"op":"test","path":"/a/d~0e","value":"\u0078"}`)
		default:
			list = append(list, fmt.Sprintf(`{"op":"add","path":%q,"value":%s}`, place(), value))
		}
	}
	return strings.Join(list, ",")
}
