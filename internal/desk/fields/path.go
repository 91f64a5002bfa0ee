package fields

import (
	"encoding/json"
	"strconv"
)

// member returns the path of the member with this key. A key that is not a plain name is quoted in
// the path, because the key "a.b" is not the member b of a.
func member(path, key string) string {
	switch {
	case !isName(key):
		quoted, _ := json.Marshal(key) // cannot fail for a string
		return path + "[" + string(quoted) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

func element(path string, n int) string { return path + "[" + strconv.Itoa(n) + "]" }

func isName(key string) bool {
	for n, c := range []byte(key) {
		switch {
		case c == '_', 'a' <= c|0x20 && c|0x20 <= 'z':
		case n > 0 && (c == '-' || '0' <= c && c <= '9'):
		default:
			return false
		}
	}
	return key != ""
}
