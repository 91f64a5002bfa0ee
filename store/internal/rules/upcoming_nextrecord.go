//go:build nextrecord

package rules

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// saysMore has the reason "upcoming" of a question stand for what the next format can say. The
// answers to such a question are remembered with it.
func saysMore(rec *store.Record) bool {
	asks := func(p *agui.Pause) bool {
		return p != nil && slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return i.Reason() == "upcoming" })
	}
	return asks(rec.Pause) || slices.ContainsFunc(rec.Results, func(r *store.Result) bool { return asks(r.Pause) })
}
