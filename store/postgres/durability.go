package postgres

import (
	"context"
	"sync"
	"time"
)

// A server may lose a change that it has confirmed, and still have earlier changes. This happens if
// a standby that lacks the change becomes the primary, or if the server crashes before the change
// is on its disk. A caller that must not send an answer twice has to know whether this is possible.

const (
	// askAgain is how long the server's reply to forgetsSQL stays valid.
	askAgain = 2 * time.Second
	// rememberStandby is how long a standby counts after its connection has ended, because it may
	// come back as the primary.
	rememberStandby = time.Hour
	askForgets      = 5 * time.Second
)

// forgetsSQL asks the server whether it may lose changes that it has confirmed. A role without
// special rights can see how many standbys and backups read the log, and how many slots are
// reserved for standbys.
const forgetsSQL = "SELECT current_setting('fsync') = 'off' OR current_setting('synchronous_commit') = 'off'" +
	" OR CASE WHEN " + guards + " THEN current_setting('synchronous_commit') = 'local'" +
	" ELSE EXISTS (SELECT FROM pg_stat_replication) OR EXISTS (SELECT FROM pg_replication_slots WHERE slot_type = 'physical') END"

// A durability has the times of the server's replies to forgetsSQL.
type durability struct {
	mu    sync.Mutex
	asked time.Time // when the server replied last
	seen  time.Time // when the server last replied that it may lose changes
}

// Forgets reports whether the server may lose changes that it has confirmed, and keep earlier
// changes. It also returns true if the server has never replied.
func (t *table) Forgets(ctx context.Context) bool {
	f := &t.forgetting
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.asked) >= askAgain {
		ctx, cancel := context.WithTimeout(ctx, askForgets)
		defer cancel()
		rows, err := t.read(ctx, &statement{sql: forgetsSQL})
		if err == nil && len(rows) == 1 {
			one := fields{row: rows[0]}
			if f.asked = now; one.bool() || one.err != nil {
				f.seen = now
			}
		}
	}
	return f.asked.IsZero() || !f.seen.IsZero() && time.Since(f.seen) < rememberStandby
}
