package engine

import (
	"bytes"
	"sync"

	"holdpoint/store"
)

// decodedBodies remembers decoded bodies by their bytes. It is not a cache of records: the table is
// read each time, and its bytes decide. Between a question and its end a body is read four times or
// more. To decode a body with eight results takes 100 µs, while to read it from Redis takes 60 µs
// (go run ./bench store-redis; without the server: go test ./store/engine -run '^$' -bench Read).
//
// A decoded body is shared by all callers that load the record, and is read-only (see store.Store).
type decodedBodies struct {
	mu       sync.Mutex
	now, old map[store.Key]knownBody // old has the bodies that were not read since now was started
	size     int                     // of the bodies in now
}

type knownBody struct {
	at    int64 // the revision that the body is bound to
	bytes []byte
	body  body
}

// Limits in stored bytes. In memory, decoded bodies take two to three times as many.
const (
	knownBytes   = 2 << 20 // of now, and at most of old
	knownLargest = 128 << 10
)

// get returns the body that these bytes were decoded to, if it is known.
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

// put remembers the body that bytes were decoded to. The bytes must not change.
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
