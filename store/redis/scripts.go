package redis

import (
	"context"
	"crypto/fips140"
	"crypto/sha1"
	"encoding/hex"

	"github.com/redis/rueidis"
)

// A script is one atomic step of the server. All its keys are in the same part.
type script struct{ text, sha string }

func newScript(text string) script {
	var sum [sha1.Size]byte
	// Redis names a script by the SHA-1 of its text. Security does not depend on this hash, but
	// GODEBUG=fips140=only would forbid it.
	fips140.WithoutEnforcement(func() { sum = sha1.Sum([]byte(text)) })
	return script{text, hex.EncodeToString(sum[:])}
}

// The hash of a row has the fields rev, head and body, and one field for each pair of snapshots.
// The name of such a field begins with snapshotField. The scripts read a revision as a string,
// because Lua's numbers are not exact above 2^53.
const snapshotField = "s:"

var (
	// KEYS: the row. ARGV: 1 to return the body too, otherwise 0. readScript returns the server's
	// time and the row.
	//
	// A primary that has become a replica would return an old row, because it refuses only writes.
	// So the script first deletes a field that no row has. This changes nothing, and a replica
	// refuses it. Any other error of this command is ignored.
	readScript = newScript(`
local w = redis.pcall('HDEL', KEYS[1], '')
if type(w) == 'table' and w.err and string.find(w.err, 'READONLY') then return w end
local t = redis.call('TIME')
local r
if ARGV[1] == '1' then
  r = redis.call('HMGET', KEYS[1], 'rev', 'head', 'body')
else
  r = redis.call('HMGET', KEYS[1], 'rev', 'head')
end
return {t[1], t[2], r[1], r[2], r[3]}`)

	// KEYS: the row, the list by opened, the list by due, the list of notices to send. ARGV: the
	// revision that the row must have, the next revision, the head, opened and due in microseconds
	// (or 0), the time at which the row is forgotten in milliseconds (or 0), the row's key in the
	// lists, the number of fields to drop, the time to send notices in microseconds (or 0, or ""),
	// the fields to drop, and pairs of fields to set.
	//
	// If the server has no memory left, it refuses the first command that writes. After that
	// command, Redis refuses none of the script's commands for lack of memory, so the change is
	// made as a whole.
	writeScript = newScript(`
if (redis.call('HGET', KEYS[1], 'rev') or '0') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'rev', ARGV[2], 'head', ARGV[3])
local n = 9 + tonumber(ARGV[8])
for i = 10, n do redis.call('HDEL', KEYS[1], ARGV[i]) end
for i = n + 1, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
if ARGV[4] == '0' then
  redis.call('ZREM', KEYS[2], ARGV[7])
  redis.call('ZREM', KEYS[3], ARGV[7])
else
  redis.call('ZADD', KEYS[2], ARGV[4], ARGV[7])
  redis.call('ZADD', KEYS[3], ARGV[5], ARGV[7])
end
if ARGV[9] == '0' then
  redis.call('ZREM', KEYS[4], ARGV[7])
elseif ARGV[9] ~= '' then
  redis.call('ZADD', KEYS[4], ARGV[9], ARGV[7])
end
if ARGV[6] == '0' then
  redis.call('PERSIST', KEYS[1])
else
  redis.call('PEXPIREAT', KEYS[1], ARGV[6])
end
return 1`)

	// KEYS: the row, a list. ARGV: none. rightsScript runs the commands of the other scripts on
	// keys that do not exist. So a missing right is found here, and not in the middle of a change.
	// The script changes nothing. In its HSET a value is missing, but Redis checks the right first.
	rightsScript = newScript(`
local w = redis.pcall('HSET', KEYS[1], '', '', '')
if not string.find(w.err, 'wrong number') then return w end
redis.call('TIME')
redis.call('HDEL', KEYS[1], '')
redis.call('HGET', KEYS[1], '')
redis.call('HMGET', KEYS[1], '')
redis.call('PERSIST', KEYS[1])
redis.call('PEXPIREAT', KEYS[1], '1')
redis.call('ZADD', KEYS[2], 'XX', '0', '')
redis.call('ZREM', KEYS[2], '')
redis.call('ZSCORE', KEYS[2], '')
redis.call('ZCARD', KEYS[2])
redis.call('ZRANGEBYSCORE', KEYS[2], '0', '0')
return 1`)

	// KEYS: the row. ARGV: the field of the snapshots.
	snapshotScript = newScript(`return redis.call('HGET', KEYS[1], ARGV[1])`)

	// KEYS: the list. ARGV: none. countScript returns the number of rows in the list.
	countScript = newScript(`return redis.call('ZCARD', KEYS[1])`)

	// KEYS: the list to read, the other list. ARGV: the first and the last score, the number of
	// rows. pageScript returns the key of each row, and its scores in both lists.
	pageScript = newScript(`
local rows = redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[1], ARGV[2], 'WITHSCORES', 'LIMIT', 0, ARGV[3])
local out = {}
for i = 1, #rows, 2 do
  out[#out + 1] = rows[i]
  out[#out + 1] = rows[i + 1]
  out[#out + 1] = redis.call('ZSCORE', KEYS[2], rows[i]) or '0'
end
return out`)
)

// A call is a script with its keys and arguments.
type call struct {
	script
	keys, args []string
}

func (c call) bySHA(b rueidis.Builder) rueidis.Completed {
	return b.Evalsha().Sha1(c.sha).Numkeys(int64(len(c.keys))).Key(c.keys...).Arg(c.args...).Build()
}

func (c call) byText(b rueidis.Builder) rueidis.Completed {
	return b.Eval().Script(c.text).Numkeys(int64(len(c.keys))).Key(c.keys...).Arg(c.args...).Build()
}

// isUnknownScript reports whether the server did nothing because it does not have the script.
func isUnknownScript(err error) bool {
	e, ok := rueidis.IsRedisErr(err)
	return ok && e.IsNoScript()
}

// readTries is how often a read is tried if the connection breaks. A read may be repeated, because
// it changes nothing.
const readTries = 3

// read runs calls that change nothing. If it returns an error, no call was sent.
func (t *table) read(ctx context.Context, calls ...call) ([]rueidis.RedisResult, error) {
	if err := t.ready.Err(ctx); err != nil {
		return nil, err
	}
	return doUntil(ctx, func() ([]rueidis.RedisResult, error) {
		for try := 1; ; try++ {
			results, again, err := t.readOnce(ctx, calls...)
			if err != nil || !again || try == readTries || ctx.Err() != nil {
				return results, err
			}
		}
	})
}

// readOnce runs the calls of read once. retry means that another try may succeed.
func (t *table) readOnce(ctx context.Context, calls ...call) (results []rueidis.RedisResult, retry bool, err error) {
	at, done, err := t.clients.use()
	if err != nil {
		return nil, false, err
	}
	defer done()
	results = run(ctx, at, calls...)
	for _, r := range results {
		switch err := r.Error(); {
		case r.NonRedisError() != nil:
			return results, true, nil
		case t.isMisplaced(err):
			return results, t.clients.replace(ctx, at), nil
		}
	}
	return results, false, nil
}

// run runs the calls together, each of them once, and returns their results in order.
func run(ctx context.Context, c rueidis.Client, calls ...call) []rueidis.RedisResult {
	send := make([]rueidis.Completed, len(calls))
	for i, call := range calls {
		send[i] = call.bySHA(c.B())
	}
	results := c.DoMulti(ctx, send...)
	var again []int
	send = send[:0]
	for i, r := range results {
		if isUnknownScript(r.Error()) {
			again = append(again, i)
			send = append(send, calls[i].byText(c.B()))
		}
	}
	if len(again) > 0 {
		for n, r := range c.DoMulti(ctx, send...) {
			results[again[n]] = r
		}
	}
	return results
}
