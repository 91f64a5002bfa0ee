// Package policy reads the file with the rights of callers at the desk: list, read, conversation,
// decide and operate, for agents and tenants. A caller without an entry has no rights.
//
// The package does not identify callers, and logs nothing. The file is YAML 1.2 without anchors and
// aliases. It is read strictly: an unknown or repeated key is an error with its line.
package policy

import (
	"os"
	"sync/atomic"
)

// A File holds the last valid content of the file. It is safe for concurrent use.
type File struct {
	name string
	now  atomic.Pointer[Policy]
}

// Open reads the file for the first time.
func Open(name string) (*File, error) {
	f := &File{name: name}
	if err := f.Reload(); err != nil {
		return nil, err
	}
	return f, nil
}

// Reload reads the file again. After an error the earlier content stays in effect.
func (f *File) Reload() error {
	text, err := os.ReadFile(f.name)
	if err != nil {
		return err
	}
	p, err := Parse(text)
	if err == nil {
		f.now.Store(p)
	}
	return err
}

// Name returns the file's name.
func (f *File) Name() string { return f.name }

// Now returns the policy in effect. It is never nil, and is read-only.
func (f *File) Now() *Policy { return f.now.Load() }
