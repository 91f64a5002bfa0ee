package langgraphserver

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

// ownUUID matches thread ids of clients that Holdpoint also uses as the server's thread id:
// lower-case UUIDs of any version but 8. Any other id is hashed into a UUID of version 8. So two
// thread ids of clients never lead to the same thread of the server. The record of a thread is kept
// under the client's id, so a client cannot avoid the record by using another id for the thread.
var ownUUID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-79a-f][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// threadOf returns the id of the server's thread for the thread id of a client.
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
