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

// watchInterval is the time between two checks of the files for changes. Kubernetes takes up to a
// minute to update the file of a Secret, so a shorter time gains little.
const watchInterval = 5 * time.Second

// A reload is one setting whose files are read again, or one file that is opened again.
type reload struct {
	name string // text for the log: the name of a variable, or a description
	// files are the files to watch. If it is nil, the reloader does not notice changes, and runs do
	// only at HUP and at holdpoint reload.
	files []string
	// do puts the current content of the files into effect. If it returns an error, the previous
	// content stays in effect.
	do func() error

	lastHash [sha256.Size]byte // hash of the files when they were last read
}

// A reloader runs all reloads at HUP and at holdpoint reload. When files change, it runs only the
// reload that has these files.
type reloader struct {
	logger *slog.Logger
	// startTime is the time when the process started to read its files. If a file was modified after
	// began, it may have been modified after it was read, so the file counts as changed.
	startTime time.Time

	mu      sync.Mutex
	reloads []*reload
}

// add adds a reload. It does nothing if do is nil. It must not be called when run or watch may
// already be running.
func (r *reloader) add(what string, do func() error, files ...string) {
	if do == nil {
		return
	}
	one := &reload{name: what, files: files, do: do}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || !info.ModTime().Before(r.startTime) {
			files = nil
		}
	}
	if files != nil {
		one.lastHash = one.hash()
	}
	r.reloads = append(r.reloads, one)
}

// hash returns a hash of the contents of the files. For a file that cannot be read, it hashes the
// error.
func (r *reload) hash() [sha256.Size]byte {
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

// runAll runs all reloads, in the order in which they were added. It returns how many reloads
// succeeded and how many failed.
func (r *reloader) runAll() (succeeded, failed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.reloads {
		one.lastHash = one.hash()
		if r.runOne(one) {
			succeeded++
		} else {
			failed++
		}
	}
	r.logger.Info("reloaded", "read", succeeded, "failed", failed)
	return succeeded, failed
}

// reloadChanged runs each reload whose files have changed. An error is logged once for each change.
func (r *reloader) reloadChanged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.reloads {
		if one.files == nil {
			continue
		}
		if sum := one.hash(); sum != one.lastHash {
			one.lastHash = sum
			r.runOne(one)
		}
	}
}

func (r *reloader) runOne(one *reload) bool {
	if err := one.do(); err != nil {
		r.logger.Error(logNotReloaded, "what", one.name, "err", err)
		return false
	}
	r.logger.Info("read again", "what", one.name)
	return true
}

// watch calls reloadChanged every watchInterval until ctx is done.
func (r *reloader) watch(ctx context.Context) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.reloadChanged()
		}
	}
}

// onHangup runs the reloads at each HUP until stop is closed. The channel hangups must come from
// notifyHangup, which must be called before anything else starts: HUP ends a process that does not
// handle it.
func onHangup(hangups <-chan os.Signal, r *reloader, stop <-chan struct{}) {
	for {
		select {
		case <-hangups:
			r.runAll()
		case <-stop:
			return
		}
	}
}

// notifyHangup returns a channel that receives the HUP signals, for onHangup. The function stop
// ends this.
func notifyHangup() (hangups chan os.Signal, stop func()) {
	// of capacity 1, so that a HUP during a reload causes one more reload
	hangups = make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return hangups, func() { signal.Stop(hangups) }
}
