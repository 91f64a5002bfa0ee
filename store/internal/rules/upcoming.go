//go:build !nextrecord

package rules

import "holdpoint/store"

// saysMore says whether the record has something in it that only the next format can say.
func saysMore(*store.Record) bool { return false }
