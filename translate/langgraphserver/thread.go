package langgraphserver

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

// A thread of the server has a uuid. A client's thread id that is one, in lower case, is the
// thread's own. Any other is hashed into a uuid of version 8. A client's uuid of version 8 is
// hashed too, so no two ids of clients name one thread: the record of a thread is kept under the
// client's id, and a second id would be a way around it.
var ownUUID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-79a-f][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// threadOf returns the id of the server's thread.
func threadOf(id string) string {
	if ownUUID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte("holdpoint langgraph-server thread\n" + id))
	sum[6] = sum[6]&0x0f | 0x80 // version 8: made in a way of our own (RFC 9562)
	sum[8] = sum[8]&0x3f | 0x80
	h := hex.EncodeToString(sum[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
