package bolt

import (
	"errors"
	"slices"
	"sync"

	"go.etcd.io/bbolt"
)

// A group makes changes to a file. Changes that arrive while a transaction is on its way to the
// disk share the next one, and so its fsync. Each is as safe as alone. A lone change waits for
// nothing. (bbolt.DB.Batch makes a lone one wait for company.)
type group struct {
	db *bbolt.DB

	mu      sync.Mutex
	writing bool // a transaction is under way
	waiting []*member
}

// A member is a change of a group.
type member struct {
	// change makes the change, and reports whether there was anything to change. It can run more
	// than once. Each time its transaction has nothing of the time before.
	change func(tx *bbolt.Tx) (bool, error)
	err    error
	leads  chan bool // true: it is to write what waits; false: it is done
}

// mostTogether bounds the changes of a transaction, as bbolt bounds those of a batch.
const mostTogether = 1000

var (
	errNothing = errors.New("there is nothing to change") // so nothing is written
	errBroken  = errors.New("store: the transaction did not come to its end")
)

// update makes a change. See member.change.
func (g *group) update(change func(tx *bbolt.Tx) (bool, error)) error {
	m := &member{change: change, err: errBroken, leads: make(chan bool, 1)}
	g.mu.Lock()
	g.waiting = append(g.waiting, m)
	first := !g.writing
	g.writing = true
	g.mu.Unlock()
	if first || <-m.leads {
		g.lead()
	}
	return m.err
}

// lead writes what waits. The caller's own change is the first of it. Then the first of what has
// come meanwhile leads.
func (g *group) lead() {
	g.mu.Lock()
	list := g.waiting[:min(len(g.waiting), mostTogether)]
	g.waiting = slices.Clone(g.waiting[len(list):])
	g.mu.Unlock()
	defer func() { // also if bbolt panics
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

// write writes changes in one transaction, but for those that fail.
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
