package proxy_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"holdpoint/translate"
	"holdpoint/translate/auto"
	"holdpoint/translate/dialects"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/phrases"
)

// TestOwnFormOfEveryDialect: a client knows the form in which Holdpoint sends a yes to a backend,
// and sends a request in this form by itself. The backend waits, and Holdpoint was restarted and
// has no record of the question. The backend must not act, wherever the form has its answer. So
// the method Answers of a dialect must read each field in which its backends read answers.
func TestOwnFormOfEveryDialect(t *testing.T) {
	for _, name := range dialects.All().Names()[1:] {
		for _, b := range dialecttest.Of(name) {
			t.Run(b.Name(), func(t *testing.T) {
				fewer(t, 1)
				rapid.Check(t, func(t *rapid.T) { ownForm(t, b) })
			})
		}
	}
}

func ownForm(t *rapid.T, b dialecttest.Backend) {
	asks := newChatter(t, b, dialects.All())
	if d, err := asks.list.New(b.Dialect, nil); err != nil {
		t.Fatal(err)
	} else if _, foreign := d.(translate.Foreign); foreign {
		return // a client's request never has the form of these backends
	}
	asks.send("", "ask")
	asks.answer(asks.pending, "yes", false, "end")
	at := slices.IndexFunc(asks.bodies, func(body []byte) bool { return b.Reads(body, 1, true) == dialecttest.Approves })
	if at < 0 || asks.did[1] != 1 {
		t.Fatalf("no request is a yes: %s", asks.bodies)
	}
	names := []string{b.Dialect, auto.Name}
	if b.Dialect == phrases.Name {
		names = names[:1] // under auto, phrases reads the history only where it has asked
	}
	for _, name := range names {
		c := newChatter(t, b, dialects.All())
		c.dialect = name
		c.restart()
		c.asked, c.waits = 1, 1
		c.post(string(asks.bodies[at]), "end")
		if c.violation != "" {
			t.Fatalf("HOLDPOINT_DIALECT=%s, and the client sends what Holdpoint would send for a yes: %s. "+
				"The method Answers of the dialect must read this answer", name, c.violation)
		}
	}
}
