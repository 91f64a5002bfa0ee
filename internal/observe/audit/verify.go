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
		return Head{}, fmt.Errorf(textHeadForm, shortHash)
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
		v.problem("", textHeadMissing, head.Seq)
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
		v.problem(v.oddAt, textOddEnd)
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
		v.note(place, textMissed, n.Missed)
	}
	v.last, v.place, v.time = link{n.Seq, hashOf(text)}, place, n.Time
	v.seen = v.seen || v.want != nil && v.want.Seq == v.last.seq && strings.HasPrefix(v.last.hash, v.want.Hash)
	v.Lines++
}

// checkOdd checks whether n is the line of recovery for the bytes before it, which are not a line.
func (v *verifier) checkOdd(place string, n *line) {
	t := n.Torn
	if n.Event == recovered && t != nil && t.Bytes == len(v.odd) && t.SHA256 == hashOf(v.odd) {
		v.note(place, textTornBefore, t.Bytes)
	} else {
		v.problem(v.oddAt, textOddLine)
	}
	v.odd, v.oddAt = nil, ""
}

// chain checks that a line follows the line before it.
func (v *verifier) chain(place string, n *line, hash string) {
	first := v.Lines == 0
	begins := n.Seq == 1 && n.Prev == none // any event: after an incomplete first line a chain begins with a line of recovery
	if begins {
		if at, twice := v.chains[hash]; twice {
			v.problem(place, textReadTwice, strings.TrimSuffix(at, ": "))
			return
		}
		v.chains[hash] = place
	}
	switch {
	case first && v.after != nil:
		if n.Seq != v.after.Seq+1 || !strings.HasPrefix(n.Prev, v.after.Hash) {
			v.problem(place, textNotAfter, n.Seq, v.after.Seq)
		}
	case first && begins:
	case first:
		v.problem(place, textFilesMissing, n.Seq-1, n.Seq-1, n.Prev)
	case begins && n.Event == begun && earlier(n.Time, v.time):
		v.problem(place, textOlderChain, n.Time, v.time)
	case begins && n.Event == begun:
		v.note(place, textNewChain, n.Time)
	case n.Prev == v.last.hash && n.Seq == v.last.seq+1:
	case n.Prev == v.last.hash:
		v.problem(place, textSeqChanged, n.Seq, v.last.seq+1)
	case n.Seq == v.last.seq+1:
		v.problem(v.place, textLineChanged, v.last.seq, n.Seq)
	case n.Seq == v.last.seq+2:
		v.problem(place, textLineMissing, n.Seq-1)
	case n.Seq > v.last.seq:
		v.problem(place, textLinesMissing, v.last.seq+1, n.Seq-1)
	default:
		v.problem(place, textLineMoved, n.Seq, v.last.seq)
	}
}

// earlier reports whether time a is before time b. It is false if one of them is not a time.
func earlier(a, b string) bool {
	at, err := time.Parse(time.RFC3339, a)
	before, wrong := time.Parse(time.RFC3339, b)
	return err == nil && wrong == nil && at.Before(before)
}
