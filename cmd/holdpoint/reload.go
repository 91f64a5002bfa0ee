package main

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// A reload is one thing that HUP reads again, or opens again.
type reload struct {
	what string // for the log: a variable, or what it is
	// do does it, from what is in effect to what the file has now. After an error the old is still
	// in effect.
	do func() error
}

// reloads are all of them.
type reloads []reload

// run does all of them, one after the other. One that fails keeps none of the others from it.
func (l reloads) run(logger *slog.Logger) {
	failed := 0
	for _, r := range l {
		if err := r.do(); err != nil {
			failed++
			logger.Error("not read again: what was read before stays in effect", "what", r.what, "err", err)
			continue
		}
		logger.Info("read again", "what", r.what)
	}
	logger.Info("reloaded", "read", len(l)-failed, "failed", failed)
}

// onHangup runs l at each HUP until stop is closed. It is there before anything else of a run:
// without it HUP ends the process.
func onHangup(hangups <-chan os.Signal, l reloads, logger *slog.Logger, stop <-chan struct{}) {
	for {
		select {
		case <-hangups:
			l.run(logger)
		case <-stop:
			return
		}
	}
}

// notifyHangup makes the channel for onHangup.
func notifyHangup() (hangups chan os.Signal, stop func()) {
	hangups = make(chan os.Signal, 1) // a HUP during a reload is one more
	signal.Notify(hangups, syscall.SIGHUP)
	return hangups, func() { signal.Stop(hangups) }
}
