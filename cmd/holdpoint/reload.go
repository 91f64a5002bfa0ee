package main

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// lookEvery is how often files are looked at. A secret of Kubernetes takes up to a minute to arrive
// anyway.
const lookEvery = 5 * time.Second

// A reload is one thing that is read again, or opened again.
type reload struct {
	what string // for the log: a variable, or what it is
	// files are those that are read. Where there are none, nobody sees a change, and it is done at HUP
	// and holdpoint reload only.
	files []string
	// do does it, from what is in effect to what the files have now. After an error the old is still
	// in effect.
	do func() error

	seen [sha256.Size]byte // of the files when they were read last
}

// A reloader does all reloads at HUP and at holdpoint reload, and each one when its files change.
type reloader struct {
	logger *slog.Logger
	// began is when the process began to read its files. One that is younger may have been read
	// before it changed.
	began time.Time

	mu  sync.Mutex
	all []*reload
}

// add adds a reload; do is nil where there is nothing to do. It is for the time before the others.
func (r *reloader) add(what string, do func() error, files ...string) {
	if do == nil {
		return
	}
	one := &reload{what: what, files: files, do: do}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || !info.ModTime().Before(r.began) {
			files = nil
		}
	}
	if files != nil {
		one.seen = one.sum()
	}
	r.all = append(r.all, one)
}

// sum tells what the files have apart, and what keeps them from being read.
func (r *reload) sum() [sha256.Size]byte {
	whole := sha256.New()
	for _, file := range r.files {
		text, err := os.ReadFile(file)
		if err != nil {
			text = []byte(err.Error())
		}
		one := sha256.Sum256(text)
		whole.Write(one[:])
	}
	return [sha256.Size]byte(whole.Sum(nil))
}

// run does them all, one after the other. One that fails keeps none of the others from it.
func (r *reloader) run() (read, failed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.all {
		one.seen = one.sum()
		if r.do(one) {
			read++
		} else {
			failed++
		}
	}
	r.logger.Info("reloaded", "read", read, "failed", failed)
	return read, failed
}

// look does those whose files have changed. What is wrong with a file is logged once.
func (r *reloader) look() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.all {
		if one.files == nil {
			continue
		}
		if sum := one.sum(); sum != one.seen {
			one.seen = sum
			r.do(one)
		}
	}
}

func (r *reloader) do(one *reload) bool {
	if err := one.do(); err != nil {
		r.logger.Error(logNotReloaded, "what", one.what, "err", err)
		return false
	}
	r.logger.Info("read again", "what", one.what)
	return true
}

// watch looks at the files until ctx is done.
func (r *reloader) watch(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.look()
		}
	}
}

// onHangup calls run at each HUP until stop is closed. It is there before anything else of a run:
// without it HUP ends the process.
func onHangup(hangups <-chan os.Signal, r *reloader, stop <-chan struct{}) {
	for {
		select {
		case <-hangups:
			r.run()
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
