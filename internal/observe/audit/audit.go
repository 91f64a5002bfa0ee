// Package audit writes events down as a chain: append-only JSON lines, each with the hash of the
// one before. It also reads such files and finds a line that was taken out or changed.
//
// It deliberately does not decide what happens to a run; package proxy does. It has no key: a chain
// shows a gap, and not a file that was written anew. For that the head of the chain is told to
// somebody else at intervals (Head), such as the log.
//
// docs/audit.md says what a line means, docs/audit.schema.json which form it has.
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

// Options of a Log.
type Options struct {
	// Path of the file, which is made if it is not there. "": Writer is written to, and every
	// process begins a chain of its own.
	Path   string
	Writer io.Writer

	Payload bool // the lines hold what was asked and answered, and not only its digests
	// NoComments leaves out what those have noted who decided: it may be personal data.
	NoComments bool
	Sync       bool // each line is on the disk before Take returns

	Logger *slog.Logger // nil: discarded
	Now    func() time.Time
}

// A Log is an event.Sink that writes a chain. It is safe for concurrent use. One process writes to
// a file at a time: a second Open of the same file fails.
type Log struct {
	opts Options

	mu      sync.Mutex
	file    *os.File // nil if there is none
	out     io.Writer
	last    link
	torn    []byte // what stands behind the last whole line, and is none
	newline bool   // the last line lacks its end
	missed  uint64 // events since the last line that could not be written
	failed  uint64 // the same, of all time
	down    bool   // the last line could not be written; said once
}

var _ event.Sink = (*Log)(nil)

// A link is a line as the next one names it.
type link struct {
	seq  uint64
	hash string
}

// errClosed is a line behind Close.
var errClosed = errors.New("audit: the file is closed")

// Open opens the file and finds the end of its chain. What a crash left of a last line stays in the
// file, and a line of recovery says so.
func Open(o Options) (*Log, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Log{opts: o, out: o.Writer, last: link{hash: none}}
	if o.Path == "" {
		return l, l.begin()
	}
	f, end, err := open(o.Path)
	if err != nil {
		return nil, err
	}
	if err := l.goOn(f, end); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// errInUse is the error of Open for a file that another process writes to.
var errInUse = errors.New("in use by another process")

// open opens a file of a chain, takes its lock, and reads where it ends.
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

// goOn makes the file the one that is written to. The lock is held, or nobody else knows the Log.
func (l *Log) goOn(f *os.File, end chainEnd) error {
	l.file, l.out = f, f
	l.torn, l.newline = end.torn, end.newline
	switch {
	case end.empty && l.last.seq > 0:
		return nil // the next line has the hash of the last file's last one
	case end.empty:
		return l.begin()
	}
	l.last = end.last
	if len(end.torn) > 0 {
		l.opts.Logger.Error("audit: the last line was torn, probably by a crash: it stays as it is, and a line of recovery follows",
			"file", l.opts.Path, "bytes", len(end.torn), "behind_seq", end.last.seq)
		return l.recoverTorn()
	}
	return nil
}

// begin writes the first line of a new chain.
func (l *Log) begin() error {
	return l.put(&line{Event: begun})
}

// recoverTorn writes the line that says what stands before it and is not a line.
func (l *Log) recoverTorn() error {
	return l.put(&line{Event: recovered, Torn: &tornLine{Bytes: len(l.torn), SHA256: hashOf(l.torn)}})
}

// Take implements event.Sink. It writes one line. An event that could not be written is counted,
// and the next line says how many there were.
func (l *Log) Take(e *event.Event) error {
	l.mu.Lock()
	err := l.take(e)
	sync, f := err == nil && l.opts.Sync, l.file
	l.mu.Unlock()
	if sync && f != nil {
		if err := f.Sync(); err != nil && !errors.Is(err, os.ErrClosed) { // closed: Reopen has synced it
			return fmt.Errorf("audit: %w", err)
		}
	}
	return err
}

func (l *Log) take(e *event.Event) error {
	err := l.write(e)
	switch {
	case err != nil:
		l.missed++
		l.failed++
		if !l.down {
			l.opts.Logger.Error("audit: lines cannot be written. The end of this is logged, single lines are not", "err", err)
		}
		l.down = true
	case l.down:
		l.down = false
		l.opts.Logger.Warn("audit: lines can be written again; the first one says how many are missing")
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
	n.Missed = l.missed
	if err := l.put(n); err != nil {
		return err
	}
	l.missed = 0
	return nil
}

// put writes a line with its place in the chain.
func (l *Log) put(n *line) error {
	if n.Time == "" {
		n.Time = stamp(l.opts.Now())
	}
	n.V, n.Seq, n.Prev = version, l.last.seq+1, l.last.hash
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
	case err != nil && wrote >= len(b)-1: // all but its end
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
	l.last = link{n.Seq, hashOf(text)}
	return nil
}

// Reopen opens the file anew, which somebody may have moved away. The chain goes on: the first line
// of a new file has the hash of the last one of the file before. If the file cannot be opened the
// one before is written on.
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
	if len(l.torn) > 0 { // it belongs to the file that it stands in
		if err := l.recoverTorn(); err != nil {
			l.opts.Logger.Error("audit: the file before ends in a torn line", "err", err)
		}
	}
	if err := l.goOn(f, end); err != nil {
		l.opts.Logger.Error("audit: the new file cannot be written", "err", err)
	}
	_ = before.Sync()
	return before.Close()
}

// sameFile reports whether the path still leads to the open file.
func sameFile(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(open, there)
}

// A Head is the end of a chain. Whoever keeps it can say later whether a file is the one that was
// written then.
type Head struct {
	Seq    uint64 // of the last line; lines count from 1
	Hash   string // of the last line, SHA-256 in hex
	Failed uint64 // events that could not be written, since the start
}

// String returns the form that holdpoint audit verify -head takes.
func (h Head) String() string { return fmt.Sprintf("%d:%s", h.Seq, h.Hash) }

// shortHash is how many digits of a hash Number has, and the fewest that ParseHead takes. 13 hex
// digits are what a float64 holds exactly, and metrics are float64.
const shortHash = 13

// Number returns the beginning of the hash as a number, for a metric. It is 0 where there is no
// line.
func (h Head) Number() float64 {
	if h.Seq == 0 || len(h.Hash) < shortHash {
		return 0
	}
	n, err := strconv.ParseUint(h.Hash[:shortHash], 16, 64)
	if err != nil {
		return 0 // a hash is hex
	}
	return float64(n)
}

// Head returns the end of the chain by now.
func (l *Log) Head() Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Head{Seq: l.last.seq, Hash: l.last.hash, Failed: l.failed}
}

// Close ends the Log. Events that come later fail.
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
