//go:build poison

package transcript

import (
	"bytes"
	"testing"
)

// TestRecordsAreOverwritten checks that dropped records are overwritten in the poison build (make
// poison). That makes a missing copy visible.
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
