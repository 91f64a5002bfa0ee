package transcript

import (
	"errors"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// A value is a part of a state that is being patched. It is either JSON text without surrounding
// white space (raw), or an object or list that was split into its parts.
type value struct {
	raw   string
	parts *parts // nil if raw has the value
}

// parts is one level of an object or a list: its members or elements, which are values themselves.
type parts struct {
	isList bool
	list   list
	object object
}

var (
	errNoPatch   = errors.New(textNotPatch)
	errNoPlace   = errors.New(textNoPlace)
	errTooMuch   = errors.New(textPatchTooLarge)
	errDifferent = errors.New(textTestFailed)
)

// A byteBudget is the number of bytes that patching a state may still process.
type byteBudget int

func (w *byteBudget) take(n int) error {
	if *w -= byteBudget(n); *w < 0 {
		return errTooMuch
	}
	return nil
}

// takeApart splits the value into its parts and returns them. It returns an error if the value is
// neither an object nor a list.
func (v *value) takeApart(w *byteBudget) (*parts, error) {
	if v.parts != nil {
		return v.parts, nil
	}
	if err := w.take(len(v.raw)); err != nil {
		return nil, err
	}
	p := &parts{}
	switch text := v.raw; {
	case strings.HasPrefix(text, "{"):
		m := agui.MembersIn(text)
		for m.Next() {
			name := m.Name()
			if strings.ContainsRune(name, '\uFFFD') {
				return nil, errNoPlace // U+FFFD may be any half of a surrogate pair
			}
			p.object.set(name, m.Key, value{raw: m.Value})
		}
		if !m.IsComplete() {
			return nil, errTooMuch // copies of a value into itself are nested too deep
		}
	case strings.HasPrefix(text, "["):
		p.isList = true
		gjson.Parse(text).ForEach(func(_, one gjson.Result) bool {
			p.list.push(value{raw: one.Raw})
			return true
		})
	default:
		return nil, errNoPlace
	}
	v.raw, v.parts = "", p
	return p, nil
}

// appendTo appends the JSON text of the value to dst. The result may have at most max bytes.
func (v *value) appendTo(dst []byte, max int) ([]byte, error) {
	if v.parts == nil {
		if len(dst)+len(v.raw) > max {
			return nil, errTooMuch
		}
		return append(dst, v.raw...), nil
	}
	opening, closing := byte('{'), byte('}')
	if v.parts.isList {
		opening, closing = '[', ']'
	}
	dst = append(dst, opening)
	begin := len(dst)
	err := v.parts.each(func(key string, one *value) (err error) {
		if len(dst) > begin {
			dst = append(dst, ',')
		}
		if !v.parts.isList {
			dst = append(append(dst, key...), ':')
		}
		dst, err = one.appendTo(dst, max)
		return err
	})
	return append(dst, closing), err
}

// each calls show for every part, in order. For a member of an object, key is the JSON text of its
// name; for an element of a list it is "".
func (p *parts) each(show func(key string, one *value) error) error {
	for c := range p.list.chunks {
		for n := range p.list.chunks[c] {
			if err := show("", &p.list.chunks[c][n]); err != nil {
				return err
			}
		}
	}
	for n := range p.object.members {
		if m := &p.object.members[n]; !m.gone {
			if err := show(m.key, &m.value); err != nil {
				return err
			}
		}
	}
	return nil
}

// part returns the part that a token of a path names, nil if there is no such part. The token is a
// name in an object or an index in a list.
func (p *parts) part(token string) *value {
	if !p.isList {
		return p.object.get(token)
	}
	if n, ok := index(token); ok && n < p.list.length {
		return p.list.at(n)
	}
	return nil
}

// index returns the list index that a token of a path means. The official client also accepts some
// other spellings, but not the same ones in every operation. index rejects these.
func index(token string) (int, bool) {
	if token == "" || len(token) > 9 || token[0] == '0' && len(token) > 1 || strings.Trim(token, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(token)
	return n, err == nil
}

// An object keeps its members in order. If a name occurs twice, its last value counts, at the
// position of the first, as with JSON.parse.
type object struct {
	members []objectMember
	places  map[string]int
	left    int // number of removed members
}

type objectMember struct {
	name, key string // key is the JSON text of name
	value     value
	gone      bool
}

func (o *object) get(name string) *value {
	if n, ok := o.places[name]; ok {
		return &o.members[n].value
	}
	return nil
}

func (o *object) set(name, key string, v value) {
	if n, ok := o.places[name]; ok {
		o.members[n].value = v
		return
	}
	if o.places == nil {
		o.places = map[string]int{}
	}
	o.places[name] = len(o.members)
	o.members = append(o.members, objectMember{name: name, key: key, value: v})
}

func (o *object) remove(name string) {
	n := o.places[name]
	delete(o.places, name)
	o.members[n] = objectMember{gone: true}
	if o.left++; o.left < 16 || o.left <= len(o.members)/2 {
		return
	}
	kept := o.members[:0]
	for _, m := range o.members {
		if !m.gone {
			o.places[m.name] = len(kept)
			kept = append(kept, m)
		}
	}
	clear(o.members[len(kept):])
	o.members, o.left = kept, 0
}

// A list has its elements in chunks, so that inserting an element at the front moves only few
// elements.
type list struct {
	chunks [][]value
	length int
}

const chunkLength = 1024

// find returns the chunk that contains the element n, and the index of the element in that chunk. n
// may also be the length of the list, to append an element.
func (l *list) find(n int) (chunk, at int) {
	for c := range l.chunks {
		if n < len(l.chunks[c]) || c == len(l.chunks)-1 {
			return c, n
		}
		n -= len(l.chunks[c])
	}
	return 0, 0
}

func (l *list) at(n int) *value {
	c, at := l.find(n)
	return &l.chunks[c][at]
}

func (l *list) push(v value) {
	if last := len(l.chunks) - 1; last < 0 || len(l.chunks[last]) == chunkLength {
		l.chunks = append(l.chunks, nil)
	}
	last := len(l.chunks) - 1
	l.chunks[last] = append(l.chunks[last], v)
	l.length++
}

func (l *list) insert(n int, v value) {
	if n == l.length {
		l.push(v)
		return
	}
	c, at := l.find(n)
	if len(l.chunks[c]) == chunkLength {
		half := append(make([]value, 0, chunkLength), l.chunks[c][chunkLength/2:]...)
		clear(l.chunks[c][chunkLength/2:])
		l.chunks[c] = l.chunks[c][:chunkLength/2]
		l.chunks = append(l.chunks, nil)
		copy(l.chunks[c+2:], l.chunks[c+1:])
		l.chunks[c+1] = half
		if at >= chunkLength/2 {
			c, at = c+1, at-chunkLength/2
		}
	}
	chunk := append(l.chunks[c], value{})
	copy(chunk[at+1:], chunk[at:])
	chunk[at] = v
	l.chunks[c] = chunk
	l.length++
}

func (l *list) remove(n int) {
	c, at := l.find(n)
	chunk := l.chunks[c]
	copy(chunk[at:], chunk[at+1:])
	chunk[len(chunk)-1] = value{}
	if l.chunks[c] = chunk[:len(chunk)-1]; len(chunk) == 1 {
		l.chunks = append(l.chunks[:c], l.chunks[c+1:]...)
	}
	l.length--
}
