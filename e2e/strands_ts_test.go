//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Tests of Strands in TypeScript. The native servers are built as in Strands' documentation, behind
// a Holdpoint with HOLDPOINT_DIALECT=strands. The AG-UI adapter @ag-ui/aws-strands is behind a
// Holdpoint without any setting for it. A native server does not get the thread id, so a person's
// message contains it, as in "delete a.txt @thread" (see strands-ts/server.mjs).

// strandsTS has the process that serves all modes, and the two Holdpoints in front of it.
type strandsTS struct {
	server    *server
	raw, auto *holdpoint
}

func setUpStrandsTS(servers []*server) error {
	at := slices.IndexFunc(servers, func(s *server) bool { return s.framework == "strands-ts" })
	if at < 0 { // E2E_FRAMEWORKS leaves these tests out
		return nil
	}
	one := &strandsTS{server: servers[at]}
	shared.strands = one
	var err error
	if one.auto, err = startHoldpoint("auto strands-ts", one.server.base(), nil); err != nil {
		return err
	}
	one.raw, err = startHoldpoint("strands strands-ts", one.server.base(), asStrands())
	return err
}

// asStrands returns the environment of a Holdpoint in front of a native server.
func asStrands() map[string]string { return map[string]string{"HOLDPOINT_DIALECT": "strands"} }

// world returns a world whose backend is one mode of the server.
func (s *strandsTS) world(mode, version string) world {
	b := &backend{name: mode, mode: mode, server: s.server}
	w := world{b: b, h: s.auto, version: version}
	if w.raw() {
		w.h = s.raw
	}
	return w
}

// eachStrands runs test for each mode and each client version that reads the outcome.
func eachStrands(t *testing.T, modes []string, test func(t *testing.T, w world)) {
	t.Helper()
	for _, mode := range modes {
		for _, version := range []string{newest, pinned} {
			t.Run(mode+"/client-"+version, func(t *testing.T) {
				t.Parallel()
				test(t, shared.strands.world(mode, version))
			})
		}
	}
}

// raw reports whether the mode sends Strands' native stream. If it does, the dialect must be
// configured.
func (w world) raw() bool { return !strings.HasPrefix(w.b.mode, "agui/") }

// person returns a new client on a new thread.
func (w world) person(t *testing.T) *client {
	t.Helper()
	return w.client(t, w.b.mode)
}

// wants returns a step that sends the message say, with the thread id appended.
func (c *client) wants(say string) step { return step{say: say + " @" + c.thread} }

// deleted checks that the tool deleted exactly these files on the thread, each by one call, and
// that the other files still exist.
func (w world) deleted(t *testing.T, c *client, files ...string) {
	t.Helper()
	l := w.b.ledger(t, c.thread)
	var got, left []string
	for _, e := range l.Effects {
		if e.Name == "delete_files" {
			got = append(got, fmt.Sprint(e.Args["paths"].([]any)...))
		}
	}
	for _, file := range []string{"a.txt", "b.txt", "c.txt"} {
		if !slices.Contains(files, file) {
			left = append(left, file)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, files) || !slices.Equal(l.Files, left) {
		t.Errorf("deleted %q, want %q; left are %q", got, files, l.Files)
	}
}

// shown checks that a provider would have accepted all input that the model got on the thread.
func (w world) shown(t *testing.T, c *client) {
	t.Helper()
	for n, seen := range w.b.ledger(t, c.thread).Seen {
		if len(seen.Complaints) > 0 {
			t.Errorf("the model was asked for the %d. time with what a provider refuses: %q", n+1, seen.Complaints)
		}
	}
}
