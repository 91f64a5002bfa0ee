// Package dialect turns violations of a dialect's contract into a Bug. Such a violation is a panic,
// or an error that is not an *agui.RunError. The package neither logs nor answers a request. Every
// package below package proxy that calls a dialect may import it.
package dialect

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// A Bug is an error or a panic that the contract of a dialect does not allow.
type Bug struct {
	Method string // the method of the dialect that was called
	Err    error
	Stack  []byte // the stack of a panic; nil for an error
}

func (b *Bug) Error() string { return "dialect: " + b.Method + ": " + b.Err.Error() }

// AsBug returns the Bug that err contains, or a new Bug with err. err is the error of a dialect's
// method.
func AsBug(method string, err error) *Bug {
	bug := &Bug{Method: method, Err: err}
	errors.As(err, &bug)
	return bug
}

// CatchPanic turns a panic of a dialect's method into a Bug, and stores it in *err. It must be
// called by a defer statement around the method's call.
func CatchPanic(method string, err *error) {
	if p := recover(); p != nil {
		*err = &Bug{Method: method, Err: fmt.Errorf("panic: %v", p), Stack: debug.Stack()}
	}
}
