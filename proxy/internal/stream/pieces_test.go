package stream

import (
	"errors"
	"io"
	"strings"
	"testing"

	"holdpoint/translate"
)

// TestTextPiecesAreWholeCharacters: the bytes of a character arrive in two reads. The character
// must be returned whole. Invalid bytes must not be held back forever.
func TestTextPiecesAreWholeCharacters(t *testing.T) {
	src := io.MultiReader(strings.NewReader("a\xe2"), strings.NewReader("\x82"), strings.NewReader("\xac\xff"), strings.NewReader("b\xf0"))
	p := NewPieces(src, translate.Text, 1)
	var got []string
	for {
		piece, _, err := p.Next()
		if err != nil {
			break
		}
		if piece.Data != nil {
			got = append(got, string(piece.Data))
		}
	}
	if strings.Join(got, ",") != "a,€\xff,b,\xf0" {
		t.Errorf("%q", got)
	}
}

// TestCutPiecesAreDropped: a stream breaks off within a piece. This incomplete piece must not be
// returned.
func TestCutPiecesAreDropped(t *testing.T) {
	cut := errors.New("cut")
	for framing, head := range map[translate.Framing]string{translate.Frames: "data: x\n\ndata: y", translate.Lines: "x\ny"} {
		p := NewPieces(io.MultiReader(strings.NewReader(head), &failing{cut}), framing, 100)
		var got []string
		for {
			piece, _, err := p.Next()
			if err != nil {
				if !errors.Is(err, cut) {
					t.Error(err)
				}
				break
			}
			got = append(got, string(piece.Data))
		}
		if strings.Join(got, ",") != "x" {
			t.Errorf("%v: %q", framing, got)
		}
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }
