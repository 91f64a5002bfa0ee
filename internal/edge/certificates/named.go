package certificates

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// OpenNamed reads files that the variables with the prefix name. It returns nil if they name none.
func OpenNamed(files Files, prefix, cert, key, ca string) (*Set, error) {
	var named []string
	for name, file := range map[string]string{cert: files.Cert, key: files.Key, ca: files.CA} {
		if file != "" {
			named = append(named, prefix+name)
		}
	}
	if (files.Cert == "") != (files.Key == "") {
		return nil, fmt.Errorf("%s%s and %s%s: a certificate and its key are set together", prefix, cert, prefix, key)
	}
	if named == nil {
		return nil, nil
	}
	set, err := Open(files)
	if err != nil {
		slices.Sort(named)
		return nil, fmt.Errorf("%s: %w", strings.Join(named, ", "), err)
	}
	return set, nil
}

// RereadEvery is how often files are looked at. A secret of Kubernetes takes up to a minute to
// arrive anyway.
const RereadEvery = 5 * time.Second

// A Part reads the files of a Set again when they change, from Start to Stop, and when Reload is
// called.
type Part struct {
	set     *Set
	what    string // for the log: the variables
	changed func()
	logger  *slog.Logger
	end     context.CancelFunc
}

// NewPart makes the part of a set. what names its variables. changed is called after a change.
func NewPart(set *Set, what string, changed func(), logger *slog.Logger) *Part {
	return &Part{set: set, what: what, changed: changed, logger: logger}
}

// String names the variables of the files.
func (p *Part) String() string { return p.what }

// Start looks at the files at intervals.
func (p *Part) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	p.end = cancel
	go p.set.Watch(ctx, RereadEvery, func(err error) {
		if err != nil {
			p.logger.Error("not read again: what was read before stays in effect", "what", p.what, "err", err)
			return
		}
		p.changed()
		p.logger.Info("read again", "what", p.what, "expires", p.set.Expires())
	})
}

// Stop ends that.
func (p *Part) Stop() { p.end() }

// Reload reads the files again. What was wrong before is wrong again.
func (p *Part) Reload() error {
	changed, err := p.set.Reload()
	if errors.Is(err, ErrSame) {
		return errors.New("the files are as they were refused before")
	}
	if changed {
		p.changed()
	}
	return err
}
