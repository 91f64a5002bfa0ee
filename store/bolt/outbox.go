package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"go.etcd.io/bbolt"

	"holdpoint/store"
)

// unsentBucket is the list of the rows with notices to send, sorted by time and key. notifyBucket
// has, for each key, its time in this list. Both are separate from the rows, so that files of older
// versions need no other format.
var (
	unsentBucket = []byte("unsent")
	notifyBucket = []byte("notify")
)

// notify moves a key to the time at in the list of rows with notices to send. The zero time removes
// the key from the list. If at is nil, notify does nothing.
func notify(tx *bbolt.Tx, key store.Key, at *time.Time) error {
	if at == nil {
		return nil
	}
	times, unsent := tx.Bucket(notifyBucket), tx.Bucket(unsentBucket)
	if was := times.Get([]byte(key)); len(was) == 8 {
		if err := unsent.Delete(placeKey(int64(binary.BigEndian.Uint64(was)), key)); err != nil {
			return err
		}
	}
	if at.IsZero() {
		return times.Delete([]byte(key))
	}
	return errors.Join(
		times.Put([]byte(key), binary.BigEndian.AppendUint64(nil, uint64(micros(*at)))),
		unsent.Put(placeKey(micros(*at), key), nil))
}

// Unlist implements engine.Table.
func (t *table) Unlist(_ context.Context, key store.Key) error {
	return t.db.Update(func(tx *bbolt.Tx) error {
		if tx.Bucket(rowsBucket).Get([]byte(key)) != nil {
			return nil
		}
		return notify(tx, key, &time.Time{})
	})
}
