// Package ids makes Holdpoint's ids and keys. Ids are random. Keys are digests of the values that
// they identify. The package has no state, and every package below proxy may import it.
package ids

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"

	"holdpoint/store"
)

// Random72 returns 72 random bits in base64url. They are the random part of an interrupt id.
// Because of them, an answer to an older interrupt never has the id of a newer interrupt.
func Random72() string {
	var b [9]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Random128 returns 128 random bits in hexadecimal, for ids of pauses and requests and for tokens.
func Random128() string {
	var b [16]byte
	rand.Read(b[:])
	return Hex(b[:])
}

// Hex writes the bytes of an id or a digest in lower-case hexadecimal digits.
func Hex(b []byte) string { return string(hex.AppendEncode(make([]byte, 0, 2*sha256.Size), b)) }

// Digest returns the SHA-256 of the parts, as Hex writes it. It hashes each part with its length,
// so that ("a", "bc") and ("ab", "c") have different digests.
func Digest(parts ...string) string {
	b := make([]byte, 0, 512)
	for _, part := range parts {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	sum := sha256.Sum256(b)
	return Hex(sum[:])
}

// ThreadKey returns the key of a thread's record. agent is the name that the operator gave the
// agent, and thread is the backend's thread id. The key is a Digest, so it shows no text that a
// client chose.
func ThreadKey(tenant, agent, path, thread string) store.Key {
	return store.Key(Digest(tenant, agent, path, thread))
}
