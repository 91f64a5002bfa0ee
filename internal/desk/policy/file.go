// Package policy reads the file that says who has which rights at the desk: list, read,
// conversation, decide and operate, for agents and tenants. Whoever stands in no entry has none.
//
// It does not know who somebody is, and what is asked about. It logs nothing. The file is YAML 1.2
// without anchors and aliases. It is read strictly: a key that is not known, or stands there twice,
// is an error with its line.
package policy

import (
	"crypto/sha256"
	"errors"
	"os"
	"sync"
	"sync/atomic"
)

// A File is what a file said when it was last good. It is safe for concurrent use.
type File struct {
	name    string
	reading sync.Mutex
	sum     [sha256.Size]byte // of what is in effect
	failed  [sha256.Size]byte // of what was found wrong last
	now     atomic.Pointer[Policy]
}

// Open reads the file for the first time.
func Open(name string) (*File, error) {
	f := &File{name: name}
	if _, err := f.Reload(); err != nil {
		return nil, err
	}
	return f, nil
}

// ErrSame is the error of a Reload that found what the Reload before found wrong.
var ErrSame = errors.New("the file is as it was refused before")

// Reload reads the file again. changed says that something else is in effect than before. On an
// error everything stays as it was. The error is ErrSame if the file is as the last Reload refused
// it.
func (f *File) Reload() (changed bool, err error) {
	f.reading.Lock()
	defer f.reading.Unlock()
	text, err := os.ReadFile(f.name)
	if err != nil {
		return false, f.refused(sha256.Sum256([]byte(err.Error())), err)
	}
	sum := sha256.Sum256(text)
	if f.now.Load() != nil && sum == f.sum {
		f.failed = [sha256.Size]byte{}
		return false, nil
	}
	p, err := Parse(text)
	if err != nil {
		return false, f.refused(sum, err)
	}
	f.sum, f.failed = sum, [sha256.Size]byte{}
	f.now.Store(p)
	return true, nil
}

// refused is the error of what has this sum.
func (f *File) refused(sum [sha256.Size]byte, err error) error {
	if sum == f.failed {
		return ErrSame
	}
	f.failed = sum
	return err
}

// Now is what is in effect. It is not nil, and nobody may change it.
func (f *File) Now() *Policy { return f.now.Load() }
