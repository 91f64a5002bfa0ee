package engine

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"holdpoint/store"
)

// A Ring has the keys that encrypt records, newest first. The zero Ring does not encrypt.
type Ring struct {
	keys  []ringKey
	plain bool // records that are not encrypted can also be read
}

type ringKey struct {
	id     string
	secret []byte
	aead   cipher.AEAD
}

// Derive returns keys for the given purpose: one for each key of the ring, in the same order. The
// derived keys reveal nothing about the keys of the ring.
func (r Ring) Derive(purpose string) [][]byte {
	var list [][]byte
	for _, k := range r.keys {
		key, err := hkdf.Key(sha256.New, k.secret, nil, purpose, sha256.Size)
		if err != nil {
			panic("engine: " + err.Error()) // never happens: the length is valid
		}
		list = append(list, key)
	}
	return list
}

// sealedMark is the first byte of an encrypted part of a record. A part that is not encrypted is
// JSON, and never begins with it.
const sealedMark = 1

// maxKeyID is the maximum length of a key's id, in bytes.
const maxKeyID = 32

// ParseRing parses HOLDPOINT_STORE_KEYS, such as id:key,id:key. Each key has 32 bytes in base64,
// and the newest key is the first. The word plain can follow the keys. It means that records which
// are not encrypted can also be read.
func ParseRing(text string) (Ring, error) {
	var ring Ring
	seen := map[string]bool{}
	for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == ',' || c == '\n' || c == '\r' || c == ' ' || c == '\t' }) {
		if part == "plain" {
			ring.plain = true
			continue
		}
		id, coded, ok := strings.Cut(part, ":")
		if !ok || id == "" || len(id) > maxKeyID || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") != "" {
			return Ring{}, errors.New(textKeyForm)
		}
		if seen[id] {
			return Ring{}, fmt.Errorf(textKeyTwice, id)
		}
		seen[id] = true
		key, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(coded), "="))
		if err != nil || len(key) != 32 {
			return Ring{}, fmt.Errorf(textKeyLength, id)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return Ring{}, fmt.Errorf(textKey, id, err)
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return Ring{}, fmt.Errorf(textKey, id, err)
		}
		ring.keys = append(ring.keys, ringKey{id, key, aead})
	}
	if ring.plain && len(ring.keys) == 0 {
		return Ring{}, errors.New(textPlainAlone)
	}
	return ring, nil
}

// SetKeys replaces the ring, beginning with the next step. If a record is encrypted with a key that
// the new ring does not have, it cannot be read then, but it is not lost.
func (s *Store) SetKeys(r Ring) { s.keys.Store(&r) }

// Seals reports whether the ring has a key, so that records are encrypted.
func (r Ring) Seals() bool { return len(r.keys) > 0 }

// sealContext returns the additional authenticated data of an encrypted part of a record: the key
// of the record, and the path of the part within the record (the parameter parts). So the part
// cannot be moved to another record or another place. The length of each element precedes it, so
// that no two paths have the same bytes.
func sealContext(key store.Key, parts ...string) []byte {
	bound := append([]byte("holdpoint record"), byte(len(parts)))
	bound = binary.AppendUvarint(bound, uint64(len(key)))
	bound = append(bound, key...)
	for _, p := range parts {
		bound = binary.AppendUvarint(bound, uint64(len(p)))
		bound = append(bound, p...)
	}
	return bound
}

// seal encrypts a part of a record with the newest key. If the ring has no key, it returns the part
// unchanged.
func (r Ring) seal(bound, plain []byte) ([]byte, error) {
	if len(r.keys) == 0 {
		return plain, nil
	}
	k := r.keys[0]
	sealed := make([]byte, 0, 2+len(k.id)+k.aead.Overhead()+len(plain))
	sealed = append(sealed, sealedMark, byte(len(k.id)))
	sealed = append(sealed, k.id...)
	return k.aead.Seal(sealed, nil, plain, bound), nil
}

// newest reports whether a part of a record is encrypted with the newest key. If the ring has no
// key, it returns true.
func (r Ring) newest(sealed []byte) bool {
	if len(r.keys) == 0 {
		return true
	}
	id := r.keys[0].id
	return len(sealed) > 2+len(id) && sealed[0] == sealedMark && int(sealed[1]) == len(id) && string(sealed[2:2+len(id)]) == id
}

var errDamaged = errors.New(textPartMissing)

// open decrypts a part of a record.
func (r Ring) open(bound, sealed []byte) ([]byte, error) {
	if len(sealed) == 0 {
		return nil, errDamaged
	}
	if sealed[0] != sealedMark {
		if len(r.keys) > 0 && !r.plain {
			return nil, errors.New(textNotSealed)
		}
		return sealed, nil
	}
	if len(sealed) < 2 || len(sealed) < 2+int(sealed[1]) {
		return nil, errDamaged
	}
	id, rest := string(sealed[2:2+int(sealed[1])]), sealed[2+int(sealed[1]):]
	for _, k := range r.keys {
		if k.id != id {
			continue
		}
		plain, err := k.aead.Open(nil, nil, rest, bound)
		if err != nil {
			return nil, fmt.Errorf(textOtherKey, id)
		}
		return plain, nil
	}
	return nil, fmt.Errorf(textNoKey, id)
}
