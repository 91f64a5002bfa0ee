package main

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"holdpoint/internal/observe/audit"
	"holdpoint/store/engine"
)

// A reload is one thing that HUP reads again, or opens again.
type reload struct {
	what string // for the log: a variable, or what it is
	// do does it, from what is in effect to what the file has now. After an error the old is still
	// in effect.
	do func() error
}

// reloads are all of them. A piece that reads a file, or writes one, adds itself.
type reloads []reload

func (l *reloads) add(what string, do func() error) { *l = append(*l, reload{what, do}) }

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

// reloads are what c has read from files and can take again while runs go on. What a dialect was
// told by a file is not among them: a question that was asked under one description is answered
// under the same.
func (c *config) reloads(agents []served, kept openStore, logger *slog.Logger) reloads {
	var l reloads
	for _, a := range agents {
		if a.UpstreamHeadersFile == "" {
			continue
		}
		l.add(a.prefix+"UPSTREAM_HEADERS_FILE", func() error {
			headers, err := readHeaders(a.UpstreamHeadersFile)
			if err == nil {
				a.handler.SetUpstreamHeaders(headers)
			}
			return err
		})
	}
	for _, a := range agents {
		if a.deskHeaders == nil {
			continue
		}
		l.add(a.prefix+"DESK_HEADERS_FILE", func() error {
			headers, err := readHeaders(a.DeskHeadersFile)
			if err == nil {
				a.deskHeaders.Store(&headers)
			}
			return err
		})
	}
	if c.StoreKeysFile != "" && kept.setKeys != nil {
		l.add(prefix+"STORE_KEYS_FILE", func() error {
			text, err := c.secretOf(c.StoreKeys, c.StoreKeysFile)
			if err != nil {
				return err
			}
			ring, err := engine.ParseRing(text)
			if err == nil {
				kept.setKeys(ring)
			}
			return err
		})
	}
	if kept.renew != nil {
		l.add(prefix+"STORE", kept.renew)
	}
	if c.PrincipalKeyFile != "" && c.gate != nil {
		l.add(prefix+"PRINCIPAL_KEY_FILE", func() error {
			fresh := *c
			if errs := fresh.readPrincipalKeys(); errs != nil {
				return errs[0]
			}
			c.gate.SetKeys(fresh.principalKeys)
			return nil
		})
	}
	if c.audit != nil && c.Audit.path() != "" {
		l.add(prefix+"AUDIT", func() error {
			err := c.audit.Reopen()
			logHead(c.audit, logger, audit.Head{})
			return err
		})
	}
	return l
}
