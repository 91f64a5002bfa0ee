package agui

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// The keys that Holdpoint acts on. It refuses them in another spelling, or twice. Python backends
// read thread_id as well as threadId (pydantic's populate_by_name). Of two equal keys they read the
// last, and gjson reads the first. So a client could steer a guess around the contract.
var (
	rootKeys    = [...]string{"threadId", "runId", "resume", "messages", "forwardedProps", "protocolVersion"}
	entryKeys   = [...]string{"interruptId", "status", "payload"}
	objectKeys  = [...]string{"interruptId", "payload", "interrupts"}
	answerKeys  = [...]string{"interruptId", "interrupts", "interrupt"}
	propKeys    = [...]string{"command", "resume"}
	commandKeys = [...]string{"resume", "interruptEvent"}
)

// Places in rootKeys, entryKeys and propKeys.
const (
	threadKey, runKey, resumeKey, messagesKey, propsKey, versionKey = 0, 1, 2, 3, 4, 5
	idKey, statusKey, payloadKey                                    = 0, 1, 2
	commandKey                                                      = 0
)

// place says where keys stand, for an error. The zero value is the root.
type place struct {
	what  string
	at    int // with entry: which one
	entry bool
}

func (p place) String() string {
	if p.entry {
		return fmt.Sprintf("%s[%d]", p.what, p.at)
	}
	return p.what
}

// readKeys reads the named keys of an object into values. It returns an error for another spelling
// of one, and for one that stands there twice.
func readKeys(values []gjson.Result, object gjson.Result, names []string, where place) error {
	var err error
	object.ForEach(func(key, value gjson.Result) bool {
		if n := spellingOf(names, key.Str); n >= 0 {
			err = take(values, names, n, key, value, where)
		}
		return err == nil
	})
	return err
}

// take reads the value of the n-th name. A key that is written with escapes is another spelling:
// sjson would not find it, and the backend would.
func take(values []gjson.Result, names []string, n int, key, value gjson.Result, where place) error {
	switch name := names[n]; {
	case len(key.Raw) != len(name)+2 || key.Raw[1:len(name)+1] != name:
		return badInput("key %q%s must be spelled %q", Cut(key.Str), where, name)
	case values[n].Exists():
		return badInput("key %q%s stands twice", name, where)
	}
	values[n] = value
	return nil
}

// spellingOf returns the place of the name that key is a spelling of, and -1 if there is none.
func spellingOf(names []string, key string) int {
	return slices.IndexFunc(names, func(name string) bool { return SameKey(key, name) })
}

// SameKey reports whether two keys are spellings of one. Case and underscores do not count. Case is
// Unicode's simple folding, by which Go's encoding/json matches keys: U+017F is an s to it.
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

// nextFolded returns the first rune of a key that counts, as the least rune that it folds to, and
// the rest of the key. It is -1 at the end.
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

// foldedRune returns the least rune that a rune of a key folds to, and -1 for one that does not
// count.
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

// leastFold returns the least rune that a rune folds to.
func leastFold(c rune) rune {
	least := c
	for f := unicode.SimpleFold(c); f != c; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}
