package proxy

import (
	"errors"
	"sync/atomic"

	"holdpoint/store/storetest"
)

var errDead = errors.New("the process is dead")

// A mortal is a replica that a test can kill as kill -9 does. None of the calls of a killed replica
// reaches the store.
type mortal struct {
	*Handler
	dead atomic.Bool
}

// newMortal returns another replica that uses the store of o.
func newMortal(o Options) (*mortal, error) {
	m := &mortal{}
	o.Store = &storetest.Faults{Store: o.Store, At: func(_ string, do func() error) error {
		if m.dead.Load() {
			return errDead
		}
		return do()
	}}
	var err error
	m.Handler, err = New(o)
	return m, err
}

// kill ends the replica with all its runs. Its clients see a broken connection.
func (m *mortal) kill() {
	m.dead.Store(true)
	m.runs.drain()
}
