package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"holdpoint/internal/agui"
)

// Digest is the same for answers that say the same: the order of entries and of keys does not
// count, and a payload of null is none. It has a line `<id> <hash>` for each answer, so that what
// one question was answered can be compared later, see DigestsByID.
func Digest(answers []agui.Answer) string {
	lines := make([]string, len(answers))
	for n, a := range answers {
		lines[n] = a.ID + " " + DigestOf(a)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// DigestOf is the hash of one answer, whatever question it is for.
func DigestOf(a agui.Answer) string {
	line := []byte(a.Status)
	if len(a.Payload) > 0 {
		line = append(append(line, ' '), agui.Canonical(a.Payload)...)
	}
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:16])
}

// DigestsByID are the hashes in a Digest, by the ids of their questions. Of two with one id the
// first counts.
func DigestsByID(digest string) map[string]string {
	hashes := map[string]string{}
	for line := range strings.SplitSeq(digest, "\n") {
		id, hash, _ := strings.Cut(line, " ")
		if _, twice := hashes[id]; !twice {
			hashes[id] = hash
		}
	}
	return hashes
}
