package redis

import (
	"context"
	"fmt"
)

// doUntil calls do, and returns when do returns or when ctx is done. It is needed because rueidis
// does not always watch ctx: it reads from a connection until the deadline that ctx had when the
// request was sent, and it waits for a new connection without ctx. If doUntil returns before do, do
// sends nothing more, and ends after Options.Timeout. So do must use only copies of its caller's
// values.
func doUntil[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := do()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf(textNoReply, ctx.Err())
	}
}
