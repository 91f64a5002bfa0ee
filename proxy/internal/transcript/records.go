package transcript

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"

	"holdpoint/internal/build/poison"
	"holdpoint/internal/build/without"
)

// records keeps events unparsed until they are folded into messages and state. Each record consists
// of the length of the event in four bytes, and the JSON of the event. The records are stored in
// slabs, which are borrowed from pools and returned. So adding a record copies no earlier record,
// and a stream that keeps few events uses little memory.
//
// With one growing slice instead of slabs, the benchmark blast-1 takes 1.7 × the CPU time, and
// blast-usual 2.6 ×, and each stream in idle-said uses 87 kB more.
type records struct {
	slabs []*slab
	size  int // total size in bytes
	last  int // index of the last record in its slab
	// The last record has no length and no deltaTail yet, because its text may still be extended.
	open bool
}

type slab struct {
	b    []byte
	size int // index in slabSizes; -1 if the slab was made for one large record
}

// slabSizes has the sizes in bytes of the first slab of a stream, its second slab, and all later
// slabs. Without the pools, the benchmark blast-usual takes 1.3 × the CPU time.
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

// begin appends a record of an event that has a piece of text. head is the event up to the text.
// The method extend can then append to the text.
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

// close completes the last record, if its text could still be extended.
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

// newSlab returns a slab of the size slabSizes[size], or a larger slab if n bytes do not fit into
// it.
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

// each calls show for every record, in order, with the JSON of its event. The JSON is valid only
// during the call.
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

// count returns how often the byte c occurs in all records.
func (r *records) count(c byte) (n int) {
	for _, s := range r.slabs {
		n += bytes.Count(s.b, []byte{c})
	}
	return n
}

// drop removes all records, and returns their slabs to the pools.
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
