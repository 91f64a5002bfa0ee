package strands

import (
	"slices"
	"testing"
)

// TestPathsThatMatchNothing: no path of a request can match the pattern. The dialect must refuse
// the pattern, because otherwise Holdpoint would forward all requests untranslated.
func TestPathsThatMatchNothing(t *testing.T) {
	for _, text := range []string{`["//invocations"]`, `["/a/../b"]`, `["/./a"]`, `["/ok","invocations"]`} {
		var p Paths
		if err := p.read([]byte(text)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	var p Paths
	if err := p.read([]byte(`["/","/agents/*","/Invocations/"]`)); err != nil || !slices.Equal(p, []string{"/", "/agents/*", "/invocations"}) {
		t.Error(p, err)
	}
}
