package proxy

import (
	"crypto/sha256"
	"encoding/hex"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// recordKey names the record of a thread. The parts are hashed: what a client chose is in no key, and the lengths
// between them keep ("a","bc") and ("ab","c") apart.
func recordKey(path, thread string) store.Key {
	const tenant, route = "", "" // one of each until there is configuration for more
	sum := sha256.Sum256(agui.MustMarshal([]string{tenant, route, path, thread}))
	return store.Key(hex.EncodeToString(sum[:]))
}
