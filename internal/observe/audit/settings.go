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
	Target   Target   `env:"AUDIT" envDefault:"off" short:"record of who asked and who answered what: off, stdout or file:///path" doc:"where Holdpoint records who asked and who answered what (docs/audit.md): off, stdout, or a file such as file:///var/log/holdpoint/audit.jsonl. Each process needs a file of its own"`
	Content  Contents `env:"AUDIT_PAYLOAD" envDefault:"false" doc:"true: the audit contains the questions, the arguments of their calls and the answers, instead of their digests. none: it does not even contain the comments of the desk"`
	Required bool     `env:"AUDIT_REQUIRED" envDefault:"false" doc:"true: refuse an answer with AUDIT_UNAVAILABLE if it cannot be recorded before it is sent to the agent. Each line is then on the disk before the next step"`
}

// A Target is the value of HOLDPOINT_AUDIT: off, stdout, or a file URL such as
// file:///var/log/holdpoint/audit.jsonl.
type Target string

const (
	off    = "off"
	stdout = "stdout"
)

// UnmarshalText reads off, stdout or a file URL.
func (a *Target) UnmarshalText(text []byte) error {
	*a = Target(text)
	if *a == off || *a == stdout {
		return nil
	}
	u, err := url.Parse(string(text))
	switch {
	case err != nil || u.Scheme != "file":
		return errors.New(textTarget)
	case u.Host != "" || u.Opaque != "" || u.RawQuery != "" || u.Fragment != "" || u.Path == "" || u.Path == "/":
		return errors.New(textWholePath)
	}
	return nil
}

// String returns the text that UnmarshalText has read.
func (a Target) String() string { return string(a) }

// path returns the path of the file, or "" if the audit is off or goes to stdout.
func (a Target) path() string {
	if a == off || a == stdout {
		return ""
	}
	u, err := url.Parse(string(a))
	if err != nil {
		return "" // cannot happen: UnmarshalText has checked the URL
	}
	return filepath.FromSlash(u.Path)
}

// Contents is the value of HOLDPOINT_AUDIT_PAYLOAD: true, false or none.
type Contents string

const (
	contentNone  Contents = "none"
	contentFalse Contents = "false"
	contentTrue  Contents = "true"
)

// UnmarshalText reads true, false or none.
func (c *Contents) UnmarshalText(text []byte) error {
	if *c = Contents(text); *c == contentNone {
		return nil
	}
	b, err := strconv.ParseBool(string(text))
	if err != nil {
		return errors.New(textContents)
	}
	if *c = contentFalse; b {
		*c = contentTrue
	}
	return nil
}

// String returns true, false or none, as UnmarshalText reads them.
func (c Contents) String() string { return string(c) }

// Check returns what is wrong with the settings.
func (s *Settings) Check() []error {
	var errs []error
	if s.Target != off {
		return nil
	}
	without := errors.New(textNoAudit)
	if s.Required {
		errs = append(errs, variables.ErrorAt("AUDIT_REQUIRED", without))
	}
	if s.Content != contentFalse {
		errs = append(errs, variables.ErrorAt("AUDIT_PAYLOAD", without))
	}
	return errs
}

// A Part is the audit of a process. It also logs the head of the chain at intervals. A nil Part
// means that there is no audit.
type Part struct {
	*Log
	settings *Settings
	logger   *slog.Logger
	interval time.Duration
	stop     chan struct{}
	done     chan struct{}
}

// headInterval is the interval at which the head is logged, if it has changed.
const headInterval = time.Minute

// retryInterval is the interval at which New tries again to open a file that another process has
// locked.
const retryInterval = 50 * time.Millisecond

// New opens the audit, or returns nil if the audit is off. If another process has locked the file,
// New waits, because the successor of a pod starts before the pod has ended. If ctx ends first, New
// returns the cause of ctx as its error. On Windows New does not wait: a file in use is an error at
// once.
func (s *Settings) New(ctx context.Context, logger *slog.Logger) (*Part, error) {
	if s.Target == off {
		return nil, nil
	}
	o := Options{
		Path: s.Target.path(), Writer: os.Stdout, Sync: s.Required, Logger: logger,
		Payload: s.Content == contentTrue, NoComments: s.Content == contentNone,
	}
	log, err := Open(o)
	if errors.Is(err, errInUse) {
		logger.Warn(logFileInUse, "file", o.Path)
	}
	for errors.Is(err, errInUse) {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(retryInterval):
		}
		log, err = Open(o)
	}
	if err != nil {
		return nil, err
	}
	return &Part{Log: log, settings: s, logger: logger, interval: headInterval, stop: make(chan struct{}), done: make(chan struct{})}, nil
}

// Head returns the head of the chain, or the zero Head if there is no audit.
func (p *Part) Head() Head {
	if p == nil {
		return Head{}
	}
	return p.Log.Head()
}

// Start starts to log the head at intervals. If somebody writes the whole file anew, the heads in
// the log show it, because that person cannot change the log.
func (p *Part) Start() {
	go func() {
		defer close(p.done)
		ticker := time.NewTicker(p.interval)
		defer ticker.Stop()
		var last Head
		for {
			last = p.logHead(last)
			select {
			case <-ticker.C:
			case <-p.stop:
				return
			}
		}
	}()
}

// Reload opens the file again, because it may have been renamed, and logs the head. If the audit is
// written to stdout, Reload only logs the head.
func (p *Part) Reload() error {
	err := p.Reopen()
	p.logHead(Head{})
	return err
}

// HasFile reports whether the audit is written to a file.
func (p *Part) HasFile() bool { return p != nil && p.settings.Target.path() != "" }

// Stop logs the last head, and closes the file.
func (p *Part) Stop() {
	close(p.stop)
	<-p.done
	p.logHead(Head{})
	if err := p.Close(); err != nil {
		p.logger.Error(logCloseFailed, "err", err)
	}
}

// logHead logs the head of the chain if it differs from last. It returns that head.
func (p *Part) logHead(last Head) Head {
	head := p.Head()
	if head != last {
		p.logger.Info("audit head", "head", head.String(), "failed", head.FailedEvents)
	}
	return head
}
