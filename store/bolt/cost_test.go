package bolt

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"holdpoint/store"
	"holdpoint/store/engine"
)

// TestAStepWritesItsPagesOnly: a step must not write the list of the file's free pages, because
// that list may be long.
func TestAStepWritesItsPagesOnly(t *testing.T) {
	t.Parallel()
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "state.db"), 0o600, options(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	at := &table{db: db, writes: group{db: db}, now: time.Now}
	if err := at.prepare(); err != nil {
		t.Fatal(err)
	}
	const forgotten = 2000
	err = db.Update(func(tx *bbolt.Tx) error {
		for n := range forgotten {
			if err := tx.Bucket(bodiesBucket).Put(fmt.Append(nil, n), make([]byte, 16<<10)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for n := range forgotten {
			if err := tx.Bucket(bodiesBucket).Delete(fmt.Append(nil, n)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	step := func(key store.Key) int64 {
		before := db.Stats()
		if ok, err := at.Write(t.Context(), key, engine.Change{To: 1, Head: []byte("{}"), ForgetAt: time.Now()}); err != nil || !ok {
			t.Fatal(ok, err)
		}
		after := db.Stats()
		return after.TxStats.GetPageAlloc() - before.TxStats.GetPageAlloc()
	}
	step("a") // from here on, the pages that were deleted above are free
	wrote, free := step("b"), db.Stats().FreePageN
	if list := int64(8 * free); list < 60<<10 || wrote > list/2 {
		t.Errorf("a step wrote %d bytes beside %d free pages, whose list has %d bytes", wrote, free, list)
	}
}
