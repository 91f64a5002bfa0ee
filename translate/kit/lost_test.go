package kit

import (
	"fmt"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// TestLostIDs checks three rules for lost ids: the ids on record come first, the client can add
// only a limited number of ids, and ids that were cancelled earlier are left out.
func TestLostIDs(t *testing.T) {
	ended := func(interrupts ...agui.Interrupt) translate.EndedPause {
		return translate.EndedPause{Pause: agui.Pause{ID: "p", Interrupts: interrupts}}
	}
	many := make([]string, 3*MaxLost)
	for n := range many {
		many[n] = fmt.Sprint("m", n)
	}
	lost := agui.Interrupt{Native: "x", Object: []byte(`{}`), Private: []byte(`{"of":"o","natives":["a"]}`), CancelOnly: true}
	for name, c := range map[string]struct {
		request translate.Request
		more    []string
		want    string
	}{
		"nothing":                  {translate.Request{}, nil, ""},
		"the record's, and others": {translate.Request{EndedPauses: []translate.EndedPause{ended(agui.Interrupt{Native: "a"}, agui.Interrupt{Native: "not mine"})}, NamedInterrupts: []string{"b~bits", "c"}}, []string{"d", "a"}, "a b b~bits c d"},
		"tildes":                   {translate.Request{NamedInterrupts: []string{"~b", "c~d~e", "~"}}, nil, "~b c~d c~d~e ~"},
		"blanks":                   {translate.Request{NamedInterrupts: []string{"", " ", "\t~x"}}, []string{""}, "\t~x"},
		"cancelled before":         {translate.Request{EndedPauses: []translate.EndedPause{ended(lost), ended(agui.Interrupt{Native: "a"})}, NamedInterrupts: []string{"a~bits"}}, []string{"a"}, "a~bits"},
		"too many":                 {translate.Request{NamedInterrupts: many}, nil, strings.Join(many[:MaxLost], " ")},
	} {
		asked := func(_ *agui.Pause, i *agui.Interrupt) bool { return i.Native != "not mine" }
		if got := strings.Join(LostIDs(&c.request, asked, c.more...), " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestCancelsEnd checks that the number of tries to cancel is limited, whatever the backend
// answers.
func TestCancelsEnd(t *testing.T) {
	c := NewCancels(agui.Pause{Interrupts: []agui.Interrupt{{Native: "a"}, {Native: "a"}, {Native: "b"}}})
	if got := strings.Join(c.Open(), " "); got != "a b" {
		t.Fatalf("open %q", got)
	}
	if c.Drop("z") || !c.Drop("a") || c.Add("a") || c.Drop("b") {
		t.Errorf("open %q", c.Open())
	}
	tries := 0
	for c.Add(fmt.Sprint(tries)) || c.Keep([]string{"b"}) {
		if tries++; tries > 1000 {
			t.Fatal("it goes on for ever")
		}
	}
}
