package dialects

import (
	"slices"
	"strings"
	"testing"

	"holdpoint/translate"
	"holdpoint/translate/langgraph"
)

func TestNew(t *testing.T) {
	if got := Names(); !slices.Equal(got, []string{"auto", "agent-framework", "agui", "draft", "langgraph", "request-approval"}) {
		t.Errorf("names %q", got)
	}
	for _, name := range Names() {
		d, err := New(name, Options{})
		if err != nil || d.Name() != name {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
	if _, err := New("martian", Options{}); err == nil || !strings.Contains(err.Error(), "auto, agent-framework, agui, draft, langgraph, request-approval") {
		t.Errorf("an unknown dialect: %v", err)
	}
	if _, err := New("auto", Options{LangGraph: langgraph.Options{Cancel: translate.JSON("no")}}); err == nil {
		t.Error("an option that is wrong was taken")
	}
}

// auto asks in this order; agui takes every outcome and must come last.
func TestOrder(t *testing.T) {
	var names []string
	for _, e := range entries() {
		names = append(names, e.name)
	}
	if !slices.Equal(names, []string{"agent-framework", "langgraph", "request-approval", "draft", "agui"}) {
		t.Errorf("order %q", names)
	}
}
