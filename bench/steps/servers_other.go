//go:build !unix

package steps

import (
	"context"
	"errors"
)

// ErrMissing says that a server is not on this machine. Here none is: the tests' servers are
// started on Unix only.
var ErrMissing = errors.New("servers are started on Unix only")

// A Machine starts nothing here.
type Machine struct{}

// On fails with ErrMissing.
func On(func(m *Machine) error) error { return ErrMissing }

// Redis fails with ErrMissing.
func (*Machine) Redis(context.Context, bool, bool) (*Side, error) { return nil, ErrMissing }

// A Database has nothing here.
type Database struct{}

// Postgres starts nothing.
func (*Machine) Postgres() *Database { return &Database{} }

// Side fails with ErrMissing.
func (*Database) Side(context.Context, string, bool, bool) (*Side, error) { return nil, ErrMissing }

// Bolt fails with ErrMissing.
func (*Machine) Bolt(context.Context) (*Side, error) { return nil, ErrMissing }

// Folder fails with ErrMissing.
func (*Machine) Folder() (string, error) { return "", ErrMissing }
