package intake

import (
	"crypto/sha256"
	"encoding/binary"
	"net/http"

	"holdpoint/internal/edge/front"
)

// AddressHash identifies the client address for its share of the memory. It is a hash of the
// connection's address, or for IPv6 of the network, because one customer gets a whole network.
// X-Forwarded-For is not used, because its sender can write anything there. It is 0 if shares are
// off, or if the request has no address.
func (t *Intake) AddressHash(req *http.Request) uint64 {
	if !t.shares {
		return 0
	}
	addr, ok := front.Network(req.RemoteAddr)
	if !ok {
		return 0
	}
	sum := sha256.Sum256(addr.AsSlice())
	return max(binary.LittleEndian.Uint64(sum[:]), 1)
}
