//go:build !unix

package steps

import (
	"context"
	"errors"
)

// ErrMissing is always the error here, because the servers can be started on Unix only.
var ErrMissing = errors.New("servers are started on Unix only")

// A Machine cannot start servers on this system.
type Machine struct{}

// On fails with ErrMissing.
func On(func(m *Machine) error) error { return ErrMissing }

// Redis fails with ErrMissing.
func (*Machine) Redis(context.Context, bool, bool) (*Side, error) { return nil, ErrMissing }

// A Database does nothing on this system.
type Database struct{}

// Postgres returns a Database whose Side fails.
func (*Machine) Postgres() *Database { return &Database{} }

// Side fails with ErrMissing.
func (*Database) Side(context.Context, string, bool, bool) (*Side, error) { return nil, ErrMissing }

// Bolt fails with ErrMissing.
func (*Machine) Bolt(context.Context) (*Side, error) { return nil, ErrMissing }

// Folder fails with ErrMissing.
func (*Machine) Folder() (string, error) { return "", ErrMissing }
