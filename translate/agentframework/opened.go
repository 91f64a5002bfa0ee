package agentframework

import "slices"

// maxOpened bounds the number of ids in openItems. If there are more, the older half is forgotten.
// Real backends need only a handful.
const maxOpened = 4096

// openItems are the ids of texts or calls that have begun and not ended, in the order in which they
// began. The memory of an ended id is reused for the next id, so the many texts and calls of a long
// stream do not allocate.
type openItems struct{ ids [][]byte }

func (o *openItems) begin(id string) {
	o.end(id)
	if len(o.ids) == maxOpened {
		o.ids = slices.Delete(o.ids, 0, maxOpened/2)
	}
	n := len(o.ids)
	o.ids = slices.Grow(o.ids, 1)[:n+1]
	o.ids[n] = append(o.ids[n][:0], id...)
}

func (o *openItems) end(id string) {
	at := o.find(id)
	if at < 0 {
		return
	}
	ended, last := o.ids[at], len(o.ids)-1
	copy(o.ids[at:], o.ids[at+1:])
	o.ids[last] = ended
	o.ids = o.ids[:last]
}

func (o *openItems) holds(id string) bool { return o.find(id) >= 0 }

func (o *openItems) find(id string) int {
	return slices.IndexFunc(o.ids, func(open []byte) bool { return string(open) == id })
}
