package audit

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"holdpoint/internal/variables"
)

// Settings are the variables of the audit.
type Settings struct {
	To       Target   `env:"AUDIT" envDefault:"off" short:"write down who asked and answered what: off, stdout or file:///path" doc:"where to write down who asked and answered what (docs/audit.md): off, stdout, or a file such as file:///var/log/holdpoint/audit.jsonl. One process writes to a file"`
	Content  Contents `env:"AUDIT_PAYLOAD" envDefault:"false" doc:"true: write the questions, the arguments of their calls and the answers into the audit, and not only digests of them. none: leave out the comments of the desk as well"`
	Required bool     `env:"AUDIT_REQUIRED" envDefault:"false" doc:"refuse an answer with AUDIT_UNAVAILABLE if it cannot be written down before it is handed on. Each line is on the disk then before anything goes on"`
}

// A Target is HOLDPOINT_AUDIT: off, stdout, or the file's path after file://.
type Target string

const (
	off    = "off"
	stdout = "stdout"
)

// UnmarshalText reads one of the three.
func (a *Target) UnmarshalText(text []byte) error {
	*a = Target(text)
	if *a == off || *a == stdout {
		return nil
	}
	u, err := url.Parse(string(text))
	switch {
	case err != nil || u.Scheme != "file":
		return errors.New("want off, stdout or a file such as file:///var/log/holdpoint/audit.jsonl")
	case u.Host != "" || u.Opaque != "" || u.RawQuery != "" || u.Fragment != "" || u.Path == "" || u.Path == "/":
		return errors.New("want the file's whole path behind three slashes, such as file:///var/log/holdpoint/audit.jsonl")
	}
	return nil
}

// String returns the form that is read.
func (a Target) String() string { return string(a) }

// path returns the file's path, or "" if there is no file.
func (a Target) path() string {
	if a == off || a == stdout {
		return ""
	}
	u, err := url.Parse(string(a))
	if err != nil {
		return "" // UnmarshalText has judged it
	}
	return filepath.FromSlash(u.Path)
}

// Contents is HOLDPOINT_AUDIT_PAYLOAD: a bool, or none.
type Contents string

const (
	contentNone  Contents = "none"
	contentFalse Contents = "false"
	contentTrue  Contents = "true"
)

// UnmarshalText reads one of the three.
func (c *Contents) UnmarshalText(text []byte) error {
	if *c = Contents(text); *c == contentNone {
		return nil
	}
	b, err := strconv.ParseBool(string(text))
	if err != nil {
		return errors.New("want true, false or none")
	}
	if *c = contentFalse; b {
		*c = contentTrue
	}
	return nil
}

// String returns the form that is read.
func (c Contents) String() string { return string(c) }

// Check returns what is wrong with the settings.
func (s *Settings) Check() []error {
	var errs []error
	if s.To != off {
		return nil
	}
	without := errors.New("there is no audit, want HOLDPOINT_AUDIT set as well")
	if s.Required {
		errs = append(errs, variables.At("AUDIT_REQUIRED", without))
	}
	if s.Content != contentFalse {
		errs = append(errs, variables.At("AUDIT_PAYLOAD", without))
	}
	return errs
}

// A Part is the audit of a process, which logs its head. A nil Part is one that is switched off.
type Part struct {
	*Log
	settings *Settings
	logger   *slog.Logger
	every    time.Duration
	end      chan struct{}
	ended    chan struct{}
}

// headEvery is how often the head of the audit is logged, if it has moved.
const headEvery = time.Minute

// lookEvery is how often a file is tried that another process writes to.
const lookEvery = 50 * time.Millisecond

// New opens the audit, or returns nil if none is wanted. It waits while another process writes to
// the file: a pod's successor starts before the pod has ended. The error is the cause of ctx if
// that ends first. On Windows such a file is an error at once.
func (s *Settings) New(ctx context.Context, logger *slog.Logger) (*Part, error) {
	if s.To == off {
		return nil, nil
	}
	o := Options{
		Path: s.To.path(), Writer: os.Stdout, Sync: s.Required, Logger: logger,
		Payload: s.Content == contentTrue, NoComments: s.Content == contentNone,
	}
	log, err := Open(o)
	if errors.Is(err, errInUse) {
		logger.Warn("another process writes to the file of the audit: this one waits until that has ended", "file", o.Path)
	}
	for errors.Is(err, errInUse) {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lookEvery):
		}
		log, err = Open(o)
	}
	if err != nil {
		return nil, err
	}
	return &Part{Log: log, settings: s, logger: logger, every: headEvery, end: make(chan struct{}), ended: make(chan struct{})}, nil
}

// Head returns the head of the chain, the zero Head without an audit.
func (p *Part) Head() Head {
	if p == nil {
		return Head{}
	}
	return p.Log.Head()
}

// Start logs the head at intervals. Whoever writes a file anew cannot write the log anew as well.
func (p *Part) Start() {
	go func() {
		defer close(p.ended)
		ticker := time.NewTicker(p.every)
		defer ticker.Stop()
		var last Head
		for {
			last = p.logHead(last)
			select {
			case <-ticker.C:
			case <-p.end:
				return
			}
		}
	}()
}

// Reload opens the file again, which may have been renamed, and logs the head. It does nothing if
// there is no file.
func (p *Part) Reload() error {
	err := p.Reopen()
	p.logHead(Head{})
	return err
}

// HasFile reports whether the audit is in a file.
func (p *Part) HasFile() bool { return p != nil && p.settings.To.path() != "" }

// Stop logs where the chain has ended, and closes the file.
func (p *Part) Stop() {
	close(p.end)
	<-p.ended
	p.logHead(Head{})
	if err := p.Close(); err != nil {
		p.logger.Error("the audit did not close well", "err", err)
	}
}

// logHead logs the head if it is not last.
func (p *Part) logHead(last Head) Head {
	head := p.Head()
	if head != last {
		p.logger.Info("audit head", "head", head.String(), "failed", head.Failed)
	}
	return head
}
