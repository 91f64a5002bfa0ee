package stream

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/internal/sse"
)

// TestOutputIsInOrder: some frames are forwarded, some are dropped, and some are made by Holdpoint.
// The client must get the forwarded and the made frames in the right order, and no dropped frame. A
// frame must not change while it is being read.
func TestOutputIsInOrder(t *testing.T) {
	inRow := 0
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 8))
		text := func() string { return strings.Repeat("x", random.IntN([]int{5, 50, 500}[random.IntN(3)])) }
		var in bytes.Buffer
		frames := 2 + random.IntN(20)
		for n := range frames {
			fmt.Fprintf(&in, "data: {\"n\":%d,\"t\":\"%s\"}\n\n", n, text())
		}
		reader := sse.NewReader(&in, 0)
		o := Output{Frames: reader}
		var got, want []byte
		write := func() {
			made, row := o.Take()
			got = append(append(got, made...), row...)
			o.Clear()
		}
		for range frames {
			// sometimes skips a frame of the reader, as if it was forwarded in a row with others
			if ahead := reader.Buffered(); reader.Ready() && random.IntN(3) == 0 {
				end, from := bytes.Index(ahead, []byte("\n\n"))+2, reader.Pos()
				want = append(want, ahead[:end]...)
				reader.Skip(end)
				if o.AddPassed(from); !reader.Ready() {
					write()
				}
				continue
			}
			frame, err := reader.Next()
			if err != nil {
				t.Fatal(err)
			}
			as := slices.Clone(frame.Raw)
			o.Current = frame.Raw
			for range random.IntN(4) {
				if random.IntN(3) > 0 {
					o.Event(agui.Event{Frame: frame.Raw})
					want = append(want, as...)
					continue
				}
				ev := agui.Event{JSON: fmt.Appendf(nil, "{\"made\":%q}", text())}
				if random.IntN(2) == 0 {
					ev.Frame, ev.Edited = frame.Raw, true
				}
				borrowed := len(o.made)
				o.Event(ev)
				if len(o.made) == borrowed {
					inRow++
				}
				want = AppendEvent(want, ev)
				if !bytes.Equal(frame.Raw, as) {
					t.Fatalf("seed %d: the frame at hand is %q, was %q", seed, frame.Raw, as)
				}
			}
			if o.Current = nil; random.IntN(20) == 0 {
				o.Bytes([]byte(": c\n\n"))
				want = append(want, ": c\n\n"...)
			}
			if !reader.Ready() || random.IntN(20) == 0 {
				write()
			}
			if !bytes.HasPrefix(want, got) {
				t.Fatalf("seed %d\n%q\nwant\n%q", seed, got, want)
			}
		}
		if write(); !bytes.Equal(got, want) {
			t.Fatalf("seed %d\n%q\nwant\n%q", seed, got, want)
		}
	}
	if inRow < 300 {
		t.Errorf("%d events went into a row", inRow)
	}
}
