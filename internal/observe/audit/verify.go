package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// A Report is the result of Verify.
type Report struct {
	Lines    int      // whole lines
	Head     Head     // of the last line
	Problems []string // lines that were removed, changed or inserted, each with its place
	Notes    []string // what a reader should know, although it is not a problem by itself
	seen     bool     // the line of KeptHeads.Head was found
}

// ParseHead reads the form of Head.String. The hash may be cut to the digits of Head.Number.
func ParseHead(text string) (Head, error) {
	seq, hash, ok := strings.Cut(text, ":")
	n, err := strconv.ParseUint(seq, 10, 64)
	if !ok || err != nil || len(hash) < shortHash || len(hash) > len(none) || strings.Trim(hash, "0123456789abcdef") != "" {
		return Head{}, fmt.Errorf("want seq:hash, as the log has it under head, or at least %d digits of the hash", shortHash)
	}
	return Head{Seq: n, Hash: hash}, nil
}

// KeptHeads are heads that were kept elsewhere. A nil head is not checked.
type KeptHeads struct {
	// After is the last head of earlier files, which are not among the files to verify. The first
	// line must follow it. Without After the chain must begin in the first file.
	After *Head
	// Head identifies a line that must be in the files.
	Head *Head
}

// Verify reads the files of a chain, the oldest first. It returns an error if a file cannot be
// read.
func Verify(paths []string, kept KeptHeads) (Report, error) {
	head := kept.Head
	v := verifier{want: head, after: kept.After, chains: map[string]string{}}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return v.Report, err
		}
		err = v.file(path, f)
		f.Close()
		if err != nil {
			return v.Report, fmt.Errorf("%s: %w", path, err)
		}
	}
	if head != nil && !v.seen {
		v.problem("", "no line has seq %d and the hash of the head that was given: lines are missing, or the file was written anew", head.Seq)
	}
	v.Head = Head{Seq: v.last.seq, Hash: v.last.hash}
	return v.Report, nil
}

type verifier struct {
	Report
	want   *Head
	after  *Head
	chains map[string]string // where each chain begins, by the hash of its first line
	last   link              // the last line that was read; zero before the first one
	time   string            // of the last line
	place  string
	odd    []byte // the bytes after the last line, if they are not a line
	oddAt  string
}

func (v *verifier) problem(place, format string, args ...any) {
	v.Problems = append(v.Problems, place+fmt.Sprintf(format, args...))
}

func (v *verifier) note(place, format string, args ...any) {
	v.Notes = append(v.Notes, place+fmt.Sprintf(format, args...))
}

func (v *verifier) file(name string, r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for at := 1; ; at++ {
		text, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		ended := bytes.HasSuffix(text, []byte("\n"))
		if text = bytes.TrimSuffix(text, []byte("\n")); len(text) > 0 || ended {
			v.line(fmt.Sprintf("%s:%d: ", name, at), text)
		}
		if err != nil {
			break
		}
	}
	if v.oddAt != "" {
		v.problem(v.oddAt, "this is no audit line, and no line of recovery follows: it was torn, changed or put in")
		v.odd, v.oddAt = nil, ""
	}
	return nil
}

// line checks one line.
func (v *verifier) line(place string, text []byte) {
	n, ok := read(text)
	if !ok {
		if v.oddAt == "" {
			v.oddAt, v.odd = place, bytes.Clone(text)
		} else {
			v.odd = append(append(v.odd, '\n'), text...)
		}
		return
	}
	if v.oddAt != "" {
		v.checkOdd(place, &n)
	}
	v.chain(place, &n, hashOf(text))
	if n.Missed > 0 {
		v.note(place, "%d events before it could not be written", n.Missed)
	}
	v.last, v.place, v.time = link{n.Seq, hashOf(text)}, place, n.Time
	v.seen = v.seen || v.want != nil && v.want.Seq == v.last.seq && strings.HasPrefix(v.last.hash, v.want.Hash)
	v.Lines++
}

// checkOdd checks whether n is the line of recovery for the bytes before it, which are not a line.
func (v *verifier) checkOdd(place string, n *line) {
	t := n.Torn
	if n.Event == recovered && t != nil && t.Bytes == len(v.odd) && t.SHA256 == hashOf(v.odd) {
		v.note(place, "the line before it was torn (%d bytes), and the writer went on behind it", t.Bytes)
	} else {
		v.problem(v.oddAt, "this is no audit line, and the next one does not say so: it was changed or put in")
	}
	v.odd, v.oddAt = nil, ""
}

// chain checks that a line follows the line before it.
func (v *verifier) chain(place string, n *line, hash string) {
	first := v.Lines == 0
	begins := n.Seq == 1 && n.Prev == none // any event: after an incomplete first line a chain begins with a line of recovery
	if begins {
		if at, twice := v.chains[hash]; twice {
			v.problem(place, "the chain that begins here was read already (%s): a file was given twice", strings.TrimSuffix(at, ": "))
			return
		}
		v.chains[hash] = place
	}
	switch {
	case first && v.after != nil:
		if n.Seq != v.after.Seq+1 || !strings.HasPrefix(n.Prev, v.after.Hash) {
			v.problem(place, "seq %d does not follow the head that was given with -after (seq %d): lines are missing, or the files are not in their order", n.Seq, v.after.Seq)
		}
	case first && begins:
	case first:
		v.problem(place, "seq 1 to %d are missing before it: give the files before as well, the oldest first, or their head with -after %d:%s", n.Seq-1, n.Seq-1, n.Prev)
	case begins && n.Event == begun && earlier(n.Time, v.time):
		v.problem(place, "the chain that begins here, at %s, is older than the line before it, of %s: the files are not in their order, or the clock was set back", n.Time, v.time)
	case begins && n.Event == begun:
		v.note(place, "a new chain begins here, at %s: what stands before it is of another", n.Time)
	case n.Prev == v.last.hash && n.Seq == v.last.seq+1:
	case n.Prev == v.last.hash:
		v.problem(place, "its seq is %d, want %d: it was changed", n.Seq, v.last.seq+1)
	case n.Seq == v.last.seq+1:
		v.problem(v.place, "seq %d is not what the next line (seq %d) has the hash of: it was changed", v.last.seq, n.Seq)
	case n.Seq == v.last.seq+2:
		v.problem(place, "seq %d is missing before it: the line was taken out", n.Seq-1)
	case n.Seq > v.last.seq:
		v.problem(place, "seq %d to %d are missing before it: the lines were taken out", v.last.seq+1, n.Seq-1)
	default:
		v.problem(place, "seq %d stands behind seq %d: it was moved or put in", n.Seq, v.last.seq)
	}
}

// earlier reports whether time a is before time b. It is false if one of them is not a time.
func earlier(a, b string) bool {
	at, err := time.Parse(time.RFC3339, a)
	before, wrong := time.Parse(time.RFC3339, b)
	return err == nil && wrong == nil && at.Before(before)
}
