package transcript

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"

	"holdpoint/internal/build/poison"
	"holdpoint/internal/build/without"
)

// records keeps events unparsed until they are folded. Each record is the length of the event in
// four bytes, followed by its JSON. Records are in slabs, which are borrowed from pools and
// returned. So nothing is copied when records are added, and a stream that keeps little uses little
// memory.
//
// Measured with one growing slice in place of the slabs: 1.7 × the CPU time in the benchmark
// blast-1, 2.6 × in blast-usual, and 87 kB more for a stream in idle-said.
type records struct {
	slabs []*slab
	size  int  // total size in bytes
	last  int  // index at which the last record begins in its slab
	open  bool // the last record has no length and no deltaTail yet, and its text may grow
}

type slab struct {
	b    []byte
	size int // an index in slabSizes; -1 if made for one record
}

// slabSizes has the sizes of a stream's first slab, its second one, and all later ones. Measured
// without the pools: 1.3 × the CPU time in the benchmark blast-usual.
var (
	slabSizes = [...]int{512, 8 << 10, 64 << 10}
	slabs     [len(slabSizes)]sync.Pool
)

const lengthBytes = 4

// add appends a record.
func (r *records) add(json []byte) {
	r.close()
	s := r.room(lengthBytes + len(json))
	s.b = binary.LittleEndian.AppendUint32(s.b, uint32(len(json)))
	s.b = append(s.b, json...)
	r.size += lengthBytes + len(json)
}

// begin appends a record of an event up to its text (head), and the text, which extend may
// continue.
func (r *records) begin(head, text []byte) {
	r.close()
	s := r.room(lengthBytes + len(head) + len(text) + len(deltaTail))
	r.last, r.open = len(s.b), true
	s.b = append(append(append(s.b, "----"...), head...), text...)
	r.size += lengthBytes + len(head) + len(text) + len(deltaTail)
}

// extend appends to the text of the last record. It returns false if that record is not open, or if
// its slab is full.
func (r *records) extend(text []byte) bool {
	if !r.open {
		return false
	}
	s := r.slabs[len(r.slabs)-1]
	if cap(s.b)-len(s.b) < len(text)+len(deltaTail) && !without.Slabs {
		return false
	}
	s.b = append(s.b, text...)
	r.size += len(text)
	return true
}

// close ends the last record.
func (r *records) close() {
	if r.open {
		s := r.slabs[len(r.slabs)-1]
		s.b = append(s.b, deltaTail...)
		binary.LittleEndian.PutUint32(s.b[r.last:], uint32(len(s.b)-r.last-lengthBytes))
		r.open = false
	}
}

// room returns a slab with at least n free bytes.
func (r *records) room(n int) *slab {
	if k := len(r.slabs); k > 0 && cap(r.slabs[k-1].b)-len(r.slabs[k-1].b) >= n {
		return r.slabs[k-1]
	}
	if without.Slabs && len(r.slabs) > 0 {
		r.slabs[0].b = slices.Grow(r.slabs[0].b, n)
		return r.slabs[0]
	}
	s := newSlab(n, min(len(r.slabs), len(slabSizes)-1))
	r.slabs = append(r.slabs, s)
	return s
}

// newSlab returns a slab of the size with that index, or of a larger one if n bytes need it.
func newSlab(n, size int) *slab {
	if without.Slabs {
		return &slab{b: make([]byte, 0, max(n, slabSizes[0])), size: -1}
	}
	for size < len(slabSizes) && n > slabSizes[size] {
		size++
	}
	if size == len(slabSizes) {
		return &slab{b: make([]byte, 0, n), size: -1}
	}
	if s, ok := slabs[size].Get().(*slab); ok && !without.SlabPool {
		return s
	}
	return &slab{b: make([]byte, 0, slabSizes[size]), size: size}
}

// each calls show with the JSON of every record, in order. The JSON is valid during the call.
func (r *records) each(show func(json []byte)) {
	r.close()
	for _, s := range r.slabs {
		for rest := s.b; len(rest) > 0; {
			end := lengthBytes + binary.LittleEndian.Uint32(rest)
			show(rest[lengthBytes:end])
			rest = rest[end:]
		}
	}
}

// count returns the number of bytes c in all records.
func (r *records) count(c byte) (n int) {
	for _, s := range r.slabs {
		n += bytes.Count(s.b, []byte{c})
	}
	return n
}

// drop removes all records, and returns their slabs.
func (r *records) drop() {
	for _, s := range r.slabs {
		poison.Bytes(s.b)
		if s.size >= 0 {
			s.b = s.b[:0]
			slabs[s.size].Put(s)
		}
	}
	r.slabs, r.size, r.open = nil, 0, false
}
