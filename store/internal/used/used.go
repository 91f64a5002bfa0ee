// Package used lets a caller learn by which time a step was done. Tests judge a store by its rules,
// and those depend on the time that the store's clock had.
package used

import (
	"context"
	"time"
)

type key struct{}

// Time returns a context for one call of a store. The call writes the time into at, each time that
// it reads its clock: the last one decided.
func Time(ctx context.Context, at *time.Time) context.Context {
	return context.WithValue(ctx, key{}, at)
}

// Tell is called by an engine with the time that it goes by.
func Tell(ctx context.Context, now time.Time) {
	if at, ok := ctx.Value(key{}).(*time.Time); ok {
		*at = now
	}
}
