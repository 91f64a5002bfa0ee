// Package ledger keeps the record of a thread in the store, and is the only caller of the store. It
// repeats a step whose reply was lost, and reports the events of each step to a Voice. It judges
// nothing, and has no knowledge of runs, requests and dialects.
package ledger

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/proxy/internal/ids"
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
)

// LeaseTime is how long a claim lasts without being renewed. If this process crashes, its pauses
// are in doubt after that time. No lease is longer.
const LeaseTime = 30 * time.Second

const (
	// StepTimeout bounds one step of the store. While the process ends, LastTime applies.
	StepTimeout = 10 * time.Second

	leaseRenew = LeaseTime / 3
	// renewTimeout bounds one renewal, and renewAgain is the pause before a failed one is repeated.
	// A claim survives two renewals without a reply.
	renewTimeout = leaseRenew / 2
	renewAgain   = leaseRenew / 5
)

// A Ledger is the record of one thread. Each step has its own time limit, and is not cancelled with
// the run. A step whose reply was lost is repeated, which the store's steps permit. Errors are
// those of the store.
type Ledger struct {
	Key    store.Key
	Owner  string  // owner of the thread, as in its record; "" without principals
	Voice  Voice   // receives the events of the steps
	Ending *Ending // end of the process, which shortens steps; nil if there is none

	store   store.Store
	log     *slog.Logger
	ctx     context.Context // its values are passed to the store
	client  Client          // nil if no client waits for the steps
	refused error           // error of the last failed claim
}

// A Client waits while the store is asked. Alive sends it a heartbeat if one is due.
type Client interface{ Alive() }

// New returns the ledger of the thread with the key. voice receives the events of its steps. If log
// is nil, nothing is logged.
func New(s store.Store, key store.Key, voice Voice, log *slog.Logger) *Ledger {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Ledger{Key: key, Voice: voice, store: s, log: log, ctx: context.Background()}
}

// SetContext passes the values of ctx to the store in all later steps. The steps are not cancelled
// with ctx.
func (l *Ledger) SetContext(ctx context.Context) { l.ctx = ctx }

// SetClient sets the client that waits for the steps.
func (l *Ledger) SetClient(c Client) { l.client = c }

// forThread returns the ledger of another thread, for the same run.
func (l *Ledger) forThread(key store.Key) *Ledger {
	other := *l
	other.Key = key
	return &other
}

// step returns the context of one step, with its time limit.
func (l *Ledger) step() (context.Context, context.CancelFunc) {
	if l.client != nil {
		l.client.Alive()
	}
	return l.Ending.bound(context.WithoutCancel(l.ctx), StepTimeout)
}

// twice repeats a step once if its reply was lost, which means that the error is neither an answer
// of the store nor about an unreadable record.
func (l *Ledger) twice(do func(ctx context.Context) error) error {
	var err error
	for range 2 {
		ctx, cancel := l.step()
		err = do(ctx)
		cancel()
		if err == nil || store.Answered(err) || errors.Is(err, store.ErrUnread) {
			return err
		}
	}
	return err
}

// do does a step, and repeats it if its reply was lost. Because the step is a value, its notices
// are written only once.
func (l *Ledger) do(step store.Step) error {
	_, _, err := l.done(step)
	return err
}

// done is do, but also returns the result of the step and whether the step was repeated.
func (l *Ledger) done(step store.Step) (done store.Done, again bool, err error) {
	tries := 0
	err = l.twice(func(ctx context.Context) (err error) {
		tries++
		done, err = l.store.Do(ctx, l.Key, step)
		return err
	})
	if err == nil && len(store.NoticesOf(step)) > 0 && l.Voice.Sinks.Posted != nil {
		l.Voice.Sinks.Posted(l.Key)
	}
	return done, tries > 1, err
}

// notices returns the notices that a step writes about the occurrences that it causes.
func (l *Ledger) notices(list []Occurrence) []store.Notice { return l.Voice.notices(list, l.Key) }

// Tell reports an occurrence to the voice. It returns an error only if events are required.
func (l *Ledger) Tell(o Occurrence) error { return l.Voice.tell(o, l.Key) }

// tellAll reports the occurrences that a step has caused.
func (l *Ledger) tellAll(list []Occurrence) {
	for _, o := range list {
		_ = l.Tell(o)
	}
}

// Load returns the current record.
func (l *Ledger) Load() (rec store.Record, err error) {
	err = l.twice(func(ctx context.Context) (err error) { rec, err = l.store.Load(ctx, l.Key, l.Owner); return err })
	return rec, err
}

// loadAt returns the record of another thread or of a key of the index. It does not set an owner.
func (l *Ledger) loadAt(key store.Key) (rec store.Record, err error) {
	err = l.twice(func(ctx context.Context) (err error) { rec, err = l.store.Load(ctx, key, ""); return err })
	return rec, err
}

// Snapshots returns the snapshots that a ref identifies. It does not ask the store if there are
// none.
func (l *Ledger) Snapshots(ref settle.Ref) (kept store.Snapshots, err error) {
	if ref.Bytes == 0 {
		return store.Snapshots{}, nil
	}
	err = l.twice(func(ctx context.Context) (err error) {
		kept, err = l.store.Snapshots(ctx, l.Key, ref.PauseID, ref.At)
		return err
	})
	return kept, err
}

// Open saves the pause of a run without a claim. It returns store.ErrExists if another question is
// open.
func (l *Ledger) Open(p *agui.Pause) error {
	_, err := l.ask(p)
	return err
}

// ask is Open, but also returns the record if another question is open.
func (l *Ledger) ask(p *agui.Pause) (standing *store.Record, err error) {
	raises := l.raisedOccurrence(p)
	done, _, err := l.done(store.Ask{Owner: l.Owner, Pause: *p, Notices: l.notices(raises)})
	if err == nil {
		l.tellAll(raises)
	}
	return done.Standing, err
}

// Reopen opens an ended pause again, with the same ids of its questions, so that it can only be
// cancelled. The cancel then has a claim like any other answer, and is sent once. It returns
// store.ErrExists if another question is open.
func (l *Ledger) Reopen(ended *store.Result) error {
	p := *ended.Pause
	p.ID = ids.Random128()
	p.Interrupts = slices.Clone(p.Interrupts)
	for n := range p.Interrupts {
		p.Interrupts[n].CancelOnly = true
	}
	p.Seen = ended.Seen
	return l.Open(&p)
}

// contest records that a run of the thread raised another question than that of the open pause,
// even if the pause is claimed meanwhile, because it may be given back. p is nil if no pause is
// open.
//
// Two ordinary runs of a thread may be at the backend at once, if the client of the first broke off
// and sent again before this was noticed. One of their two questions is saved and shown. The
// backend may wait for the other one. If it accepts an answer without an id, a yes to the first
// could carry out the other. So for a contested pause (agui.Pause.Contested) a dialect sends only
// what the backend cannot take for another question's answer, or refuses the answer.
func (l *Ledger) contest(p *agui.Pause) {
	if p == nil {
		return
	}
	err := l.do(store.Contest{PauseID: p.ID})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		l.log.Error(logContestFailed, "err", err)
	}
}

// See records that the chat was shown the end of a pause.
func (l *Ledger) See(pauseID string) error {
	return l.do(store.See{PauseID: pauseID})
}

// Remember saves a note about the thread's calls in its record, which keeps at most most notes.
func (l *Ledger) Remember(n store.Note, most int) error { return l.RememberAt(l.Key, n, most) }

// RememberAt saves a note in the record of another thread. It does not set an owner.
func (l *Ledger) RememberAt(key store.Key, n store.Note, most int) error {
	return l.forThread(key).do(store.Remember{Note: n, Most: most})
}

// Decide records decisions that were made at a door other than the chat, or for a part of the
// questions. The errors are:
//
//   - store.ErrConflict, store.ErrNotFound: another request was first;
//   - door.ErrNotWritten: the audit log is required and cannot be written, and nothing is recorded.
func (l *Ledger) Decide(p *agui.Pause, list []agui.Decision) error {
	var decides []Occurrence
	if l.Voice.Tells() {
		decides = []Occurrence{{event.Decided, p, "", decidedIn(p, list)}}
		if l.Voice.isRequired() {
			if err := l.Tell(Occurrence{event.Deciding, p, "", decides[0].Interrupts}); err != nil {
				return err
			}
		}
	}
	err := l.do(store.Decide{PauseID: p.ID, Decisions: list, Notices: l.notices(decides)})
	if err == nil {
		l.tellAll(decides)
	}
	return err
}

// Close ends a pause that is not claimed, or is in doubt; for its errors see Closed and
// EndedAlready. It reports happened if it may have closed the pause.
func (l *Ledger) Close(pauseID string, result store.Result, happened ...Occurrence) error {
	_, again, err := l.done(store.Close{PauseID: pauseID, Result: result, Notices: l.notices(happened)})
	if again && errors.Is(err, store.ErrNotFound) {
		err = errClosed
	}
	if Closed(err) {
		l.tellAll(happened)
	}
	return err
}
