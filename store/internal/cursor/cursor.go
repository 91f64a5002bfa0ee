// Package cursor has the position at which a page of a list of rows ends: a time and a key. It is
// the same for every engine, so that any replica can return the next page.
//
// It keeps no state: a cursor has everything that is needed for the next page.
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

// A Cursor is a position in a list. The zero Cursor is before the first row.
type Cursor struct {
	Time time.Time // of the last row, in whole microseconds: what every engine keeps
	Key  store.Key
}

// Of returns the position of a row in the list that q requests.
func Of(q store.Query, row store.Row) Cursor {
	if q.Due.IsZero() {
		return Cursor{row.Opened.Truncate(time.Microsecond), row.Key}
	}
	return Cursor{row.Due.Truncate(time.Microsecond), row.Key}
}

// Before reports whether c precedes o.
func (c Cursor) Before(o Cursor) bool {
	if !c.Time.Equal(o.Time) {
		return c.Time.Before(o.Time)
	}
	return c.Key < o.Key
}

// Sort sorts rows in the order of the list that q requests.
func Sort(q store.Query, rows []store.Row) {
	slices.SortFunc(rows, func(a, b store.Row) int {
		x, y := Of(q, a), Of(q, b)
		return cmp.Or(x.Time.Compare(y.Time), cmp.Compare(x.Key, y.Key))
	})
}

// String returns the cursor's text for a Query.
func (c Cursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", c.Time.UnixMicro(), c.Key))
}

var errCursor = errors.New("store: the list cannot go on there: After is no Next of a page")

// Parse parses a cursor. "" is the zero Cursor.
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

// Page makes a page from sorted rows after the cursor. The rows are all of them, or at least one
// more than fits on the page.
func Page(q store.Query, rows []store.Row) store.Page {
	n := q.Size()
	if len(rows) <= n {
		return store.Page{Rows: rows}
	}
	rows = rows[:n:n]
	return store.Page{Rows: rows, Next: Of(q, rows[n-1]).String()}
}
