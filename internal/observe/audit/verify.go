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
	Lines int  // the number of valid lines
	Head  Head // the head of the last line
	// the lines that were removed, changed or inserted, each with file and line number
	Problems []string
	// facts that a reader should know, although they are not problems by themselves
	Notes     []string
	headFound bool // the line that StoredHeads.Head identifies was found
}

// ParseHead reads "seq:hash", the form of Head.String. The hash may be shortened, but not below the
// digits that Head.Number uses.
func ParseHead(text string) (Head, error) {
	seq, hash, ok := strings.Cut(text, ":")
	n, err := strconv.ParseUint(seq, 10, 64)
	if !ok || err != nil || len(hash) < shortHash || len(hash) > len(noPrevious) || strings.Trim(hash, "0123456789abcdef") != "" {
		return Head{}, fmt.Errorf(textHeadForm, shortHash)
	}
	return Head{Seq: n, Hash: hash}, nil
}

// StoredHeads are heads that somebody has stored outside the files. A nil head is not checked.
type StoredHeads struct {
	// After is the last head of earlier files, which Verify does not read. The first line must
	// follow this head. Without After the chain must begin in the first file.
	After *Head
	// Head identifies a line that must be in the files.
	Head *Head
}

// Verify reads and checks the files of a chain, the oldest file first. It returns an error only if
// a file cannot be read.
func Verify(paths []string, stored StoredHeads) (Report, error) {
	head := stored.Head
	v := verifier{wantHead: head, after: stored.After, chains: map[string]string{}}
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
	if head != nil && !v.headFound {
		v.problem("", textHeadMissing, head.Seq)
	}
	v.Head = Head{Seq: v.last.seq, Hash: v.last.hash}
	return v.Report, nil
}

type verifier struct {
	Report
	wantHead     *Head
	after        *Head
	chains       map[string]string // maps the hash of the first line of each chain to its place
	last         link              // the last line that was read; zero before the first one
	time         string            // the time of the last line
	place        string
	invalidBytes []byte // the bytes after the last line, if they are not a valid line
	invalidPlace string
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
	if v.invalidPlace != "" {
		v.problem(v.invalidPlace, textOddEnd)
		v.invalidBytes, v.invalidPlace = nil, ""
	}
	return nil
}

// line checks one line. place names its file and line number.
func (v *verifier) line(place string, text []byte) {
	n, ok := read(text)
	if !ok {
		if v.invalidPlace == "" {
			v.invalidPlace, v.invalidBytes = place, bytes.Clone(text)
		} else {
			v.invalidBytes = append(append(v.invalidBytes, '\n'), text...)
		}
		return
	}
	if v.invalidPlace != "" {
		v.checkInvalid(place, &n)
	}
	v.chain(place, &n, hashOf(text))
	if n.Missed > 0 {
		v.note(place, textMissed, n.Missed)
	}
	v.last, v.place, v.time = link{n.Seq, hashOf(text)}, place, n.Time
	v.headFound = v.headFound || v.wantHead != nil && v.wantHead.Seq == v.last.seq && strings.HasPrefix(v.last.hash, v.wantHead.Hash)
	v.Lines++
}

// checkInvalid is called if the bytes before n are not a valid line. If n is their line of
// recovery, checkInvalid adds a note, and otherwise a problem.
func (v *verifier) checkInvalid(place string, n *line) {
	t := n.Torn
	if n.Event == kindRecovered && t != nil && t.Bytes == len(v.invalidBytes) && t.SHA256 == hashOf(v.invalidBytes) {
		v.note(place, textTornBefore, t.Bytes)
	} else {
		v.problem(v.invalidPlace, textOddLine)
	}
	v.invalidBytes, v.invalidPlace = nil, ""
}

// chain checks that n follows the line before it, and adds a problem if it does not.
func (v *verifier) chain(place string, n *line, hash string) {
	first := v.Lines == 0
	// of any kind: if the first line is incomplete, a line of recovery is the first valid line
	begins := n.Seq == 1 && n.Prev == noPrevious
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
	case begins && n.Event == kindBegun && isEarlier(n.Time, v.time):
		v.problem(place, textOlderChain, n.Time, v.time)
	case begins && n.Event == kindBegun:
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

// isEarlier reports whether the time a is before the time b. It returns false if one of them is not
// a valid time.
func isEarlier(a, b string) bool {
	at, err := time.Parse(time.RFC3339, a)
	before, wrong := time.Parse(time.RFC3339, b)
	return err == nil && wrong == nil && at.Before(before)
}
