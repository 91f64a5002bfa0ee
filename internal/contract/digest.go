package contract

import (
	"crypto/sha256"
	"encoding/hex"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// Digest returns the digest of a set of answers, in the format of store.MarshalAnswers. Equal
// answers have equal digests: the order of entries and of keys does not matter, and a null payload
// equals an absent payload.
func Digest(answers []agui.Answer) string {
	digests := make([]store.AnswerDigest, len(answers))
	for n, a := range answers {
		digests[n] = store.AnswerDigest{Question: a.ID, Digest: DigestOf(a)}
	}
	return store.MarshalAnswers(digests)
}

// DigestOf returns the hash of one answer. The hash covers the status and the payload, but not the
// question.
func DigestOf(a agui.Answer) string {
	h := sha256.New()
	h.Write([]byte(a.Status))
	if len(a.Payload) > 0 {
		h.Write([]byte{' '})
		h.Write(agui.Canonical(a.Payload))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
