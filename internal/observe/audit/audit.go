// Package audit writes events as a hash chain: append-only JSON lines, each with the hash of the
// line before it. It also verifies such files, and finds lines that were removed, changed or
// inserted.
//
// The package does not decide the outcome of a run; package proxy does. The chain has no key. It
// shows that a line is missing, but it cannot show that somebody has written the whole file anew.
// To show that too, Holdpoint sends the head of the chain (Head) elsewhere at intervals, for
// example to the log.
//
// docs/audit.md describes the meaning of the lines, docs/audit.schema.json their JSON Schema.
package audit

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"holdpoint/internal/event"
)

// Options configure a Log.
type Options struct {
	// Path is the path of the file. Open creates the file if it does not exist. If Path is "", the
	// lines go to Writer, and every process begins a chain of its own.
	Path   string
	Writer io.Writer

	Payload bool // lines contain the questions and answers themselves, not only digests
	// NoComments omits the comments that people add to their decisions, because a comment may
	// contain personal data.
	NoComments bool
	Sync       bool // Take returns only after its line is on the disk

	Logger *slog.Logger // nil: log lines are discarded
	Now    func() time.Time
}

// A Log is an event.Sink that writes a chain. It is safe for concurrent use. Only one process may
// write to a file at a time: a second Open of the same file fails.
type Log struct {
	opts Options

	mu              sync.Mutex
	file            *os.File // nil if lines go to Writer, or after Close
	out             io.Writer
	lastLink        link
	torn            []byte // the bytes after the last complete line, left by a write that failed
	newline         bool   // the last line is complete except for its newline
	missedEvents    uint64 // how many events could not be written since the last line
	failedEvents    uint64 // how many events could not be written since the process started
	lastWriteFailed bool   // the last write failed, and the log says so
}

var _ event.Sink = (*Log)(nil)

// A link identifies a line of the chain. The next line contains the hash of this line.
type link struct {
	seq  uint64
	hash string
}

// errClosed is the error of Reopen and of a write after Close.
var errClosed = errors.New("audit: the file is closed")

// Open opens the file and finds the end of its chain. If a crash left an incomplete last line, that
// line stays in the file, and Open writes a line of recovery after it.
func Open(o Options) (*Log, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Log{opts: o, out: o.Writer, lastLink: link{hash: noPrevious}}
	if o.Path == "" {
		return l, l.writeFirstLine()
	}
	f, end, err := open(o.Path)
	if err != nil {
		return nil, err
	}
	if err := l.useFile(f, end); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// errInUse is the error of Open if another process writes to the file.
var errInUse = errors.New(textInUse)

// open opens the file of a chain, locks it, and finds the end of the chain.
func open(path string) (*os.File, chainEnd, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, chainEnd{}, err
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, chainEnd{}, fmt.Errorf("audit: %s is %w: %w", path, errInUse, err)
	}
	end, err := readEnd(f)
	if err != nil {
		f.Close()
		return nil, chainEnd{}, fmt.Errorf("audit: %s: %w", path, err)
	}
	return f, end, nil
}

// useFile makes f the file to which lines are written. The caller holds l.mu, except in Open, where
// no other goroutine uses l yet.
func (l *Log) useFile(f *os.File, end chainEnd) error {
	l.file, l.out = f, f
	l.torn, l.newline = end.torn, end.newline
	switch {
	case end.empty && l.lastLink.seq > 0:
		return nil // the next line contains the hash of the last line of the old file
	case end.empty:
		return l.writeFirstLine()
	}
	l.lastLink = end.last
	if len(end.torn) > 0 {
		l.opts.Logger.Error(logTornLine,
			"file", l.opts.Path, "bytes", len(end.torn), "behind_seq", end.last.seq)
		return l.recoverTorn()
	}
	return nil
}

// writeFirstLine writes the first line of a new chain.
func (l *Log) writeFirstLine() error {
	return l.appendLine(&line{Event: kindBegun})
}

// recoverTorn writes the line of recovery. It describes the incomplete line that precedes it.
func (l *Log) recoverTorn() error {
	return l.appendLine(&line{Event: kindRecovered, Torn: &tornLine{Bytes: len(l.torn), SHA256: hashOf(l.torn)}})
}

// Take implements event.Sink. It writes one line. Take counts the events that cannot be written,
// and the next line that can be written contains that count.
func (l *Log) Take(e *event.Event) error {
	l.mu.Lock()
	err := l.take(e)
	sync, f := err == nil && l.opts.Sync, l.file
	l.mu.Unlock()
	if sync && f != nil {
		if err := f.Sync(); err != nil && !errors.Is(err, os.ErrClosed) { // ErrClosed: Reopen has synced the file
			return fmt.Errorf("audit: %w", err)
		}
	}
	return err
}

func (l *Log) take(e *event.Event) error {
	err := l.write(e)
	switch {
	case err != nil:
		l.missedEvents++
		l.failedEvents++
		if !l.lastWriteFailed {
			l.opts.Logger.Error(logCannotWrite, "err", err)
		}
		l.lastWriteFailed = true
	case l.lastWriteFailed:
		l.lastWriteFailed = false
		l.opts.Logger.Warn(logWritesAgain)
	}
	return err
}

func (l *Log) write(e *event.Event) error {
	if l.out == nil {
		return errClosed
	}
	if len(l.torn) > 0 {
		if err := l.recoverTorn(); err != nil {
			return err
		}
	}
	n := lineOf(e, &l.opts)
	n.Missed = l.missedEvents
	if err := l.appendLine(n); err != nil {
		return err
	}
	l.missedEvents = 0
	return nil
}

// appendLine adds n to the end of the chain: it sets the fields that link n to the last line, and
// writes n.
func (l *Log) appendLine(n *line) error {
	if n.Time == "" {
		n.Time = stamp(l.opts.Now())
	}
	n.V, n.Seq, n.Prev = version, l.lastLink.seq+1, l.lastLink.hash
	text, err := n.encode()
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	b := append(make([]byte, 0, len(text)+2), '\n')
	if !l.newline && len(l.torn) == 0 {
		b = b[:0]
	}
	b = append(append(b, text...), '\n')
	wrote, err := l.out.Write(b)
	switch {
	case err != nil && wrote >= len(b)-1: // the line is complete except for its newline
		l.newline = true
	case err != nil && l.newline && wrote == 1:
		l.newline = false
		return fmt.Errorf("audit: %w", err)
	case err != nil && l.newline && wrote > 1:
		l.newline = false
		l.torn = append(l.torn, b[1:wrote]...)
		return fmt.Errorf("audit: %w", err)
	case err != nil:
		l.torn = append(l.torn, b[:wrote]...)
		return fmt.Errorf("audit: %w", err)
	default:
		l.newline = false
	}
	l.torn = nil
	l.lastLink = link{n.Seq, hashOf(text)}
	return nil
}

// Reopen opens the file at Path again, because the old file may have been renamed. The chain
// continues: the first line of a new file contains the hash of the last line of the old file. If
// the new file cannot be opened, lines go to the old file as before.
func (l *Log) Reopen() error {
	if l.opts.Path == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return errClosed
	}
	if sameFile(l.file, l.opts.Path) {
		return nil
	}
	f, end, err := open(l.opts.Path)
	if err != nil {
		return err
	}
	before := l.file
	if len(l.torn) > 0 { // the line of recovery must be in the old file
		if err := l.recoverTorn(); err != nil {
			l.opts.Logger.Error(logOldFileTorn, "err", err)
		}
	}
	if err := l.useFile(f, end); err != nil {
		l.opts.Logger.Error(logNewFile, "err", err)
	}
	_ = before.Sync()
	return before.Close()
}

// sameFile reports whether path still names the open file f.
func sameFile(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(open, there)
}

// A Head is the end of a chain. If somebody has stored a Head outside the file, Verify can use it
// to show that the file still contains what was written until that time.
type Head struct {
	Seq          uint64 // the number of the last line; lines count from 1
	Hash         string // SHA-256 of the last line, in hex
	FailedEvents uint64 // how many events could not be written since the process started
}

// String returns the head as "seq:hash", the form that ParseHead reads.
func (h Head) String() string { return fmt.Sprintf("%d:%s", h.Seq, h.Hash) }

// shortHash is the number of hex digits that Number uses, and the smallest number that ParseHead
// accepts. A metric is a float64, and a float64 can represent 13 hex digits exactly.
const shortHash = 13

// Number returns the first shortHash digits of the hash as a number, for a metric. It returns 0 if
// the chain has no line.
func (h Head) Number() float64 {
	if h.Seq == 0 || len(h.Hash) < shortHash {
		return 0
	}
	n, err := strconv.ParseUint(h.Hash[:shortHash], 16, 64)
	if err != nil {
		return 0 // cannot happen: a hash consists of hex digits
	}
	return float64(n)
}

// Head returns the current end of the chain.
func (l *Log) Head() Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Head{Seq: l.lastLink.seq, Hash: l.lastLink.hash, FailedEvents: l.failedEvents}
}

// Close closes the file. Take returns errClosed for later events.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.file
	l.file, l.out = nil, nil
	if f == nil {
		return nil
	}
	return errors.Join(f.Sync(), f.Close())
}
