package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A call is one call on a store. It is a value, so that a test can repeat it.
type call struct {
	op                   string
	thread               string
	owner                string
	pause, token, digest string
	lease                time.Duration
	how                  store.EndKind
	mark                 string // makes the results of two calls differ
	next                 string // of Finish: the id of the next pause, or ""
	question             string // of Decide: the question
	// when the opened pause expires, counted from the start of the test; 0: never
	expires time.Duration
}

// do makes the call on a store. It returns the record if the call is a Load, and the time that the
// store's clock had during the call. The time is zero if the store could not be asked.
func (c call) do(ctx context.Context, s store.Store, key store.Key, start time.Time) (loaded store.Record, at time.Time, err error) {
	if c.op == "Load" {
		loaded, err = s.Load(ctx, key, c.owner)
		return loaded, loaded.Now, err
	}
	done, err := s.Do(ctx, key, c.step(start))
	return loaded, done.Now, err
}

// step returns the store.Step of the call. The call must not be a Load.
func (c call) step(start time.Time) store.Step {
	open := pause(c.pause)
	if c.expires != 0 {
		open = expiring(c.pause, start.Add(c.expires))
	}
	r := result(c.mark)
	r.EndKind = c.how
	switch c.op {
	case "Open":
		return store.Ask{Owner: c.owner, Pause: open}
	case "Claim":
		return store.Claim{PauseID: c.pause, Token: c.token, Digest: c.digest, Lease: c.lease}
	case "Decide":
		return store.Decide{PauseID: c.pause, Decisions: []agui.Decision{{Question: c.question, Status: agui.Resolved, Digest: c.mark}}}
	case "Renew":
		return store.Renew{Token: c.token, Lease: c.lease}
	case "Finish":
		if c.next == "" {
			return store.Finish{Token: c.token, Result: r}
		}
		next := pause(c.next)
		return store.Finish{Token: c.token, Result: r, Next: &next}
	case "Release":
		return store.Release{Token: c.token}
	case "Close":
		return store.Close{PauseID: c.pause, Result: r}
	case "Occupy":
		return store.Occupy{Token: c.token, Lease: c.lease}
	}
	panic("no such call: " + c.op)
}

// A life is what the model knows about one pause, from its opening on.
type life struct {
	id            string
	ended         bool
	doubted       bool // put in doubt by Finish, not by a lapsed lease
	token, digest string
	lease         time.Time
	released      string
	opened        time.Time
	expires       time.Time
	how           store.EndKind
	at            time.Time
	receipt, next string
	buried        bool
	decided       []string // each is "question digest", in the order in which they were decided
}

// A model is the store of one thread as a list of lives. Only the last life may still be open. The
// model is slow, and simple enough to be obviously right. It keeps everything for ever. The method
// view shows only what a record would still contain.
type model struct {
	start             time.Time
	replay, retention time.Duration
	owner             string
	lives             []*life
}

// current returns the life that has not ended, or nil.
func (m *model) current() *life {
	if n := len(m.lives); n > 0 && !m.lives[n-1].ended {
		return m.lives[n-1]
	}
	return nil
}

func (m *model) find(id string) *life {
	for _, l := range m.lives {
		if l.id == id {
			return l
		}
	}
	return nil
}

func (l *life) state(now time.Time) store.State {
	switch {
	case l.ended:
		return store.None
	case l.doubted || l.token != "" && !now.Before(l.lease):
		return store.InDoubt
	case l.token != "":
		return store.Claimed
	}
	return store.Open
}

// saidBy reports whether the digest of answers contains every decision of the life.
func (l *life) saidBy(digest string) bool {
	answers := store.UnmarshalAnswers(digest)
	return !slices.ContainsFunc(l.decided, func(d string) bool {
		question, mark, _ := strings.Cut(d, " ")
		return answers[question] != mark
	})
}

func (l *life) end(how store.EndKind, now time.Time) {
	l.ended, l.how, l.at = true, how, now
}

// pass applies the changes that happen because time passes, up to now.
func (m *model) pass(now time.Time) {
	if l := m.current(); l != nil {
		switch l.state(now) {
		case store.Open:
			if !now.Before(l.opened.Add(m.retention)) {
				l.end(store.Retired, now)
			}
		case store.InDoubt:
			if !now.Before(l.lease.Add(m.retention)) {
				l.end(store.Doubtful, now)
			}
		}
	}
	results := 0
	for i := len(m.lives) - 1; i >= 0; i-- {
		l := m.lives[i]
		if !l.ended || l.buried {
			continue
		}
		results++
		old := !now.Before(l.at.Add(m.replay)) && !now.Before(l.expires)
		l.buried = old || results > store.MaxReplayable
	}
}

// do makes the call on the model, and returns the error that the store must return.
func (m *model) do(c call, now time.Time) error {
	m.pass(now)
	defer m.pass(now)
	cur := m.current()
	state := store.None
	if cur != nil {
		state = cur.state(now)
	}
	// holder is true if the call has the token of the claim, lapsed or not, and no other step has
	// begun since.
	holder := cur != nil && cur.token == c.token && !cur.doubted
	receipt := fmt.Sprint(c.token, "/", c.how, "/", c.mark, "/", c.next)
	switch c.op {
	case "Load":
		m.owner = cmp.Or(m.owner, c.owner)
	case "Open":
		switch {
		case m.owner != "" && m.owner != c.owner:
			return store.ErrOwner
		case state == store.Open && cur.id == c.pause:
			return nil
		case state == store.Open, state == store.Claimed, m.find(c.pause) != nil:
			return store.ErrExists
		case state == store.InDoubt:
			cur.end(store.Doubtful, now)
		}
		m.owner = c.owner
		l := &life{id: c.pause, opened: now}
		if c.expires != 0 {
			l.expires = m.start.Add(c.expires)
		}
		m.lives = append(m.lives, l)
	case "Claim":
		l := m.find(c.pause)
		switch {
		case l == nil, l.buried:
			return store.ErrNotFound
		case state == store.Open && l == cur && !l.saidBy(c.digest):
			return store.ErrStale
		case state == store.Open && l == cur, holder && l == cur && l.digest == c.digest:
			l.token, l.digest, l.lease = c.token, c.digest, now.Add(c.lease)
		case state == store.InDoubt && l == cur:
			return store.ErrConflict
		case store.SameAnswers(l.digest, c.digest):
			return store.ErrReplay
		default:
			return store.ErrConflict
		}
	case "Decide":
		l := m.find(c.pause)
		question := strings.TrimPrefix(c.question, c.pause+"~")
		switch {
		case l == nil, l.buried, question != "1" && (question != "2" || !l.expires.IsZero()):
			return store.ErrNotFound
		case slices.Contains(l.decided, c.question+" "+c.mark):
		case l != cur, state != store.Open, slices.ContainsFunc(l.decided, func(d string) bool { return strings.HasPrefix(d, c.question+" ") }):
			return store.ErrConflict
		default:
			l.decided = append(l.decided, c.question+" "+c.mark)
		}
	case "Renew":
		if !holder {
			return store.ErrStale
		}
		cur.lease = now.Add(c.lease)
	case "Finish":
		for _, l := range m.lives {
			if l.receipt == receipt {
				return nil
			}
		}
		if !holder {
			return store.ErrStale
		}
		cur.receipt, cur.next = receipt, c.next
		if c.how == store.Doubtful {
			cur.doubted, cur.lease = true, now
			return nil
		}
		cur.end(c.how, now)
		if c.next != "" {
			m.lives = append(m.lives, &life{id: c.next, opened: now})
		}
	case "Release":
		switch {
		case state == store.Open && cur.released == c.token:
		case !holder:
			return store.ErrStale
		default:
			cur.released, cur.token, cur.digest = c.token, "", ""
		}
	case "Close":
		switch {
		case cur == nil || cur.id != c.pause:
			return store.ErrNotFound
		case state == store.Claimed, state == store.Open && c.how == store.Doubtful:
			return store.ErrExists
		}
		cur.end(c.how, now)
	}
	return nil
}

// view returns the state of the model that a record would show, one line for each fact.
func (m *model) view(now time.Time) string {
	m.pass(now)
	var b strings.Builder
	fmt.Fprintf(&b, "owner %q\n", m.owner)
	if l := m.current(); l != nil {
		s := l.state(now)
		fmt.Fprintf(&b, "%s %s since %d", s, l.id, l.opened.Unix())
		if s != store.Open {
			fmt.Fprintf(&b, " by %s of %s until %d", l.token, l.digest, l.lease.Unix())
		}
		fmt.Fprintf(&b, " decided %q\n", l.decided)
	}
	replayable, tombstones := 0, 0
	for i := len(m.lives) - 1; i >= 0; i-- {
		switch l := m.lives[i]; {
		case !l.ended:
		case !l.buried:
			replayable++
			fmt.Fprintf(&b, "result %s %s at %d of %q, next %q, decided %q\n", l.id, l.how, l.at.Unix(), l.digest, l.next, l.decided)
		case tombstones < store.MaxTombstones:
			tombstones++
			fmt.Fprintf(&b, "tombstone %s %s at %d\n", l.id, l.how, l.at.Unix())
		}
	}
	return b.String()
}

// view returns the lines that model.view returns, from a record of the store.
func view(rec store.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "owner %q\n", rec.Owner)
	if rec.State != store.None {
		fmt.Fprintf(&b, "%s %s since %d", rec.State, rec.Pause.ID, rec.Pause.Opened.Unix())
		if rec.State != store.Open {
			fmt.Fprintf(&b, " by %s of %s until %d", rec.Token, rec.Digest, rec.Lease.Unix())
		}
		fmt.Fprintf(&b, " decided %q\n", decidedOf(rec.Pause))
	}
	for _, r := range rec.Results {
		if r.Tombstone {
			fmt.Fprintf(&b, "tombstone %s %s at %d\n", r.PauseID, r.EndKind, r.At.Unix())
		} else {
			fmt.Fprintf(&b, "result %s %s at %d of %q, next %q, decided %q\n", r.PauseID, r.EndKind, r.At.Unix(), r.Digest, r.Next, decidedOf(r.Pause))
		}
	}
	return b.String()
}

func decidedOf(p *agui.Pause) (list []string) {
	for _, d := range p.Decisions {
		list = append(list, d.Question+" "+d.Digest)
	}
	return list
}
