package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"holdpoint/store"
	"holdpoint/store/storetest"
)

// A complaints is a *testing.T that only counts the failures that History reports.
type complaints struct {
	*testing.T
	n int
}

func (c *complaints) Errorf(string, ...any) { c.n++ }
func (c *complaints) Logf(string, ...any)   {}

func historyKeys(n int) []store.Key {
	var keys []store.Key
	for i := range n {
		keys = append(keys, store.Key(fmt.Sprint("thread", i)))
	}
	return keys
}

// TestHistoryFindsALostUpdate: History must detect a table that overwrites changes of other
// callers.
func TestHistoryFindsALostUpdate(t *testing.T) {
	table := newMapTable(time.Now)
	table.blind = true
	found := &complaints{T: t}
	storetest.History(found, New(table, Options{Sweep: -1}), historyKeys(20), 1, 5, 20, nil)
	if found.n == 0 {
		t.Error("no history was found to be wrong")
	}
}

// TestHistoryWithABreakingConnection: History must accept a table that loses some replies and fails
// some steps.
func TestHistoryWithABreakingConnection(t *testing.T) {
	table := newMapTable(time.Now)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1)) // used only under the table's lock
	table.breaks = func() (bool, bool) { n := random.IntN(12); return n == 0, n == 1 }
	storetest.History(t, New(table, Options{Sweep: -1}), historyKeys(12), seed, 4, 20, nil)
}
