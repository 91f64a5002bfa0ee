package bolt

import (
	"errors"
	"slices"
	"sync"

	"go.etcd.io/bbolt"
)

// A group makes changes to a file. While a transaction is being written to the disk, the changes
// that arrive are collected, and share the next transaction and its fsync. Each change is as safe
// as in a transaction of its own. If there is only one change, it does not wait, as it would with
// bbolt.DB.Batch.
type group struct {
	db *bbolt.DB

	mu      sync.Mutex
	writing bool // a transaction is being written
	waiting []*member
}

// A member is one change of a group.
type member struct {
	// change makes the change. It returns false if there was nothing to change. It may run more
	// than once, each time in a new transaction.
	change func(tx *bbolt.Tx) (bool, error)
	err    error
	// Receives true if this member must write the waiting changes, and false if its own change is
	// done.
	leads chan bool
}

// mostTogether is the largest number of changes in one transaction. It is that of bbolt's own
// batches.
const mostTogether = 1000

var (
	errNothing = errors.New(textNoChange) // so that the transaction is not written
	errBroken  = errors.New("store: the transaction did not come to its end")
)

// update makes a change, and returns when it is on the disk or has failed. For the function change
// see member.change.
func (g *group) update(change func(tx *bbolt.Tx) (bool, error)) error {
	m := &member{change: change, err: errBroken, leads: make(chan bool, 1)}
	g.mu.Lock()
	g.waiting = append(g.waiting, m)
	first := !g.writing
	g.writing = true
	g.mu.Unlock()
	if first || <-m.leads {
		g.writeWaiting()
	}
	return m.err
}

// writeWaiting writes the waiting changes; the first of them is the caller's own. After that, the
// first change that has arrived meanwhile leads.
func (g *group) writeWaiting() {
	g.mu.Lock()
	list := g.waiting[:min(len(g.waiting), mostTogether)]
	g.waiting = slices.Clone(g.waiting[len(list):])
	g.mu.Unlock()
	defer func() { // this runs even if bbolt panics
		g.mu.Lock()
		if g.writing = len(g.waiting) > 0; g.writing {
			g.waiting[0].leads <- true
		}
		g.mu.Unlock()
		for _, m := range list[1:] {
			m.leads <- false
		}
	}()
	g.write(list)
}

// write makes the changes in one transaction. If a change fails, it is left out, and the others are
// made in a new transaction.
func (g *group) write(list []*member) {
	for len(list) > 0 {
		failed, changed := -1, false
		err := g.db.Update(func(tx *bbolt.Tx) error {
			for n, m := range list {
				did, err := m.change(tx)
				if err != nil {
					failed = n
					return err
				}
				changed = changed || did
			}
			if !changed {
				return errNothing
			}
			return nil
		})
		if failed >= 0 {
			list[failed].err = err
			list = slices.Concat(list[:failed], list[failed+1:])
			continue
		}
		if errors.Is(err, errNothing) {
			err = nil
		}
		for _, m := range list {
			m.err = err
		}
		return
	}
}
