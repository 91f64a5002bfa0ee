//go:build poison

package transcript

import (
	"bytes"
	"testing"
)

// TestRecordsAreOverwritten checks that the poison build overwrites dropped records, which makes a
// missing copy visible (make poison).
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
