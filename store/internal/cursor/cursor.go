// Package cursor says where a page of what waits ends: at a time and a key. It is the same for
// every engine, so that a list can go on at another replica.
//
// It deliberately keeps nothing: a cursor is all there is to know of the pages before.
package cursor

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdpoint/store"
)

// A Cursor is a place in a list. The zero value is before its begin.
type Cursor struct {
	Time time.Time // of the last row, in whole microseconds: what every engine keeps
	Key  store.Key
}

// Of returns the place of a row in the list that q asks for.
func Of(q store.Query, row store.Row) Cursor {
	if q.Due.IsZero() {
		return Cursor{row.Opened.Truncate(time.Microsecond), row.Key}
	}
	return Cursor{row.Due.Truncate(time.Microsecond), row.Key}
}

// Before reports whether o is behind c.
func (c Cursor) Before(o Cursor) bool {
	if !c.Time.Equal(o.Time) {
		return c.Time.Before(o.Time)
	}
	return c.Key < o.Key
}

// Sort sorts rows as the list that q asks for.
func Sort(q store.Query, rows []store.Row) {
	slices.SortFunc(rows, func(a, b store.Row) int {
		x, y := Of(q, a), Of(q, b)
		return cmp.Or(x.Time.Compare(y.Time), cmp.Compare(x.Key, y.Key))
	})
}

// String returns what a Query carries.
func (c Cursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", c.Time.UnixMicro(), c.Key))
}

var errCursor = errors.New("store: the list cannot go on there: After is no Next of a page")

// Parse reads a cursor. "" is the zero value.
func Parse(text string) (Cursor, error) {
	if text == "" {
		return Cursor{}, nil
	}
	plain, err := base64.RawURLEncoding.DecodeString(text)
	at, key, ok := strings.Cut(string(plain), " ")
	micros, err2 := strconv.ParseInt(at, 10, 64)
	if err != nil || err2 != nil || !ok {
		return Cursor{}, errCursor
	}
	return Cursor{time.UnixMicro(micros).UTC(), store.Key(key)}, nil
}

// Page makes a page of sorted rows behind the cursor: of all there are, or at least one more than
// the page holds.
func Page(q store.Query, rows []store.Row) store.Page {
	n := q.Size()
	if len(rows) <= n {
		return store.Page{Rows: rows}
	}
	rows = rows[:n:n]
	return store.Page{Rows: rows, Next: Of(q, rows[n-1]).String()}
}
