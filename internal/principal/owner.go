package principal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Ring is a list of secret keys, the newest first. Its String method does not show the keys.
type Ring [][]byte

// minKey is the smallest length of a key in bytes. A key of this length is as hard to guess as the
// hash that is made with it.
const minKey = 32

// ParseRing parses keys that are separated by commas, semicolons or line breaks. A key contains no
// white space, and its bytes are used unchanged. Errors contain no part of a key.
func ParseRing(text string) (Ring, error) {
	var ring Ring
	for key := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == ',' || c == ';' || c == '\n' || c == '\r' }) {
		switch key = strings.TrimSpace(key); {
		case key == "":
			continue
		case strings.ContainsAny(key, " \t"):
			return nil, fmt.Errorf(textKeySpace, len(ring)+1)
		case len(key) < minKey:
			return nil, fmt.Errorf(textKeyShort, len(ring)+1, len(key), minKey)
		case slices.ContainsFunc(ring, func(k []byte) bool { return string(k) == key }):
			return nil, fmt.Errorf(textKeyTwice, len(ring)+1)
		}
		ring = append(ring, []byte(key))
	}
	if len(ring) == 0 {
		return nil, errors.New(textNoKey)
	}
	return ring, nil
}

// String returns how many keys the ring has, such as "2 keys".
func (r Ring) String() string {
	switch len(r) {
	case 0:
		return ""
	case 1:
		return "1 key"
	}
	return fmt.Sprintf("%d keys", len(r))
}

// An Owner identifies a principal in records. It consists of the principal's keyed hash for each
// key of the ring, the newest key first. The zero Owner belongs to requests without a principal.
type Owner struct{ ids []string }

// ID returns the hash with the newest key. New records get this hash. ID returns "" if there is no
// principal.
func (o Owner) ID() string {
	if len(o.ids) == 0 {
		return ""
	}
	return o.ids[0]
}

// IDs returns the hashes with all keys, the newest key first.
func (o Owner) IDs() []string { return slices.Clone(o.ids) }

// Matches reports whether the hash owner, which is from a record, belongs to this principal. If the
// request has no principal, only a record without an owner matches. Otherwise the records of all
// principals would become readable for everybody when an operator stops to configure principals.
func (o Owner) Matches(owner string) bool {
	if len(o.ids) == 0 {
		return owner == ""
	}
	return slices.Contains(o.ids, owner)
}

// owner returns the Owner of a principal. The same name from another source or of another tenant
// gives another Owner.
func (r Ring) owner(source, tenant, principal string) Owner {
	ids := make([]string, len(r))
	for n, key := range r {
		mac := hmac.New(sha256.New, key)
		mac.Write(joinParts("holdpoint owner 1", source, tenant, principal))
		ids[n] = hex.EncodeToString(mac.Sum(nil))
	}
	return Owner{ids}
}

// Thread returns the thread id that the backend gets. This is the client's thread id, unless each
// principal has threads of his own. Then it is a hash of tenant, principal and thread in the form
// of a UUID (RFC 9562, version 8), because some backends accept only UUIDs. The hash uses no key:
// if it did, every conversation would start anew when the key changes.
func (w Identity) Thread(thread string) string {
	if !w.ownThread {
		return thread
	}
	sum := sha256.Sum256(joinParts("holdpoint thread 1", w.source, w.Tenant, w.principal, thread))
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	x := hex.EncodeToString(id)
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
}

// joinParts joins texts. Each text has its length before it, so that ("a","bc") and ("ab","c") give
// different results.
func joinParts(list ...string) []byte {
	var b []byte
	for _, one := range list {
		b = append(binary.AppendUvarint(b, uint64(len(one))), one...)
	}
	return b
}
