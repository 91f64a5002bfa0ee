// Package carry sends the answers of decided pauses to their agents without the clients: it finds
// the pauses in the store, and calls their agents, each once.
//
// It does not decide which pauses may be carried, nor how often: package proxy and the store's
// claim do. If two processes find the same pause, only one of them can claim it.
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

// An Agent carries the decided pause of a record, see proxy.Handler.Carry.
type Agent interface {
	Carry(ctx context.Context, key store.Key) error
}

// Options of a Carrier. Store, Agents and Log are required.
type Options struct {
	Store  store.Store
	Agents map[string]Agent // by the names in records
	Within time.Duration    // older decisions wait for the chat; 0 means DefaultWithin
	Every  time.Duration    // time between two looks at the list of due records; 0 means 2 s
	Log    *slog.Logger
	Now    func() time.Time // clock for the waits between tries; nil means time.Now
}

// DefaultWithin is the maximum age of a decision that is carried without the chat. An approval of
// the morning is not carried out at night, nor one that a restored backup brings back.
const DefaultWithin = time.Hour

const (
	every = 2 * time.Second
	// atOnce limits the concurrent runs of one agent without a client. A slow agent does not take
	// the places of another.
	atOnce = 8
	// remembered limits the pauses whose tries are remembered.
	remembered = 10_000
)

// waits are the times between the tries of one pause. After the last try the pause waits for the
// chat.
var waits = [...]time.Duration{5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute}

// A Carrier looks for decided pauses and carries them.
type Carrier struct {
	o     Options
	kick  chan store.Key
	room  map[string]chan struct{} // by agent
	clock store.Clock

	mu   sync.Mutex
	seen map[store.Key]*tries
}

// tries counts the tries of one pause.
type tries struct {
	pause  string
	opened time.Time
	n      int
	next   time.Time
	under  bool // a try is under way
	over   bool // the pause waits for the chat
}

// New returns a Carrier, which does nothing until Run.
func New(o Options) *Carrier {
	if o.Within <= 0 {
		o.Within = DefaultWithin
	}
	if o.Every <= 0 {
		o.Every = every
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Carrier{o: o, kick: make(chan store.Key, 64), room: make(map[string]chan struct{}, len(o.Agents)), seen: map[store.Key]*tries{}}
	for name := range o.Agents {
		c.room[name] = make(chan struct{}, atOnce)
	}
	return c
}

// Kick tells the Carrier that a pause of the record was just decided. It never blocks. If the
// channel is full, the next look finds the pause.
func (c *Carrier) Kick(key store.Key) {
	select {
	case c.kick <- key:
	default:
	}
}

// Run carries until ctx is done. It returns when the runs that it began have ended, or continue by
// themselves.
func (c *Carrier) Run(ctx context.Context) {
	var runs sync.WaitGroup
	defer runs.Wait()
	t := time.NewTicker(c.o.Every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case key := <-c.kick:
			c.try(ctx, key, &runs)
		case <-t.C:
			c.look(ctx, &runs)
		}
	}
}

// look tries all pauses that are due.
func (c *Carrier) look(ctx context.Context, runs *sync.WaitGroup) {
	q := store.Query{Due: c.clock.Time(ctx, c.o.Store, c.o.Now()), Limit: store.MaxPage}
	for {
		page, err := c.o.Store.List(ctx, q)
		if err != nil {
			c.o.Log.Debug("what is decided cannot be asked for", "err", err)
			return
		}
		for _, row := range page.Rows {
			if c.waits(row) {
				continue
			}
			c.try(ctx, row.Key, runs)
		}
		if q.After = page.Next; q.After == "" || ctx.Err() != nil {
			return
		}
	}
}

// waits reports whether the record's next try is not due yet, as far as is known without asking the
// store.
func (c *Carrier) waits(row store.Row) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.seen[row.Key]
	return t != nil && t.opened.Equal(row.Opened) && (t.under || t.over || c.o.Now().Before(t.next))
}

// try makes the record's agent carry its pause, if that is allowed now.
func (c *Carrier) try(ctx context.Context, key store.Key, runs *sync.WaitGroup) {
	rec, err := c.o.Store.Load(ctx, key, "")
	if err != nil || rec.State != store.Open || !rec.Pause.Decided() || rec.Pause.Origin == nil {
		return
	}
	p := rec.Pause
	agent, ours := c.o.Agents[p.Origin.Agent]
	if !ours {
		return // another process serves it
	}
	// The oldest decision counts: a yes of the morning is not carried out at night because the
	// other question is decided then.
	if oldest := p.Decisions[0].At; !rec.Now.Before(oldest.Add(c.o.Within)) {
		if c.begins(key, p) {
			c.o.Log.Warn(logTooOld, "pause", p.ID, "decided", oldest)
			c.ends(key, true)
		}
		return
	}
	room := c.room[p.Origin.Agent]
	select {
	case room <- struct{}{}:
	default:
		return // the next look finds it
	}
	if !c.begins(key, p) {
		<-room
		return
	}
	runs.Go(func() {
		defer func() { <-room }()
		c.carry(ctx, agent, key, p.ID)
	})
}

// carry makes one try.
func (c *Carrier) carry(ctx context.Context, agent Agent, key store.Key, pauseID string) {
	err := agent.Carry(ctx, key)
	switch {
	case errors.Is(err, door.ErrChat):
		c.o.Log.Info("what was decided waits for the chat", "pause", pauseID, "why", err)
		c.ends(key, true)
		return
	case errors.Is(err, door.ErrHome):
		c.ends(key, true)
		return
	case errors.Is(err, door.ErrUndecided):
		c.forget(key)
		return
	case err != nil:
		c.o.Log.Warn(logNotCarried, "pause", pauseID, "err", err)
	}
	rec, err := c.o.Store.Load(context.WithoutCancel(ctx), key, "")
	if err == nil && (rec.Pause == nil || rec.Pause.ID != pauseID) {
		c.forget(key) // it has ended
		return
	}
	c.ends(key, false)
}

// begins counts a try of a pause. It returns false if none is due.
func (c *Carrier) begins(key store.Key, p *agui.Pause) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.seen[key]
	if t == nil || t.pause != p.ID {
		if len(c.seen) >= remembered {
			clear(c.seen)
		}
		t = &tries{pause: p.ID, opened: p.Opened}
		c.seen[key] = t
	}
	if t.under || t.over || c.o.Now().Before(t.next) {
		return false
	}
	t.under = true
	return true
}

// ends records that a try has left the pause open. over means that it now waits for the chat.
func (c *Carrier) ends(key store.Key, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.seen[key]
	if t == nil {
		return
	}
	t.under = false
	if t.over = over || t.n >= len(waits); t.over {
		if !over {
			c.o.Log.Warn(logNoMoreTries, "pause", t.pause, "tries", t.n+1)
		}
		return
	}
	t.next = c.o.Now().Add(waits[t.n])
	t.n++
}

func (c *Carrier) forget(key store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.seen, key)
}
