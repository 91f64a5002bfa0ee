package agui

import (
	"fmt"
	"hash/maphash"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// A KeyPlace says what a JSON text, or an object in it, is for. It decides how the keys of an
// object are compared.
type KeyPlace uint8

// The values for whole texts. In every object the decoded keys must differ. In an object on which
// Holdpoint or a backend acts, SameKey must also report false for each two keys, because backends
// match keys in any case or without underscores.
const (
	// KeysOfData: the text is data, such as state, schemas and arguments. An object may have both
	// id and ID as keys.
	KeysOfData KeyPlace = iota
	// KeysOfRun: the text is a run. Holdpoint or a backend acts on its root, its messages with
	// their calls and approvals, its tools and its answers.
	KeysOfRun
	// KeysOfAnswer: the text is an answer, or contains answers. Holdpoint or a backend acts on all
	// of it, except for the data in an answer.
	KeysOfAnswer

	// The values for objects inside a run.
	keysOfMessage
	keysOfCall
	keysOfFunction
	keysOfTool
	keysOfProps
	keysOfCommand
	keysOfEcho
)

// actedOn reports whether the keys of an object at the place p must also differ for SameKey.
func (p KeyPlace) actedOn() bool { return p != KeysOfData && p != keysOfProps }

// A placedKey is a key with the place of its value, if that is not the default of the object.
type placedKey struct {
	name  string
	place KeyPlace
}

// The keys whose values have a place of their own, listed by the place of their object. The value
// of any other key has the default that placeIn returns.
var (
	placesInRun     = []placedKey{{"messages", keysOfMessage}, {"tools", keysOfTool}, {"resume", KeysOfAnswer}, {"forwardedProps", keysOfProps}}
	placesInMessage = []placedKey{{"toolCalls", keysOfCall}, {"function_approvals", KeysOfAnswer}}
	placesInCall    = []placedKey{{"function", keysOfFunction}}
	placesInProps   = []placedKey{{"resume", KeysOfAnswer}, {"command", keysOfCommand}}
	placesInCommand = []placedKey{{"resume", KeysOfAnswer}, {"interruptEvent", keysOfEcho}}
	placesInEcho    = []placedKey{{"interrupts", keysOfEcho}}
	// The keys in an answer whose values are data, such as arguments, and the input of a person.
	placesInAnswer = []placedKey{
		{"args", KeysOfData}, {"arguments", KeysOfData}, {"editedArgs", KeysOfData}, {"values", KeysOfData}, {"content", KeysOfData},
		{"state", KeysOfData}, {"schema", KeysOfData}, {"responseSchema", KeysOfData}, {"parameters", KeysOfData}, {"metadata", KeysOfData},
	}
)

// placeIn returns the place of the value of key in an object at the place p.
func (p KeyPlace) placeIn(key string) KeyPlace {
	var list []placedKey
	other := KeysOfData
	switch p {
	case KeysOfRun:
		list = placesInRun
	case keysOfMessage:
		list = placesInMessage
	case keysOfCall, keysOfTool:
		list = placesInCall
	case keysOfProps:
		list = placesInProps
	case keysOfCommand:
		list = placesInCommand
	case keysOfEcho:
		list = placesInEcho
	case KeysOfAnswer:
		list, other = placesInAnswer, KeysOfAnswer
	}
	for _, one := range list {
		if SameKey(one.name, key) {
			return one.place
		}
	}
	return other
}

// A KeyTwiceError reports a repeated key, or two different keys that some backend reads as one key.
type KeyTwiceError struct {
	Key, Other string // decoded; they are equal if a key is repeated
	Place      string // the path of the object, "" for the root
}

// Error returns a message with the key and the path of its object.
func (e *KeyTwiceError) Error() string {
	where := ""
	if e.Place != "" {
		where = " in " + e.Place
	}
	if e.Key == e.Other {
		return fmt.Sprintf(textKeyTwice, e.Key, where)
	}
	return fmt.Sprintf(textKeysAlike, e.Key, e.Other, where)
}

// CheckKeys returns a KeyTwiceError for the first repeated key in an object of the text. A repeated
// key is an error because some readers use the first of two equal keys, and others the last. The
// text must be valid JSON that is nested at most MaxDepth deep. The cost is linear in the size of
// the text. CheckKeys keeps in memory only the keys of the objects around the current position.
func CheckKeys(json []byte, place KeyPlace) error {
	return CheckKeysIn(unsafe.String(unsafe.SliceData(json), len(json)), place)
}

// CheckKeysIn is like CheckKeys, for a string.
func CheckKeysIn(text string, place KeyPlace) error {
	if uint64(len(text)) > math.MaxUint32 {
		return fmt.Errorf(textTooLongToCompare, len(text))
	}
	s := &keyScan{text: text}
	s.entries, s.open, s.word = s.first.entries[:0], s.first.open[:0], s.first.word[:0]
	if twice := s.run(place); twice != nil {
		return twice
	}
	return nil
}

// fewKeys is the largest number of keys of an object that are compared pair by pair. For an object
// with more keys, a hash table is used.
const fewKeys = 16

// keySeed makes the hashes random, so that a sender cannot choose keys with equal hashes.
var keySeed = maphash.MakeSeed()

// A keyScan compares the keys of all objects of a text in one pass.
type keyScan struct {
	text    string
	open    []keyObject // the objects and arrays around the current position
	entries []keyEntry  // the keys of the open objects; those of the innermost object come last
	// slots is a hash table with linear probing. A slot has the index of an entry plus one, or 0.
	// The table has the keys of objects with more than fewKeys keys. Keys that were inserted last
	// are removed first, so a removed slot needs no mark.
	slots []uint32
	used  int
	word  []byte // the current key in the form in which keys are compared
	other []byte
	first struct { // initial memory, enough for an ordinary text
		entries [48]keyEntry
		open    [12]keyObject
		word    [64]byte
	}
}

// A keyObject is an object or an array that the scan has opened and not closed.
type keyObject struct {
	keys       uint32 // index of its first key in entries
	begin, end uint32 // bounds of its latest key
	index      uint32 // index of its current member or element
	place      KeyPlace
	object     bool
	large      bool // its keys are in slots
	wantsKey   bool
}

// A keyEntry is a key of an open object.
type keyEntry struct {
	begin uint32 // position of its first quote
	hash  uint32 // the hash also depends on the object
}

func (s *keyScan) run(place KeyPlace) *KeyTwiceError {
	text := s.text
	for i := 0; i < len(text); {
		switch text[i] {
		case '"':
			n := len(s.open) - 1
			if n < 0 || !s.open[n].wantsKey {
				if i = skipString(text, i+1); i < 0 {
					return nil
				}
				continue
			}
			end, escaped := stringEnd(text, i+1)
			if end < 0 {
				return nil
			}
			if twice := s.key(&s.open[n], i, end, escaped); twice != nil {
				return twice
			}
			i = end
			continue
		case '{', '[':
			s.enter(text[i] == '{', place)
		case '}', ']':
			if len(s.open) == 0 {
				return nil
			}
			s.closeObject()
		case ',':
			if n := len(s.open) - 1; n >= 0 {
				s.open[n].index++
				s.open[n].wantsKey = s.open[n].object
			}
		}
		i++
	}
	return nil
}

// enter opens an object or an array. The parameter object says which of the two it is, and root is
// the place of the outermost value.
func (s *keyScan) enter(object bool, root KeyPlace) {
	place := root
	if n := len(s.open) - 1; n >= 0 {
		around := &s.open[n]
		if place = around.place; around.object && place != KeysOfData {
			place = place.placeIn(decodeKey(s.text[around.begin:around.end]))
		}
	}
	s.open = append(s.open, keyObject{keys: uint32(len(s.entries)), place: place, object: object, wantsKey: object})
}

// closeObject closes the innermost object or array.
func (s *keyScan) closeObject() {
	n := len(s.open) - 1
	o := &s.open[n]
	if o.large {
		mask := uint32(len(s.slots) - 1)
		for at := len(s.entries) - 1; at >= int(o.keys); at-- {
			slot := s.entries[at].hash & mask
			for s.slots[slot] != uint32(at+1) {
				slot = (slot + 1) & mask
			}
			s.slots[slot] = 0
		}
		s.used -= len(s.entries) - int(o.keys)
	}
	s.entries = s.entries[:o.keys]
	s.open = s.open[:n]
}

// key compares a key with the other keys of the innermost object, and adds it to them.
func (s *keyScan) key(o *keyObject, begin, end int, escaped bool) *KeyTwiceError {
	o.wantsKey, o.begin, o.end = false, uint32(begin), uint32(end)
	var sum uint64
	if name := s.text[begin+1 : end-1]; escaped || o.place.actedOn() || !utf8.ValidString(name) {
		s.word = appendKey(s.word[:0], s.text[begin:end], o.place.actedOn())
		sum = maphash.Bytes(keySeed, s.word)
	} else {
		sum = maphash.String(keySeed, name)
	}
	e := keyEntry{begin: uint32(begin), hash: uint32(sum) ^ uint32(sum>>32) ^ o.keys*0x9e3779b1}
	if o.large {
		return s.addKey(o, e)
	}
	for n := range s.entries[o.keys:] {
		if before := &s.entries[int(o.keys)+n]; before.hash == e.hash && s.sameKey(o, before, &e) {
			return s.duplicateKeyError(before, &e)
		}
	}
	s.add(e)
	if len(s.entries)-int(o.keys) > fewKeys {
		s.growSlots(len(s.entries) - int(o.keys)) // also inserts the keys of other large objects again
		for at := int(o.keys); at < len(s.entries); at++ {
			s.insertSlot(at)
		}
		o.large = true
	}
	return nil
}

// addKey is like key, for an object whose keys are in slots.
func (s *keyScan) addKey(o *keyObject, e keyEntry) *KeyTwiceError {
	s.growSlots(1)
	mask := uint32(len(s.slots) - 1)
	for slot := e.hash & mask; s.slots[slot] != 0; slot = (slot + 1) & mask {
		at := s.slots[slot] - 1
		if before := &s.entries[at]; at >= o.keys && before.hash == e.hash && s.sameKey(o, before, &e) {
			return s.duplicateKeyError(before, &e)
		}
	}
	s.add(e)
	s.insertSlot(len(s.entries) - 1)
	return nil
}

// add appends an entry. It never makes room for more entries than there can be keys in the rest of
// the text.
func (s *keyScan) add(e keyEntry) {
	if len(s.entries) == cap(s.entries) {
		const least = len(`"a":0,`)
		more := min(cap(s.entries), (len(s.text)-int(e.begin))/least+1)
		s.entries = append(make([]keyEntry, 0, len(s.entries)+more), s.entries...)
	}
	s.entries = append(s.entries, e)
}

// quotedKey returns the key of an entry with its quotes.
func (s *keyScan) quotedKey(e *keyEntry) string {
	end, _ := stringEnd(s.text, int(e.begin)+1)
	return s.text[e.begin:end]
}

// insertSlot inserts the entry with the index at into slots, which must have room for it.
func (s *keyScan) insertSlot(at int) {
	mask := uint32(len(s.slots) - 1)
	slot := s.entries[at].hash & mask
	for s.slots[slot] != 0 {
		slot = (slot + 1) & mask
	}
	s.slots[slot] = uint32(at + 1)
	s.used++
}

// growSlots makes room in slots for n more entries.
func (s *keyScan) growSlots(n int) {
	if 4*(s.used+n) <= 3*len(s.slots) {
		return
	}
	size := max(64, 2*len(s.slots))
	for 3*size < 4*(s.used+n) {
		size *= 2
	}
	s.slots, s.used = make([]uint32, size), 0
	for n, o := range s.open {
		end := len(s.entries)
		if n+1 < len(s.open) {
			end = int(s.open[n+1].keys)
		}
		for at := int(o.keys); o.large && at < end; at++ {
			s.insertSlot(at)
		}
	}
}

// sameKey reports whether two keys of the object o count as equal at the object's place.
func (s *keyScan) sameKey(o *keyObject, a, b *keyEntry) bool {
	s.word = appendKey(s.word[:0], s.quotedKey(a), o.place.actedOn())
	s.other = appendKey(s.other[:0], s.quotedKey(b), o.place.actedOn())
	return string(s.word) == string(s.other)
}

// duplicateKeyError returns the error for two equal keys of the innermost object.
func (s *keyScan) duplicateKeyError(a, b *keyEntry) *KeyTwiceError {
	one, other := decodeKey(s.quotedKey(a)), decodeKey(s.quotedKey(b))
	e := &KeyTwiceError{Key: strings.Clone(Shorten(one)), Other: strings.Clone(Shorten(other)), Place: s.path()}
	if one == other {
		e.Other = e.Key
	} else if e.Key == e.Other {
		e.Other += " "
	}
	return e
}

// path returns the path of the innermost object, such as messages[2].toolCalls[0].function.
func (s *keyScan) path() string {
	const most = 400 // Shorten cuts the path to less anyway
	var path []byte
	for _, o := range s.open[:len(s.open)-1] {
		key := ""
		if o.object {
			key = decodeKey(s.text[o.begin:o.end])
		}
		switch {
		case !o.object:
			path = append(strconv.AppendUint(append(path, '['), uint64(o.index), 10), ']')
		case !isPlainKey(key):
			path = append(strconv.AppendQuote(append(path, '['), Shorten(key)), ']')
		case len(path) > 0:
			path = append(append(path, '.'), Shorten(key)...)
		default:
			path = append(path, Shorten(key)...)
		}
		if len(path) > most {
			break
		}
	}
	return Shorten(string(path))
}

// isPlainKey reports whether a key needs no quotes in a path.
func isPlainKey(key string) bool {
	return key != "" && strings.IndexFunc(key, func(c rune) bool {
		return c != '_' && !('a' <= c && c <= 'z') && !('A' <= c && c <= 'Z') && !('0' <= c && c <= '9')
	}) < 0
}

// decodeKey returns the decoded text of a key, which has its quotes.
func decodeKey(raw string) string {
	if raw == "" { // the value has no key, which is not valid JSON
		return ""
	}
	if name := raw[1 : len(raw)-1]; strings.IndexByte(name, '\\') < 0 && utf8.ValidString(name) {
		return name
	}
	return string(appendKey(nil, raw, false))
}

// appendKey appends the decoded text of a key. It writes U+FFFD for invalid UTF-8 and for half of a
// surrogate pair, as Go does. If foldsCase is set, the texts of two keys are equal if SameKey
// reports true for the keys.
func appendKey(dst []byte, raw string, foldsCase bool) []byte {
	for rest := raw[1 : len(raw)-1]; rest != ""; {
		var c rune
		if first := rest[0]; first < utf8.RuneSelf && first != '\\' { // as in most keys
			rest = rest[1:]
			switch {
			case foldsCase && first == '_':
				continue
			case foldsCase && 'a' <= first && first <= 'z':
				first -= 'a' - 'A'
			}
			dst = append(dst, first)
			continue
		}
		if c, rest = nextInKey(rest); !foldsCase {
			dst = utf8.AppendRune(dst, c)
		} else if c = foldedRune(c); c >= 0 {
			dst = utf8.AppendRune(dst, c)
		}
	}
	return dst
}

// nextInKey decodes the first rune in the text of a JSON string. It returns the rune and the rest
// of the text.
func nextInKey(s string) (rune, string) {
	switch c := s[0]; {
	case c >= utf8.RuneSelf:
		r, n := utf8.DecodeRuneInString(s)
		return r, s[n:]
	case c != '\\' || len(s) < 2:
		return rune(c), s[1:]
	}
	c, rest := s[1], s[2:]
	switch c {
	case 'b':
		return '\b', rest
	case 'f':
		return '\f', rest
	case 'n':
		return '\n', rest
	case 'r':
		return '\r', rest
	case 't':
		return '\t', rest
	case 'u':
		if len(rest) < 4 {
			return utf8.RuneError, ""
		}
		r := codeUnit(rest)
		rest = rest[4:]
		if !utf16.IsSurrogate(r) {
			return r, rest
		}
		if len(rest) >= 6 && rest[:2] == `\u` {
			if pair := utf16.DecodeRune(r, codeUnit(rest[2:])); pair != utf8.RuneError {
				return pair, rest[6:]
			}
		}
		return utf8.RuneError, rest
	}
	return rune(c), rest
}
