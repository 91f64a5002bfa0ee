package agentframework

import (
	"slices"
	"strconv"
	"testing"
)

func (o *openItems) list() (ids []string) {
	for _, id := range o.ids {
		ids = append(ids, string(id))
	}
	return ids
}

func TestOpened(t *testing.T) {
	var o openItems
	for n, step := range []struct {
		begin, end string
		want       []string
	}{
		{"a", "", []string{"a"}},
		{"bb", "", []string{"a", "bb"}},
		{"ccc", "", []string{"a", "bb", "ccc"}},
		{"", "x", []string{"a", "bb", "ccc"}},
		{"", "a", []string{"bb", "ccc"}},
		{"d", "", []string{"bb", "ccc", "d"}},
		{"bb", "", []string{"ccc", "d", "bb"}}, // an id that begins again moves to the end
		{"", "bb", []string{"ccc", "d"}},
		{"", "ccc", []string{"d"}},
		{"eeeeeeee", "d", []string{"eeeeeeee"}},
	} {
		if step.begin != "" {
			o.begin(step.begin)
		}
		if step.end != "" {
			o.end(step.end)
		}
		if got := o.list(); !slices.Equal(got, step.want) || o.holds("a") != slices.Contains(got, "a") {
			t.Fatalf("step %d: %q, want %q", n, got, step.want)
		}
	}
}

// TestOpenedIsBounded: if a backend never ends its messages, the number of remembered ids must be
// bounded, and the newest ids are kept.
func TestOpenedIsBounded(t *testing.T) {
	var o openItems
	const last = 3 * maxOpened
	for n := range last + 1 {
		o.begin(strconv.Itoa(n))
	}
	if len(o.ids) > maxOpened || !o.holds(strconv.Itoa(last)) || !o.holds(strconv.Itoa(last-maxOpened/2+1)) || o.holds("0") {
		t.Errorf("%d are known", len(o.ids))
	}
}
