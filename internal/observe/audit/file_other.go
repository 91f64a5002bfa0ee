//go:build !windows && (!unix || solaris || aix)

package audit

import (
	"errors"
	"os"
)

func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
}

// lock always fails on this system, because without a lock two processes could write to one chain.
func lock(*os.File) error { return errors.New(textNoLocks) }
