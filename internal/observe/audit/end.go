package audit

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// A chainEnd describes what is at the end of a chain's file.
type chainEnd struct {
	empty   bool
	last    link
	torn    []byte // the bytes after the last complete line
	newline bool   // the last line is complete except for its newline
}

// errForeign is the error for a file that contains something other than a chain. Open refuses such
// a file and writes nothing to it.
var errForeign = errors.New(textForeign)

// readEnd finds the end of the chain in f. It reads f backwards until it finds a complete line.
func readEnd(f *os.File) (chainEnd, error) {
	info, err := f.Stat()
	if err != nil {
		return chainEnd{}, err
	}
	size := info.Size()
	if size == 0 {
		return chainEnd{empty: true}, nil
	}
	for want := int64(64 << 10); ; want *= 8 {
		want = min(want, size)
		tail := make([]byte, want)
		if _, err := f.ReadAt(tail, size-want); err != nil && !errors.Is(err, io.EOF) {
			return chainEnd{}, err
		}
		end, found := endOf(tail, want == size)
		switch {
		case found:
			return end, nil
		case want < size:
			continue
		case bytes.HasPrefix(tail, []byte(firstBytes[:min(len(firstBytes), len(tail))])):
			return chainEnd{last: link{hash: noPrevious}, torn: tail}, nil // the first line of the file is incomplete
		}
		return chainEnd{}, errForeign
	}
}

// firstBytes are the first bytes of every line.
const firstBytes = `{"v":1,"seq":`

// endOf finds the last complete line in tail, the end of a file. whole is true if tail is the whole
// file.
func endOf(tail []byte, whole bool) (end chainEnd, found bool) {
	for upTo := len(tail); upTo > 0; {
		from := bytes.LastIndexByte(tail[:upTo], '\n') + 1
		if from == 0 && !whole {
			return end, false
		}
		if n, ok := read(tail[from:upTo]); ok {
			end.last = link{n.Seq, hashOf(tail[from:upTo])}
			end.newline = upTo == len(tail)
			if !end.newline {
				end.torn = bytes.Clone(tail[upTo+1:])
			}
			return end, true
		}
		upTo = from - 1
	}
	return end, false
}
