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

// A Ring are secret keys, newest first. Its String has none of them.
type Ring [][]byte

// minKey is how long a key must be, in bytes: what is to be guessed should not be shorter than what
// comes out.
const minKey = 32

// ParseRing reads key,key, or a key in each line. A key is a text without white space, commas and
// semicolons. It is used as it stands there. An error never has a part of it.
func ParseRing(text string) (Ring, error) {
	var ring Ring
	for key := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == ',' || c == ';' || c == '\n' || c == '\r' }) {
		switch key = strings.TrimSpace(key); {
		case key == "":
			continue
		case strings.ContainsAny(key, " \t"):
			return nil, fmt.Errorf("key %d holds white space", len(ring)+1)
		case len(key) < minKey:
			return nil, fmt.Errorf("key %d has %d characters, want at least %d, such as openssl rand -hex 32 makes", len(ring)+1, len(key), minKey)
		case slices.ContainsFunc(ring, func(k []byte) bool { return string(k) == key }):
			return nil, fmt.Errorf("key %d stands there twice", len(ring)+1)
		}
		ring = append(ring, []byte(key))
	}
	if len(ring) == 0 {
		return nil, errors.New("no key, want one of at least 32 characters, such as openssl rand -hex 32 makes")
	}
	return ring, nil
}

// String says how many keys there are.
func (r Ring) String() string {
	switch len(r) {
	case 0:
		return ""
	case 1:
		return "1 key"
	}
	return fmt.Sprintf("%d keys", len(r))
}

// An Owner is a principal as the owner of records: a keyed hash under each key of the ring, newest
// first. The zero Owner is that of requests without a principal.
type Owner struct{ ids []string }

// ID returns what a thread without an owner gets, "" without a principal.
func (o Owner) ID() string {
	if len(o.ids) == 0 {
		return ""
	}
	return o.ids[0]
}

// IDs returns the ids under all keys that are known, the newest first.
func (o Owner) IDs() []string { return slices.Clone(o.ids) }

// Is reports whether a record with that owner is the principal's. Without a principal only a record
// without an owner is: an operator who takes the configuration away must not open what it held
// shut.
func (o Owner) Is(owner string) bool {
	if len(o.ids) == 0 {
		return owner == ""
	}
	return slices.Contains(o.ids, owner)
}

// owner hashes a principal. The same name of another source, or of another tenant, is somebody
// else.
func (r Ring) owner(source, tenant, principal string) Owner {
	ids := make([]string, len(r))
	for n, key := range r {
		mac := hmac.New(sha256.New, key)
		mac.Write(parts("holdpoint owner 1", source, tenant, principal))
		ids[n] = hex.EncodeToString(mac.Sum(nil))
	}
	return Owner{ids}
}

// Thread returns the thread id that the backend gets for the client's. It is the client's own,
// unless each principal has threads of his own. Then it is a hash of tenant, principal and thread
// in the form of a UUID (RFC 9562, version 8), because some backends take nothing else. It needs no
// key: a key that changed would cut every conversation off.
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

// parts are texts in a row with their lengths between them: ("a","bc") is not ("ab","c").
func parts(list ...string) []byte {
	var b []byte
	for _, one := range list {
		b = append(binary.AppendUvarint(b, uint64(len(one))), one...)
	}
	return b
}
