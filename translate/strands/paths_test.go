package strands

import "testing"

// A glob that no path can match would let every request pass, past the record.
func TestPathsThatMatchNothing(t *testing.T) {
	for _, text := range []string{"//invocations", "/a/../b", "/./a", "invocations"} {
		var p Paths
		if err := p.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	var p Paths
	if err := p.UnmarshalText([]byte("/;/agents/*;/Invocations/")); err != nil || p.String() != "/;/agents/*;/invocations" {
		t.Error(p, err)
	}
}
