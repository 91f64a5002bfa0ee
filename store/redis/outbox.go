package redis

import (
	"context"

	"holdpoint/store"
	"holdpoint/store/engine"
)

func (t *table) unsent(part int) string { return t.part(part) + "unsent" }

// notify returns the argument of writeScript for the list of notices: "" leaves it, 0 removes the
// row, and any other value is its place.
func notify(c engine.Change) string {
	if c.Notify == nil {
		return ""
	}
	return micros(*c.Notify)
}

// Unlist implements engine.Table. Redis drops rows by itself, but not their places in this list.
func (t *table) Unlist(ctx context.Context, key store.Key) error {
	ctx, cancel := t.withTimeout(ctx)
	defer cancel()
	results, err := t.read(ctx, call{unlistScript, []string{t.row(key), t.unsent(partOf(key))}, []string{string(key)}})
	if err != nil {
		return err
	}
	return explain(results[0].Error())
}

// unlistScript: KEYS: the row, the list. ARGV: the row's name in the list.
var unlistScript = newScript(`
if redis.call('HGET', KEYS[1], 'rev') then return 0 end
return redis.call('ZREM', KEYS[2], ARGV[1])`)
