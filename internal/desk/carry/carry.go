// Package carry sends the answers of decided pauses to their agents without the chats: it finds the
// pauses in the store, and makes each pause's agent send the answers.
//
// The package does not decide if a pause may be carried, nor how often: package proxy and the
// store's claim decide this. If two processes find the same pause, only one of them can claim it.
package carry

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/event/door"
	"holdpoint/store"
)

// An Agent sends the answers of a record's decided pause to its backend, see proxy.Handler.Carry.
type Agent interface {
	Carry(ctx context.Context, key store.Key) error
}

// Options are the options of a Carrier. Store, Agents and Log are required.
type Options struct {
	Store  store.Store
	Agents map[string]Agent // keyed by the agents' names in records
	MaxAge time.Duration    // largest age of a decision that is carried; 0 means DefaultMaxAge
	// time between two reads of the store's list of decided records; 0 means 2 s
	PollInterval time.Duration
	Log          *slog.Logger
	Now          func() time.Time // clock for the waits between two tries; nil means time.Now
}

// DefaultMaxAge is the largest age of a decision that is carried without the chat. So an approval
// from the morning is not carried out at night, nor is one that a restored backup brings back.
const DefaultMaxAge = time.Hour

const (
	pollInterval = 2 * time.Second
	// concurrentRuns is the largest number of runs without a client that one agent has at the same
	// time. Each agent has its own limit, so a slow agent does not delay the others.
	concurrentRuns = 8
	// maxRemembered is the largest number of pauses for which the Carrier remembers its tries.
	maxRemembered = 10_000
)

// tryDelays has the times between the tries of one pause. After the last try, only the chat's next
// request carries the pause.
var tryDelays = [...]time.Duration{5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute}

// A Carrier looks for decided pauses, and makes their agents send the answers.
type Carrier struct {
	options Options
	kick    chan store.Key
	slots   map[string]chan struct{} // limits the runs of each agent, by its name
	clock   store.Clock

	mu    sync.Mutex
	tries map[store.Key]*tries
}

// tries has the number of tries of one pause, and when the next one is due.
type tries struct {
	pause        string
	opened       time.Time
	count        int
	next         time.Time
	isRunning    bool // a try is under way
	waitsForChat bool // no further try: the pause waits for the chat
}

// New returns a Carrier. It does nothing until Run is called.
func New(o Options) *Carrier {
	if o.MaxAge <= 0 {
		o.MaxAge = DefaultMaxAge
	}
	if o.PollInterval <= 0 {
		o.PollInterval = pollInterval
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Carrier{options: o, kick: make(chan store.Key, 64), slots: make(map[string]chan struct{}, len(o.Agents)), tries: map[store.Key]*tries{}}
	for name := range o.Agents {
		c.slots[name] = make(chan struct{}, concurrentRuns)
	}
	return c
}

// Kick tells the Carrier that every question of the record's pause was just decided. It never
// blocks. If the channel is full, the Carrier finds the pause when it next reads the store's list.
func (c *Carrier) Kick(key store.Key) {
	select {
	case c.kick <- key:
	default:
	}
}

// Run carries decided pauses until ctx is done. Then it waits for the tries that it began: each has
// ended, or continues without the Carrier.
func (c *Carrier) Run(ctx context.Context) {
	var runs sync.WaitGroup
	defer runs.Wait()
	t := time.NewTicker(c.options.PollInterval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case key := <-c.kick:
			c.try(ctx, key, &runs)
		case <-t.C:
			c.tryDue(ctx, &runs)
		}
	}
}

// tryDue tries every pause whose next try is due.
func (c *Carrier) tryDue(ctx context.Context, runs *sync.WaitGroup) {
	q := store.Query{Due: c.clock.Time(ctx, c.options.Store, c.options.Now()), Limit: store.MaxPage}
	for {
		page, err := c.options.Store.List(ctx, q)
		if err != nil {
			c.options.Log.Debug("what is decided cannot be asked for", "err", err)
			return
		}
		for _, row := range page.Rows {
			if c.isWaiting(row) {
				continue
			}
			c.try(ctx, row.Key, runs)
		}
		if q.After = page.Next; q.After == "" || ctx.Err() != nil {
			return
		}
	}
}

// isWaiting reports whether the next try of a record is not due yet, as far as the Carrier knows
// without loading the record.
func (c *Carrier) isWaiting(row store.Row) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tries[row.Key]
	return t != nil && t.opened.Equal(row.Opened) && (t.isRunning || t.waitsForChat || c.options.Now().Before(t.next))
}

// try makes the record's agent carry the record's pause, if this is allowed now.
func (c *Carrier) try(ctx context.Context, key store.Key, runs *sync.WaitGroup) {
	rec, err := c.options.Store.Load(ctx, key, "")
	if err != nil || rec.State != store.Open || !rec.Pause.Decided() || rec.Pause.Origin == nil {
		return
	}
	p := rec.Pause
	agent, ours := c.options.Agents[p.Origin.Agent]
	if !ours {
		return // another process serves the agent
	}
	// The age of the oldest decision counts: a yes from the morning must not be carried out at
	// night just because another question of the pause is decided at night.
	if oldest := p.Decisions[0].At; !rec.Now.Before(oldest.Add(c.options.MaxAge)) {
		if c.beginTry(key, p) {
			c.options.Log.Warn(logTooOld, "pause", p.ID, "decided", oldest)
			c.endTry(key, true)
		}
		return
	}
	room := c.slots[p.Origin.Agent]
	select {
	case room <- struct{}{}:
	default:
		return // a later look finds the pause again
	}
	if !c.beginTry(key, p) {
		<-room
		return
	}
	runs.Go(func() {
		defer func() { <-room }()
		c.carry(ctx, agent, key, p.ID)
	})
}

// carry makes one try to carry the pause, and notes the result.
func (c *Carrier) carry(ctx context.Context, agent Agent, key store.Key, pauseID string) {
	err := agent.Carry(ctx, key)
	switch {
	case errors.Is(err, door.ErrChat):
		c.options.Log.Info("what was decided waits for the chat", "pause", pauseID, "why", err)
		c.endTry(key, true)
		return
	case errors.Is(err, door.ErrHome):
		c.endTry(key, true)
		return
	case errors.Is(err, door.ErrUndecided):
		c.forget(key)
		return
	case err != nil:
		c.options.Log.Warn(logNotCarried, "pause", pauseID, "err", err)
	}
	rec, err := c.options.Store.Load(context.WithoutCancel(ctx), key, "")
	if err == nil && (rec.Pause == nil || rec.Pause.ID != pauseID) {
		c.forget(key) // the pause has ended
		return
	}
	c.endTry(key, false)
}

// beginTry counts a try of a pause. It returns false if no try is due now.
func (c *Carrier) beginTry(key store.Key, p *agui.Pause) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tries[key]
	if t == nil || t.pause != p.ID {
		if len(c.tries) >= maxRemembered {
			clear(c.tries)
		}
		t = &tries{pause: p.ID, opened: p.Opened}
		c.tries[key] = t
	}
	if t.isRunning || t.waitsForChat || c.options.Now().Before(t.next) {
		return false
	}
	t.isRunning = true
	return true
}

// endTry notes that a try has left the pause open. waitsForChat means that there is no further try,
// so the pause waits for the chat.
func (c *Carrier) endTry(key store.Key, waitsForChat bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tries[key]
	if t == nil {
		return
	}
	t.isRunning = false
	if t.waitsForChat = waitsForChat || t.count >= len(tryDelays); t.waitsForChat {
		if !waitsForChat {
			c.options.Log.Warn(logNoMoreTries, "pause", t.pause, "tries", t.count+1)
		}
		return
	}
	t.next = c.options.Now().Add(tryDelays[t.count])
	t.count++
}

func (c *Carrier) forget(key store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tries, key)
}
