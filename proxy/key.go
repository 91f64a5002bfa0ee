package proxy

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"holdpoint/store"
)

// recordKey names the record of a thread. The parts are hashed: what a client chose is in no key, and the lengths
// between them keep ("a","bc") and ("ab","c") apart.
func recordKey(path, thread string) store.Key {
	const tenant, route = "", "" // one of each until there is configuration for more
	parts := make([]byte, 0, 256)
	for _, part := range [...]string{tenant, route, path, thread} {
		parts = binary.AppendUvarint(parts, uint64(len(part)))
		parts = append(parts, part...)
	}
	sum := sha256.Sum256(parts)
	return store.Key(hex.EncodeToString(sum[:]))
}
