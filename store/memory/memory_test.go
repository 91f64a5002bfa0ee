package memory_test

import (
	"testing"

	"go.uber.org/goleak"

	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock, o storetest.Options) store.Store {
		return memory.New(memory.Options{
			Entries:        o.Entries,
			ReplayBytes:    o.ReplayBytes,
			Bytes:          o.Bytes,
			Share:          o.Share,
			ReplayTTL:      o.ReplayTTL,
			PauseRetention: o.PauseRetention,
			RecordBytes:    o.RecordBytes,
			Now:            clock.Now,
		})
	})
}
