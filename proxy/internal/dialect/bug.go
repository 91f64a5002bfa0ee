// Package dialect turns violations of a dialect's contract into a Bug: a panic, or an error that is
// not an *agui.RunError. It neither logs nor answers. Every package below proxy that calls a
// dialect may import it.
package dialect

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// A Bug is an error or a panic that the contract of a dialect does not allow.
type Bug struct {
	Method string // the dialect's method
	Err    error
	Stack  []byte // set for a panic, else nil
}

func (b *Bug) Error() string { return "dialect: " + b.Method + ": " + b.Err.Error() }

// AsBug returns the Bug in the error of a dialect's method, or a new one with that error.
func AsBug(method string, err error) *Bug {
	bug := &Bug{Method: method, Err: err}
	errors.As(err, &bug)
	return bug
}

// CatchPanic turns a panic of a dialect's method into a Bug in *err. Callers of the method defer
// it.
func CatchPanic(method string, err *error) {
	if p := recover(); p != nil {
		*err = &Bug{Method: method, Err: fmt.Errorf("panic: %v", p), Stack: debug.Stack()}
	}
}
