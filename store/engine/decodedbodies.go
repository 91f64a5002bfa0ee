package engine

import (
	"bytes"
	"sync"

	"holdpoint/store"
)

// decodedBodies remembers decoded bodies together with the bytes that they were decoded from. It is
// not a cache of records: the table is read each time, and a decoded body is used only if the bytes
// are still the same. It saves time because a body is read four times or more between a question
// and its end. Decoding a body with eight results takes 100 µs, and reading it from Redis takes 60
// µs (go run ./bench store-redis; without the server: go test ./store/engine -run '^$' -bench
// Read).
//
// All callers that load the record share the decoded body, so it is read-only (see store.Store).
type decodedBodies struct {
	mu       sync.Mutex
	now, old map[store.Key]knownBody // old has the bodies that were not read since now was begun
	size     int                     // size of the bodies in now, in stored bytes
}

type knownBody struct {
	at    int64 // the revision with which the body was written
	bytes []byte
	body  body
}

// These limits count stored bytes. In memory, a decoded body takes two to three times as many.
const (
	knownBytes   = 2 << 20 // limit of now, so old has at most as many
	knownLargest = 128 << 10
)

// get returns the body that was decoded from the bytes in stored, if it is remembered.
func (k *decodedBodies) get(key store.Key, at int64, stored []byte) (body, bool) {
	k.mu.Lock()
	b, ok := k.now[key]
	if !ok {
		if b, ok = k.old[key]; ok {
			k.keep(key, b)
		}
	}
	k.mu.Unlock()
	if !ok || b.at != at || !bytes.Equal(b.bytes, stored) {
		return body{}, false
	}
	return b.body, true
}

// put remembers the body that was decoded from the bytes in stored. These bytes must not change.
func (k *decodedBodies) put(key store.Key, at int64, stored []byte, b body) {
	if len(stored) > knownLargest {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keep(key, knownBody{at, stored, b})
}

func (k *decodedBodies) keep(key store.Key, b knownBody) {
	if k.now == nil || k.size+len(b.bytes) > knownBytes {
		k.now, k.old, k.size = map[store.Key]knownBody{}, k.now, 0
	}
	k.size += len(b.bytes) - len(k.now[key].bytes)
	k.now[key] = b
}
