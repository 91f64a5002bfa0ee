package langgraphserver

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

// ownUUID matches ids of clients that are also the id of the server's thread: lower-case UUIDs of
// any version but 8. All other ids are hashed into a UUID of version 8. So two ids of clients never
// lead to the same thread, and a client cannot avoid the record of a thread, which is kept under
// the client's id.
var ownUUID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-79a-f][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// threadOf returns the id of the server's thread for a client's thread id.
func threadOf(id string) string {
	if ownUUID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte("holdpoint langgraph-server thread\n" + id))
	sum[6] = sum[6]&0x0f | 0x80 // version 8: a custom UUID (RFC 9562)
	sum[8] = sum[8]&0x3f | 0x80
	h := hex.EncodeToString(sum[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
