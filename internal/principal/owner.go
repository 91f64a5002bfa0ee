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

// A Ring is a list of secret keys, the newest first. String does not show the keys.
type Ring [][]byte

// minKey is the smallest length of a key in bytes, so that a key is as hard to guess as the hash
// is.
const minKey = 32

// ParseRing parses key,key, or one key in each line. A key has no white space, commas or
// semicolons, and its bytes are used unchanged. Errors contain no part of a key.
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

// String returns the number of keys, in words.
func (r Ring) String() string {
	switch len(r) {
	case 0:
		return ""
	case 1:
		return "1 key"
	}
	return fmt.Sprintf("%d keys", len(r))
}

// An Owner identifies a principal in records: its keyed hash for each key of the ring, the newest
// first. The zero Owner is that of requests without a principal.
type Owner struct{ ids []string }

// ID returns the hash under the newest key, which new records get. It is "" without a principal.
func (o Owner) ID() string {
	if len(o.ids) == 0 {
		return ""
	}
	return o.ids[0]
}

// IDs returns the hashes under all keys, the newest first.
func (o Owner) IDs() []string { return slices.Clone(o.ids) }

// Is reports whether owner, as a record has it, is the principal. Without a principal only records
// without an owner match: if an operator removes the configuration of principals, their records
// must not become readable for everybody.
func (o Owner) Is(owner string) bool {
	if len(o.ids) == 0 {
		return owner == ""
	}
	return slices.Contains(o.ids, owner)
}

// owner returns the Owner of a principal. The same name from another source or of another tenant is
// another owner.
func (r Ring) owner(source, tenant, principal string) Owner {
	ids := make([]string, len(r))
	for n, key := range r {
		mac := hmac.New(sha256.New, key)
		mac.Write(parts("holdpoint owner 1", source, tenant, principal))
		ids[n] = hex.EncodeToString(mac.Sum(nil))
	}
	return Owner{ids}
}

// Thread returns the thread id that the backend gets. It is the client's id, unless each principal
// has threads of his own. Then it is a hash of tenant, principal and thread in the form of a UUID
// (RFC 9562, version 8), because some backends accept no other form. The hash has no key: if the
// key changed, every conversation would start anew.
func (w Identity) Thread(thread string) string {
	if !w.ownThread {
		return thread
	}
	sum := sha256.Sum256(parts("holdpoint thread 1", w.source, w.Tenant, w.principal, thread))
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	x := hex.EncodeToString(id)
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
}

// parts joins texts, each preceded by its length, so that ("a","bc") and ("ab","c") differ.
func parts(list ...string) []byte {
	var b []byte
	for _, one := range list {
		b = append(binary.AppendUvarint(b, uint64(len(one))), one...)
	}
	return b
}
