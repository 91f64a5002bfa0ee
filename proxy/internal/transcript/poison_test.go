//go:build poison

package transcript

import (
	"bytes"
	"testing"
)

// TestRecordsAreOverwritten checks that dropping records overwrites their bytes in the poison build
// (make poison). If other code has kept these bytes without a copy, its tests then fail.
func TestRecordsAreOverwritten(t *testing.T) {
	var r records
	r.add([]byte(`{"a":1}`))
	var kept []byte
	r.each(func(json []byte) { kept = json })
	r.drop()
	if bytes.Contains(kept, []byte("a")) {
		t.Errorf("still there: %q", kept)
	}
}
