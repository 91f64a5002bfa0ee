//go:build !unix

package steps

import (
	"context"
	"errors"
)

// ErrMissing is the error that all functions return on this system. The servers can be started only
// on Unix.
var ErrMissing = errors.New("servers are started on Unix only")

// A Machine cannot start servers on this system.
type Machine struct{}

// WithMachine returns ErrMissing.
func On(func(m *Machine) error) error { return ErrMissing }

// Redis returns ErrMissing.
func (*Machine) Redis(context.Context, bool, bool) (*Side, error) { return nil, ErrMissing }

// A Database has no server on this system.
type Database struct{}

// Postgres returns a Database whose method Side returns ErrMissing.
func (*Machine) Postgres() *Database { return &Database{} }

// Side returns ErrMissing.
func (*Database) Side(context.Context, string, bool, bool) (*Side, error) { return nil, ErrMissing }

// Bolt returns ErrMissing.
func (*Machine) Bolt(context.Context) (*Side, error) { return nil, ErrMissing }

// Folder returns ErrMissing.
func (*Machine) Folder() (string, error) { return "", ErrMissing }
