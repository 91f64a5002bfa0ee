//go:build poison

package transcript

import (
	"bytes"
	"testing"
)

// TestRecordsAreOverwritten: the net under which a missing copy is seen (make poison) is there.
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
