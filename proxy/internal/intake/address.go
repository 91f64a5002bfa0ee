package intake

import (
	"crypto/sha256"
	"encoding/binary"
	"net/http"

	"holdpoint/internal/edge/front"
)

// AddressHash returns a hash of the client's address. Each address may use only its share of the
// memory for bodies, and the hash identifies the address for this. The address is that of the
// connection. X-Forwarded-For is not used, because its sender can write anything there. For IPv6
// the network is hashed, because one customer gets a whole network. The hash is 0 if shares are
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
