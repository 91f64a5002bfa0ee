package redis

import (
	"context"

	"holdpoint/store"
	"holdpoint/store/engine"
)

func (t *table) unsent(part int) string { return t.part(part) + "unsent" }

// notify returns the argument of writeScript for the list of notices. "" means that the list stays
// as it is, 0 that the row is removed from it, and any other value is the time of the row in the
// list.
func notify(c engine.Change) string {
	if c.Notify == nil {
		return ""
	}
	return micros(*c.Notify)
}

// Unlist implements engine.Table. It is needed because Redis removes expired rows by itself, but
// not their keys in this list.
func (t *table) Unlist(ctx context.Context, key store.Key) error {
	ctx, cancel := t.withTimeout(ctx)
	defer cancel()
	results, err := t.read(ctx, call{unlistScript, []string{t.row(key), t.unsent(partOf(key))}, []string{string(key)}})
	if err != nil {
		return err
	}
	return explain(results[0].Error())
}

// unlistScript removes the key of a row from the list of rows with notices to send, if the row does
// not exist. KEYS: the row, the list. ARGV: the key of the row in the list.
var unlistScript = newScript(`
if redis.call('HGET', KEYS[1], 'rev') then return 0 end
return redis.call('ZREM', KEYS[2], ARGV[1])`)
