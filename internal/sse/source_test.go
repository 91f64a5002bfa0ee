package sse

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// packets is a Source that behaves like a connection. Read returns bytes of the packet that has
// arrived. When this packet is used up, Read waits for the next one.
type packets struct {
	t    *testing.T
	come [][]byte
	full bool      // the last Read has filled its buffer
	held func(int) // called with the size of the Reader's buffer when the source waits
	r    *Reader
}

func (p *packets) Read(b []byte) (int, error) {
	if len(p.come) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.come[0])
	if p.come[0] = p.come[0][n:]; len(p.come[0]) == 0 {
		p.come = p.come[1:]
	}
	p.full = n == len(b)
	return n, nil
}

// More returns a size only in the middle of a long packet, and otherwise 0.
func (p *packets) More() int {
	if len(p.come) > 0 && len(p.come[0]) >= 1000 {
		return len(p.come[0]) / 2
	}
	return 0
}

func (p *packets) Wait() {
	if p.full {
		p.t.Error("waited behind a Read that was filled: there may be more already")
	}
	if p.held != nil {
		p.held(len(p.r.buf))
	}
}

// packetsOf splits s into packets of random length.
func packetsOf(s string, random *rand.Rand) (list [][]byte) {
	for len(s) > 0 {
		n := min(len(s), 1+random.IntN(1<<random.IntN(19)))
		list, s = append(list, []byte(s[:n])), s[n:]
	}
	return list
}

// TestSource: if a Source returns a stream in packets, the frames must be the same as those of the
// stream in one piece. If the Source waits after a complete frame, the Reader must hold no buffer.
func TestSource(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		var in strings.Builder
		for range random.IntN(2000) {
			in.WriteString([]string{frame200, ": c\n\n", "data: x\r\n\r\n", "event: e\ndata: 1\ndata: 2\n\n", "data: " + strings.Repeat("y", random.IntN(3000)) + "\n\n"}[random.IntN(5)])
		}
		if seed%5 == 0 {
			in.WriteString("data: " + strings.Repeat("z", 3<<20) + "\n\ndata: rest")
		}
		want, wantErr := takeAll(strings.NewReader(in.String()), 0)
		src := &packets{t: t, come: packetsOf(in.String(), random)}
		src.r = NewReader(src, 0)
		src.held = func(n int) {
			if pending := src.r.end - src.r.start; pending == 0 && n > 0 {
				t.Errorf("seed %d: %d bytes are held in a wait", seed, n)
			}
		}
		for n := 0; ; n++ {
			f, err := src.r.Next()
			if len(f.Raw) > 0 && string(f.Raw) != want[n].raw {
				t.Fatalf("seed %d: frame %d is %.100q, want %.100q", seed, n, f.Raw, want[n].raw)
			}
			if err != nil {
				if rest := len(want) - n; err != wantErr || rest > 1 || rest == 1 && len(f.Raw) == 0 {
					t.Errorf("seed %d: %v after %d of %d frames", seed, err, n, len(want))
				}
				break
			}
		}
	}
}

// TestAheadAndSkip: the caller finds some frames itself and skips them. The other frames must stay
// the same, whatever calls are made in between. Returned and skipped frames must be adjacent in one
// slice.
func TestAheadAndSkip(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 2))
		var in strings.Builder
		for range 1 + random.IntN(60) {
			in.WriteString([]string{frame200, frame200, "data: y\n\n", "data: x\r\n\r\n", "data: x\r\r", ": c\ndata: 1\ndata: 2\n\n", "\n"}[random.IntN(7)])
		}
		r := NewReader(&packets{t: t, come: packetsOf(in.String(), random)}, 0)
		var got []byte
		row, to := -1, 0 // beginning and end of the frames after the last Read
		for {
			if random.IntN(2) == 0 {
				r.Ready()
			}
			if ahead := r.Buffered(); bytes.HasPrefix(ahead, []byte(frame200)) && random.IntN(4) > 0 {
				if bytes.IndexByte(ahead, '\r') >= 0 {
					t.Fatal("a CR ahead")
				}
				n := len(frame200)
				if two := frame200 + frame200; bytes.HasPrefix(ahead, []byte(two)) && random.IntN(2) == 0 {
					n = len(two)
				}
				if row < 0 {
					row = r.Pos()
				}
				r.Skip(n)
				to = r.Pos()
				continue
			}
			if !r.Ready() && row >= 0 {
				got = append(got, r.Slice(row, to)...)
				row = -1
			}
			f, err := r.Next()
			if err != nil {
				got = append(got, f.Raw...)
				break
			}
			if _, ok := f.Data(nil); !ok && bytes.HasPrefix(f.Raw, []byte("data")) {
				t.Fatalf("seed %d: no data in %q", seed, f.Raw)
			}
			if row < 0 {
				row = r.Pos() - len(f.Raw)
			}
			to = r.Pos()
		}
		if string(got) != in.String() {
			t.Fatalf("seed %d: got\n%q\nwant\n%q", seed, got, in.String())
		}
	}
}
