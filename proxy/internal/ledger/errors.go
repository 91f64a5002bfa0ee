package ledger

import (
	"errors"
	"fmt"

	"holdpoint/store"
)

// These errors of Claim.CheckLease say why nothing more may be sent to the backend.
var (
	ErrLapsed   = errors.New("proxy: the claim has lapsed, and something else began on the thread")
	ErrNotKnown = errors.New("proxy: the claim may have lapsed, and the store cannot be asked")
)

// errClosed means that a pause is closed, but it is not known by whom. The reply to a Close was
// lost, and the store answered the repeated Close as if another process had closed the pause.
var errClosed = fmt.Errorf(textLostReply, store.ErrNotFound)

// IsOvertaken reports whether an error of ClaimPause means that another request was quicker: it has
// claimed or ended the pause, or has decided one of its questions.
func IsOvertaken(err error) bool {
	return errors.Is(err, store.ErrReplay) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) ||
		errors.Is(err, store.ErrStale)
}

// Closed reports whether Close has closed the pause, or may have closed it. err is the result of
// Close.
func Closed(err error) bool { return err == nil || errors.Is(err, errClosed) }

// EndedAlready reports whether an error of Close or CloseUndecided means that the record has
// changed: the pause had already ended, was claimed or released, or was decided meanwhile.
func EndedAlready(err error) bool {
	return errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrStale)
}
