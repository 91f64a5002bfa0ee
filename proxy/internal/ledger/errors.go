package ledger

import (
	"errors"
	"fmt"

	"holdpoint/store"
)

// The reasons why nothing more may be sent to the backend; see Claim.Stands.
var (
	ErrLapsed   = errors.New("proxy: the claim has lapsed, and something else began on the thread")
	ErrNotKnown = errors.New("proxy: the claim may have lapsed, and the store cannot be asked")
)

// errClosed means that a pause is closed, but not by whom: the reply to a Close was lost, and the
// store answers the repeated Close as if another process had closed the pause.
var errClosed = fmt.Errorf("closed by a step whose reply was lost, perhaps: %w", store.ErrNotFound)

// Quicker reports whether an error of Take means that another request has claimed or ended the
// pause, or has decided one of its questions.
func Quicker(err error) bool {
	return errors.Is(err, store.ErrReplay) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) ||
		errors.Is(err, store.ErrStale)
}

// Closed reports whether an error of Close (or nil) means that Close may have closed the pause.
func Closed(err error) bool { return err == nil || errors.Is(err, errClosed) }

// EndedAlready reports whether an error of Close means that the pause had ended or was claimed.
func EndedAlready(err error) bool {
	return errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrExists)
}
