// Package cursor has the position at which a page of a list ends: the time and the key of its last
// row. The position is the same for every kind of store, so that any replica can return the next
// page.
//
// The package keeps no state: a cursor has everything that is needed for the next page.
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

// A Cursor is the position of a row in a list. The zero Cursor is before the first row.
type Cursor struct {
	Time time.Time // time of the row, in whole microseconds, because every store keeps these
	Key  store.Key
}

// Of returns the position of a row in the list that the query q requests.
func Of(q store.Query, row store.Row) Cursor {
	if q.Due.IsZero() {
		return Cursor{row.Opened.Truncate(time.Microsecond), row.Key}
	}
	return Cursor{row.Due.Truncate(time.Microsecond), row.Key}
}

// Before reports whether the position c is before the position o.
func (c Cursor) Before(o Cursor) bool {
	if !c.Time.Equal(o.Time) {
		return c.Time.Before(o.Time)
	}
	return c.Key < o.Key
}

// Sort sorts rows in the order of the list that the query q requests.
func Sort(q store.Query, rows []store.Row) {
	slices.SortFunc(rows, func(a, b store.Row) int {
		x, y := Of(q, a), Of(q, b)
		return cmp.Or(x.Time.Compare(y.Time), cmp.Compare(x.Key, y.Key))
	})
}

// String returns the cursor as the text for Query.After.
func (c Cursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", c.Time.UnixMicro(), c.Key))
}

var errCursor = errors.New("store: the list cannot go on there: After is no Next of a page")

// Parse parses the text of a cursor. "" gives the zero Cursor.
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

// Page makes a page from rows, which are sorted and follow the cursor. rows are all such rows, or
// at least one row more than fits on the page.
func Page(q store.Query, rows []store.Row) store.Page {
	n := q.Size()
	if len(rows) <= n {
		return store.Page{Rows: rows}
	}
	rows = rows[:n:n]
	return store.Page{Rows: rows, Next: Of(q, rows[n-1]).String()}
}
