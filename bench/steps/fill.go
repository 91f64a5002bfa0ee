package steps

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/redis/rueidis"
	"go.etcd.io/bbolt"

	"holdpoint/store"
)

// filledSnapshotBytes is the size in bytes of the snapshots of each thread that Fill makes.
const filledSnapshotBytes = 320

// Fill fills the store with threads: finished threads with an answered question, and open threads
// that wait for an answer. It makes one of each kind by steps of the store. Then it copies both
// threads in the way that is fastest for the server. With steps for all threads, it would take an
// hour.
func (s *Side) Fill(ctx context.Context, finished, open int) error {
	ended, waits := KeyOf("ended", 0), KeyOf("waits", 0)
	if err := s.makeAnswered(ctx, ended, filledSnapshotBytes); err != nil {
		return err
	}
	if _, err := s.Store.Do(ctx, waits, store.Ask{Pause: pause(filledSnapshotBytes)}); err != nil {
		return err
	}
	if err := s.clone(ctx, ended, keys("ended", finished)); err != nil {
		return err
	}
	if err := s.clone(ctx, waits, keys("waits", open)); err != nil {
		return err
	}
	return s.checkFill(ctx, finished, open)
}

// keys returns the sorted keys of the threads 1 to n-1 of a kind. Thread 0 is the original of the
// copies.
func keys(kind string, n int) []store.Key {
	var list []store.Key
	for i := 1; i < n; i++ {
		list = append(list, KeyOf(kind, i))
	}
	slices.Sort(list)
	return list
}

// checkFill reads some of the copies by the store's own steps, and returns an error if they are not
// valid records.
func (s *Side) checkFill(ctx context.Context, finished, open int) error {
	for n := 0; n < finished; n += max(finished/50, 1) {
		rec, err := s.Store.Load(ctx, KeyOf("ended", n), "")
		if err != nil {
			return err
		}
		if rec.State != store.None || len(rec.Results) != 1 {
			return fmt.Errorf("%s: thread %d of those that ended is %q with %d results", s.Name, n, rec.State, len(rec.Results))
		}
		shown, err := s.Store.Snapshots(ctx, KeyOf("ended", n), rec.Results[0].PauseID, store.AtEnd)
		if err != nil || len(shown.Messages) < filledSnapshotBytes {
			return fmt.Errorf("%s: thread %d of those that ended has no snapshots (%w)", s.Name, n, err)
		}
	}
	for n := 0; n < open; n += max(open/50, 1) {
		rec, err := s.Store.Load(ctx, KeyOf("waits", n), "")
		if err != nil || rec.State != store.Open {
			return fmt.Errorf("%s: thread %d of those that wait is %q (%w)", s.Name, n, rec.State, err)
		}
	}
	waits := 0
	for q := (store.Query{Limit: store.MaxPage}); ; {
		page, err := s.Store.List(ctx, q)
		if err != nil {
			return err
		}
		waits += len(page.Rows)
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	if waits < open || waits > open+1 { // bolt has one more, see Machine.Bolt
		return fmt.Errorf("%s: %d threads wait, want %d", s.Name, waits, open)
	}
	return nil
}

// cloneRedis returns a function that copies a thread within the Redis server. Each key must be in
// the part that its hash selects. The method filled would not find a copy in another part.
func cloneRedis(client rueidis.Client) func(ctx context.Context, thread store.Key, as []store.Key) error {
	part := func(key store.Key) string {
		h := fnv.New32a()
		h.Write([]byte(key))
		return fmt.Sprintf("holdpoint:{%02d}:", h.Sum32()%64)
	}
	script := rueidis.NewLuaScript(`
local opened, due = redis.call('ZSCORE', KEYS[2], ARGV[1]), redis.call('ZSCORE', KEYS[3], ARGV[1])
for i = 2, #ARGV, 2 do
  redis.call('COPY', KEYS[1], ARGV[i] .. 'r:' .. ARGV[i + 1])
  if opened then
    redis.call('ZADD', ARGV[i] .. 'opened', opened, ARGV[i + 1])
    redis.call('ZADD', ARGV[i] .. 'due', due, ARGV[i + 1])
  end
end
return 'done'`)
	return func(ctx context.Context, thread store.Key, as []store.Key) error {
		at := part(thread)
		for some := range slices.Chunk(as, 500) {
			args := []string{string(thread)}
			for _, key := range some {
				args = append(args, part(key), string(key))
			}
			if err := script.Exec(ctx, client, []string{at + "r:" + string(thread), at + "opened", at + "due"}, args).Error(); err != nil {
				return err
			}
		}
		return nil
	}
}

// clonePostgres returns a function that copies a thread within the PostgreSQL server.
func clonePostgres(schema string, ask func(ctx context.Context, sql string, values ...[]byte) error) func(ctx context.Context, thread store.Key, as []store.Key) error {
	return func(ctx context.Context, thread store.Key, as []store.Key) error {
		for some := range slices.Chunk(as, 10_000) {
			var list []string
			for _, key := range some {
				list = append(list, string(key))
			}
			// Keys are hexadecimal, so they need no escaping in an array.
			array := []byte("{" + strings.Join(list, ",") + "}")
			for _, copied := range []string{
				"holdpoint_threads SELECT k, t.revision, t.opened, t.due, t.gone, t.head, t.body FROM " + schema + ".holdpoint_threads t",
				"holdpoint_snapshots SELECT k, t.name, t.bytes FROM " + schema + ".holdpoint_snapshots t",
			} {
				if err := ask(ctx, "INSERT INTO "+schema+"."+copied+", unnest($1::text[]) k WHERE t.key = $2", array, []byte(thread)); err != nil {
					return err
				}
			}
		}
		// Without this, the server would soon vacuum the tables itself, during the measurement.
		return errors.Join(ask(ctx, "VACUUM ANALYZE "+schema+".holdpoint_threads"), ask(ctx, "VACUUM ANALYZE "+schema+".holdpoint_snapshots"))
	}
}

// cloneBolt returns a function that copies a thread within the file. It copies the entries of each
// bucket whose keys contain the thread's key. The store is stopped meanwhile, because the file can
// have only one writer.
func cloneBolt(path string, side *Side, open func() error) func(ctx context.Context, thread store.Key, as []store.Key) error {
	return func(_ context.Context, thread store.Key, as []store.Key) error {
		if err := side.Store.Stop(); err != nil {
			return err
		}
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, FreelistType: bbolt.FreelistMapType})
		if err != nil {
			return err
		}
		for _, name := range []string{"rows", "bodies", "snapshots", "opened", "due", "gone"} {
			err = errors.Join(err, copyKeys(db, []byte(name), []byte(thread), as))
		}
		return errors.Join(err, db.Sync(), db.Close(), open())
	}
}

// copyKeys copies those entries of a bucket whose keys contain the thread's key. It makes a copy
// for each key in as.
func copyKeys(db *bbolt.DB, bucket, thread []byte, as []store.Key) error {
	var names, values [][]byte
	err := db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucket).ForEach(func(k, v []byte) error {
			if bytes.Contains(k, thread) {
				names, values = append(names, bytes.Clone(k)), append(values, bytes.Clone(v))
			}
			return nil
		})
	})
	for some := range slices.Chunk(as, 50_000) {
		err = errors.Join(err, db.Update(func(tx *bbolt.Tx) (err error) {
			for n, name := range names {
				for _, key := range some {
					err = errors.Join(err, tx.Bucket(bucket).Put(bytes.Replace(name, thread, []byte(key), 1), values[n]))
				}
			}
			return err
		}))
	}
	return err
}
