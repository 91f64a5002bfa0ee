package dialect_test

import (
	"errors"
	"fmt"
	"testing"

	"holdpoint/proxy/internal/dialect"
)

func TestBug(t *testing.T) {
	broken := errors.New("broken")
	call := func(do func() error) (err error) {
		defer dialect.CatchPanic("Begin", &err)
		return do()
	}
	for what, c := range map[string]struct {
		do          func() error
		want        string // the text of the error that the caller gets, or ""
		method, bug string // the method and the error in the Bug
		stack       bool
	}{
		"nothing goes wrong":      {do: func() error { return nil }},
		"an error stays as it is": {func() error { return broken }, "broken", "End", "broken", false},
		"a panic":                 {func() error { panic("oh") }, "dialect: Begin: panic: oh", "Begin", "panic: oh", true},
		"a wrapped Bug": {
			func() error { return fmt.Errorf("before: %w", &dialect.Bug{Method: "Event", Err: broken}) },
			"before: dialect: Event: broken", "Event", "broken", false,
		},
	} {
		t.Run(what, func(t *testing.T) {
			err := call(c.do)
			if err == nil {
				if c.want != "" {
					t.Fatalf("no error, want %q", c.want)
				}
				return
			}
			if err.Error() != c.want {
				t.Errorf("got %q, want %q", err, c.want)
			}
			bug := dialect.AsBug("End", err)
			if bug.Method != c.method || bug.Err.Error() != c.bug || (bug.Stack != nil) != c.stack {
				t.Errorf("got a Bug in %s: %v, with a stack: %v; want %s: %s, %v", bug.Method, bug.Err, bug.Stack != nil, c.method, c.bug, c.stack)
			}
		})
	}
}
