package agui

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// The keys on which Holdpoint acts. A request that has one of these keys in another spelling, or
// twice, is refused. Otherwise a client could hide an answer from Holdpoint: Python backends read
// thread_id as well as threadId (pydantic's populate_by_name). And of two equal keys, they use the
// last one, but gjson uses the first one.
var (
	rootKeys    = [...]string{"threadId", "runId", "resume", "messages", "forwardedProps", "protocolVersion"}
	entryKeys   = [...]string{"interruptId", "status", "payload"}
	objectKeys  = [...]string{"interruptId", "payload", "interrupts"}
	answerKeys  = [...]string{"interruptId", "interrupts", "interrupt"}
	propKeys    = [...]string{"command", "resume"}
	commandKeys = [...]string{"resume", "interruptEvent"}
)

// Indexes in rootKeys, entryKeys and propKeys.
const (
	threadKey, runKey, resumeKey, messagesKey, propsKey, versionKey = 0, 1, 2, 3, 4, 5
	idKey, statusKey, payloadKey                                    = 0, 1, 2
	commandKey                                                      = 0
)

// A place says where in the request a key is, for an error message. The zero value means the root.
type place struct {
	what  string
	at    int // the index of the entry, if entry is set
	entry bool
}

func (p place) String() string {
	if p.entry {
		return fmt.Sprintf("%s[%d]", p.what, p.at)
	}
	return p.what
}

// readKeys reads the values of the keys in names from an object into values. It returns an error if
// the object has one of these keys twice or in another spelling.
func readKeys(values []gjson.Result, object gjson.Result, names []string, where place) error {
	var err error
	object.ForEach(func(key, value gjson.Result) bool {
		if n := spellingOf(names, key.Str); n >= 0 {
			err = takeKey(values, names, n, key, value, where)
		}
		return err == nil
	})
	return err
}

// takeKey reads the value of the key names[n]. If key is written with escapes, it counts as another
// spelling, because sjson would not find the key but the backend would.
func takeKey(values []gjson.Result, names []string, n int, key, value gjson.Result, where place) error {
	switch name := names[n]; {
	case len(key.Raw) != len(name)+2 || key.Raw[1:len(name)+1] != name:
		return badInput(textKeySpelled, Shorten(key.Str), where, name)
	case values[n].Exists():
		return badInput(textKeyTwice, name, where)
	}
	values[n] = value
	return nil
}

// spellingOf returns the index of the element of names of which key is a spelling, or -1 if there
// is none.
func spellingOf(names []string, key string) int {
	return slices.IndexFunc(names, func(name string) bool { return SameKey(key, name) })
}

// SameKey reports whether two keys are spellings of the same key. Case and underscores do not
// count. Case is compared by Unicode's simple folding, as in Go's encoding/json, so U+017F (ſ)
// equals s.
func SameKey(a, b string) bool {
	for a != b {
		var x, y rune
		x, a = nextFolded(a)
		y, b = nextFolded(b)
		if x != y {
			return false
		}
	}
	return true
}

// nextFolded returns the first rune of a key that counts, and the rest of the key. The rune is
// replaced by the smallest rune to which it folds. At the end of the key it is -1.
func nextFolded(key string) (rune, string) {
	for len(key) > 0 {
		c, n := rune(key[0]), 1
		if c >= utf8.RuneSelf {
			c, n = utf8.DecodeRuneInString(key)
		}
		key = key[n:]
		if c = foldedRune(c); c >= 0 {
			return c, key
		}
	}
	return -1, ""
}

// foldedRune returns the smallest rune to which a rune of a key folds, or -1 for an underscore.
func foldedRune(c rune) rune {
	switch {
	case c == '_':
		return -1
	case 'a' <= c && c <= 'z':
		return c - 'a' + 'A'
	case c < utf8.RuneSelf:
		return c
	}
	return leastFold(c)
}

// leastFold returns the smallest rune to which c folds.
func leastFold(c rune) rune {
	least := c
	for f := unicode.SimpleFold(c); f != c; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}
