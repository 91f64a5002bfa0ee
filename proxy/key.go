package proxy

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"net/url"
	"path"
	"strings"
	"unicode"

	"holdpoint/store"
)

// threadKey names the record of a thread. agent is the name that the operator gave the agent, and
// thread the thread as the backend knows it. The parts are hashed: what a client chose is in no
// key, and the lengths between them keep ("a","bc") and ("ab","c") apart.
func threadKey(tenant, agent, path, thread string) store.Key {
	parts := make([]byte, 0, 256)
	for _, part := range [...]string{tenant, agent, path, thread} {
		parts = binary.AppendUvarint(parts, uint64(len(part)))
		parts = append(parts, part...)
	}
	sum := sha256.Sum256(parts)
	return store.Key(hex.EncodeToString(sum[:]))
}

// recordPath is the path as it goes into a record's key. Spellings that a backend may take for the
// same path have one record: doubled and closing slashes, percent-encoding, case.
func recordPath(p string) string {
	if strings.HasPrefix(p, "/") && isPlain(p) {
		return strings.ToLower(path.Clean(p))
	}
	segments := strings.Split(p, "/")
	for i, s := range segments {
		segments[i], _, _ = strings.Cut(s, ";") // servlet containers route /chat;x as /chat
	}
	return strings.ToLower(path.Clean("/" + strings.Join(segments, "/")))
}

// hexOf writes the bytes of an id or of a digest.
func hexOf(b []byte) string { return string(hex.AppendEncode(make([]byte, 0, 2*sha256.Size), b)) }

// randomID is 72 random bits: the part of an interrupt id that an old answer cannot hit.
func randomID() string {
	var b [9]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// random128 makes pause ids and claim tokens. No client sees them.
func random128() string {
	var b [16]byte
	rand.Read(b[:])
	return hexOf(b[:])
}

// A passedCall is a hash of a thread's key and the id of a call: clients choose both. own reports
// that the call is of one of the client's tools.
type passedCall [16]byte

func passedCallOf(key store.Key, id string, own bool) passedCall {
	kind := byte('p')
	if own {
		kind = 'o'
	}
	sum := sha256.Sum256(append(append([]byte(key), kind), id...)) // keys have one length
	return passedCall(sum[:16])
}

// maxPassed bounds the calls that are remembered, of all threads; maxOpenCalls those of one run.
const (
	maxPassed    = 16 << 10
	maxOpenCalls = 64
)

// isPlain says whether a path has neither escapes nor any sign in it of which a part could be made,
// as most have.
func isPlain(path string) bool {
	for i := range len(path) {
		switch c := path[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '/', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// misleading says whether an escaped path holds what some backends read as another path: a segment
// . or .., escaped or not, or a control character (Starlette's ^/agent$ matches "/agent\n").
func misleading(escaped string) bool {
	if isPlain(escaped) {
		return false
	}
	if plain, err := url.PathUnescape(escaped); err == nil && strings.ContainsFunc(plain, unicode.IsControl) {
		return true
	}
	for segment := range strings.SplitSeq(escaped, "/") {
		plain, err := url.PathUnescape(segment)
		if err != nil {
			plain = segment
		}
		// A decoded slash or backslash splits a segment once more at many backends.
		for part := range strings.FieldsFuncSeq(plain, func(c rune) bool { return c == '/' || c == '\\' }) {
			if part == "." || part == ".." {
				return true
			}
		}
	}
	return false
}
