//go:build poison

package sse

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// TestFramesAreOverwritten: in the build of make poison, the Reader must overwrite a frame after
// its use, so that code that should have copied the frame fails.
func TestFramesAreOverwritten(t *testing.T) {
	for name, src := range map[string]io.Reader{
		"by the next Read": iotest.OneByteReader(bytes.NewReader([]byte("data: aaaa\n\n:\n\n"))),
		"by the end":       bytes.NewReader([]byte("data: aaaa\n\n")),
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(src, 0)
			f, err := r.Next()
			if err != nil || string(f.Raw) != "data: aaaa\n\n" {
				t.Fatalf("%q, %v", f.Raw, err)
			}
			if _, err := r.Next(); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			if bytes.Contains(f.Raw, []byte("aa")) {
				t.Errorf("still there: %q", f.Raw)
			}
		})
	}
}
