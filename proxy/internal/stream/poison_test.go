//go:build poison

package stream

import (
	"bytes"
	"strings"
	"testing"

	"holdpoint/internal/sse"
	"holdpoint/translate"
)

// TestOutputIsOverwritten checks that Clear overwrites the bytes of an Output in the poison build
// (make poison). If other code has kept these bytes without a copy, its tests then fail.
func TestOutputIsOverwritten(t *testing.T) {
	frames := sse.NewReader(strings.NewReader("data: {\"row\":1}\n\n"), 0)
	frame, err := frames.Next()
	if err != nil {
		t.Fatal(err)
	}
	o := Output{Frames: frames, Current: frame.Raw}
	o.Pass()
	_, row := o.Take()
	o.Clear()
	o.Bytes([]byte("made"))
	made, _ := o.Take()
	o.Clear()
	if bytes.Contains(row, []byte("row")) || bytes.Contains(made, []byte("made")) {
		t.Errorf("still there: %q, %q", row, made)
	}
}

// TestPiecesAreOverwritten checks that, in the poison build, reading a piece overwrites the piece
// that was read before.
func TestPiecesAreOverwritten(t *testing.T) {
	for framing, src := range map[translate.Framing]string{
		translate.Frames: "data: aaaa\n\n", translate.Lines: "aaaa\nb\n", translate.Text: "aaaa",
	} {
		pieces := NewPieces(strings.NewReader(src), framing, 1<<20)
		p, _, err := pieces.Next()
		if err != nil || string(p.Data) != "aaaa" {
			t.Fatalf("framing %v: %q, %v", framing, p.Data, err)
		}
		_, _, _ = pieces.Next()
		_, _, _ = pieces.Next()
		if bytes.Contains(p.Data, []byte("a")) {
			t.Errorf("framing %v: still there: %q", framing, p.Data)
		}
	}
}
