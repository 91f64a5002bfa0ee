package engine

import (
	"bytes"
	"sync"

	"holdpoint/store"
)

// decodedBodies are bodies that were decoded before, by their bytes. It is not a cache of records:
// the table is asked each time, and what it returns counts. But between a question and its end a
// body is read four times and more, and to decode one with eight results takes 100 µs, where to ask
// Redis for it takes 60 (go run ./bench store-redis; without the server:
// go test ./store/engine -run '^$' -bench Read).
//
// What was decoded is shared by all who load the record. Nobody writes into it (store.Store).
type decodedBodies struct {
	mu       sync.Mutex
	now, old map[store.Key]knownBody // old are those that were not asked for since now began
	size     int                     // of those in now
}

type knownBody struct {
	at    int64 // the revision that the body is bound to
	bytes []byte
	body  body
}

// Limits in stored bytes. In memory, decoded bodies take two to three times as many.
const (
	knownBytes   = 2 << 20 // of now, and so of old
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
