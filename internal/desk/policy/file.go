// Package policy reads the file with the rights of callers at the desk (the web page of approvers).
// The rights are list, read, conversation, decide and operate; each is given for some agents and
// tenants. A caller without an entry has no rights.
//
// The package does not identify callers, and logs nothing. The file is YAML 1.2 without anchors and
// aliases. It is read strictly: an unknown or repeated key is an error that names the line.
package policy

import (
	"os"
	"sync/atomic"
)

// A File has the last valid content of the policy file. It is safe for concurrent use.
type File struct {
	name    string
	current atomic.Pointer[Policy]
}

// Open reads the policy file for the first time.
func Open(name string) (*File, error) {
	f := &File{name: name}
	if err := f.Reload(); err != nil {
		return nil, err
	}
	return f, nil
}

// Reload reads the policy file again. After an error the earlier content stays in effect.
func (f *File) Reload() error {
	text, err := os.ReadFile(f.name)
	if err != nil {
		return err
	}
	p, err := Parse(text)
	if err == nil {
		f.current.Store(p)
	}
	return err
}

// Name returns the file's name.
func (f *File) Name() string { return f.name }

// Policy returns the policy in effect. The policy is never nil, and must not be changed.
func (f *File) Policy() *Policy { return f.current.Load() }
