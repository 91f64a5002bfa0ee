package redis

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"holdpoint/store"
	"holdpoint/store/internal/cursor"
)

// A reader reads the rows of a list in one part, a few at a time.
type reader struct {
	part  int
	at    cursor.Cursor // position of the last row that was read in the list
	count int           // number of rows that one call requests
	rows  []store.Row
	ended bool
}

// List implements engine.Table. It merges the lists of all parts.
func (t *table) List(ctx context.Context, q store.Query, after cursor.Cursor) ([]store.Row, error) {
	ctx, cancel := t.withTimeout(ctx)
	defer cancel()
	readers := make([]*reader, parts)
	for n := range readers {
		// The first rows are spread over all parts, but unevenly, so each reader requests more than
		// its share.
		readers[n] = &reader{part: n, at: after, count: q.Size()/16 + 8}
	}
	var rows []store.Row
	for len(rows) <= q.Size() {
		if err := t.fill(ctx, q, readers); err != nil {
			return nil, err
		}
		first := (*reader)(nil)
		for _, r := range readers {
			if len(r.rows) > 0 && (first == nil || cursor.Of(q, r.rows[0]).Before(cursor.Of(q, first.rows[0]))) {
				first = r
			}
		}
		if first == nil {
			break
		}
		rows = append(rows, first.rows[0])
		first.rows = first.rows[1:]
	}
	return rows, nil
}

// fill requests more rows for each reader whose rows are used up, unless its list has ended.
func (t *table) fill(ctx context.Context, q store.Query, readers []*reader) error {
	for {
		var empty []*reader
		var calls []call
		for _, r := range readers {
			if len(r.rows) == 0 && !r.ended {
				empty = append(empty, r)
				calls = append(calls, t.page(q, r))
			}
		}
		if len(calls) == 0 {
			return nil
		}
		results, err := t.read(ctx, calls...)
		if err != nil {
			return err
		}
		for n, result := range results {
			if err := empty[n].take(q, result); err != nil {
				return err
			}
		}
	}
}

// page returns the call that reads the next rows of a reader, beginning with the last row that was
// read.
func (t *table) page(q store.Query, r *reader) call {
	keys, last := []string{t.opened(r.part), t.due(r.part)}, "+inf"
	if !q.Due.IsZero() {
		keys[0], keys[1] = keys[1], keys[0]
		last = micros(q.Due)
	}
	if q.WithNotices {
		keys = []string{t.unsent(r.part), t.unsent(r.part)}
	}
	first := "-inf"
	if !r.at.Time.IsZero() {
		first = micros(r.at.Time)
	}
	return call{pageScript, keys, []string{first, last, strconv.Itoa(r.count)}}
}

// take reads the reply to the call of page. Redis sorts rows of the same time by key, and the reply
// begins with the first row of that time, so take skips the rows that were read before.
func (r *reader) take(q store.Query, result rueidis.RedisResult) error {
	fields, err := result.AsStrSlice()
	if err != nil {
		return fmt.Errorf("store: %w", explain(err))
	}
	if len(fields)%3 != 0 {
		return errDamaged
	}
	for n := 0; n < len(fields); n += 3 {
		when, err1 := scoreOf(fields[n+1])
		other, err2 := scoreOf(fields[n+2])
		if err := cmp.Or(err1, err2); err != nil {
			return errDamaged
		}
		row := store.Row{Key: store.Key(fields[n]), Opened: when, Due: other}
		if !q.Due.IsZero() {
			row.Opened, row.Due = row.Due, row.Opened
		}
		if q.WithNotices {
			row.Opened = time.Time{}
		}
		if at := cursor.Of(q, row); r.at.Before(at) {
			r.rows = append(r.rows, row)
			r.at = at
		}
	}
	r.ended = len(fields)/3 < r.count
	if len(r.rows) == 0 {
		r.count *= 2 // many rows have the same time, so the next call requests more of them
	}
	return nil
}

func scoreOf(text string) (time.Time, error) {
	f, err := strconv.ParseFloat(text, 64)
	return time.UnixMicro(int64(f)).UTC(), err
}

// Open implements engine.Table.
func (t *table) Open(ctx context.Context) (int, error) {
	ctx, cancel := t.withTimeout(ctx)
	defer cancel()
	calls := make([]call, parts)
	for n := range calls {
		calls[n] = call{countScript, []string{t.opened(n)}, nil}
	}
	results, err := t.read(ctx, calls...)
	if err != nil {
		return 0, err
	}
	open := 0
	for _, r := range results {
		n, err := r.AsInt64()
		if err != nil {
			return 0, explain(err)
		}
		open += int(n)
	}
	return open, nil
}
