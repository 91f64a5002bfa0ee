package ledger

import (
	"errors"
	"fmt"

	"holdpoint/store"
)

// Why nothing more may be sent to the backend; see Claim.Stands.
var (
	ErrLapsed   = errors.New("proxy: the claim has lapsed, and something else began on the thread")
	ErrNotKnown = errors.New("proxy: the claim may have lapsed, and the store cannot be asked")
)

// errClosed says that a pause is closed. The reply to a Close was lost, and the store does not tell
// a repeated one: nobody knows who closed the pause.
var errClosed = fmt.Errorf("closed by a step whose reply was lost, perhaps: %w", store.ErrNotFound)

// Quicker reports of an error of Take that somebody else has claimed the pause, ended it, or
// decided one of its questions.
func Quicker(err error) bool {
	return errors.Is(err, store.ErrReplay) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) ||
		errors.Is(err, store.ErrStale)
}

// Closed reports of an error of Close whether the pause may have been closed by it.
func Closed(err error) bool { return err == nil || errors.Is(err, errClosed) }

// EndedAlready reports of an error of Close that the pause has ended, or was claimed.
func EndedAlready(err error) bool {
	return errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrExists)
}
