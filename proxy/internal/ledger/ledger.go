// Package ledger keeps the record of a thread in the store, and is the only caller of the store. It
// gets values, makes each step again if its reply was lost, and tells the events of the step to
// a Voice. It judges nothing, and it knows no run, no request and no dialect.
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

// LeaseTime is how long a claim holds without being renewed: after our crash the pause is in doubt
// that soon. No lease is longer.
const LeaseTime = 30 * time.Second

const (
	// StepTimeout bounds one step of the store; see LastTime for those of a process that ends.
	StepTimeout = 10 * time.Second

	leaseRenew = LeaseTime / 3
	// renewTimeout bounds one renewal, and renewAgain is how soon one that failed is made again. A
	// claim outlasts two renewals without a reply.
	renewTimeout = leaseRenew / 2
	renewAgain   = leaseRenew / 5
)

// A Ledger is the record of one thread. Each step has its time, and does not end with the run. A
// step whose reply was lost is done again: the store's steps are made for that. Errors are the
// store's own.
type Ledger struct {
	Key    store.Key
	Owner  string  // who the thread is of, as its record has it; "" without principals
	Voice  Voice   // is told of the steps
	Ending *Ending // of the process, nil if it shortens no step

	store   store.Store
	log     *slog.Logger
	ctx     context.Context // its values go to the store
	client  Client          // nil if no client waits for the steps
	refused error           // why the store did not give the last claim
}

// A Client waits while the store is asked. Alive sends it a heartbeat if one is due.
type Client interface{ Alive() }

// New returns the ledger of the thread with that key. Its steps are told to the voice. log is nil
// if nothing is to be logged.
func New(s store.Store, key store.Key, voice Voice, log *slog.Logger) *Ledger {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Ledger{Key: key, Voice: voice, store: s, log: log, ctx: context.Background()}
}

// SetContext has the steps pass the values of ctx to the store. They do not end with ctx.
func (l *Ledger) SetContext(ctx context.Context) { l.ctx = ctx }

// SetClient has a client wait for the steps.
func (l *Ledger) SetClient(c Client) { l.client = c }

// forThread returns the ledger of another thread, for the same run.
func (l *Ledger) forThread(key store.Key) *Ledger {
	other := *l
	other.Key = key
	return &other
}

// step gives the time of one step.
func (l *Ledger) step() (context.Context, context.CancelFunc) {
	if l.client != nil {
		l.client.Alive()
	}
	return l.Ending.bound(context.WithoutCancel(l.ctx), StepTimeout)
}

// twice does a step again if its reply was lost: if the store has not answered, and has not
// said either that it cannot read the record.
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

// do does a step, and does it again if its reply was lost. The step is a value, so it writes its
// notices once.
func (l *Ledger) do(step store.Step) error {
	_, _, err := l.done(step)
	return err
}

// done is do. It returns what the step came to, and reports whether it was done again.
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

// notices returns what a step is to write of what it makes true.
func (l *Ledger) notices(list []Occurrence) []store.Notice { return l.Voice.notices(list, l.Key) }

// Tell tells the voice what happened. It returns an error only if events are required.
func (l *Ledger) Tell(o Occurrence) error { return l.Voice.tell(o, l.Key) }

// tellAll tells what a step has made true.
func (l *Ledger) tellAll(list []Occurrence) {
	for _, o := range list {
		_ = l.Tell(o)
	}
}

// Load returns the record as it stands.
func (l *Ledger) Load() (rec store.Record, err error) {
	err = l.twice(func(ctx context.Context) (err error) { rec, err = l.store.Load(ctx, l.Key, l.Owner); return err })
	return rec, err
}

// loadAt returns the record of a key of the index, or of another thread. It gives no thread to
// anybody.
func (l *Ledger) loadAt(key store.Key) (rec store.Record, err error) {
	err = l.twice(func(ctx context.Context) (err error) { rec, err = l.store.Load(ctx, key, ""); return err })
	return rec, err
}

// Snapshots returns the snapshots that a ref names. It does not ask the store if none are kept.
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

// Open keeps a pause of a run without a claim. store.ErrExists: another question is open.
func (l *Ledger) Open(p *agui.Pause) error {
	_, err := l.ask(p)
	return err
}

// ask is Open. standing is the record if another question is open.
func (l *Ledger) ask(p *agui.Pause) (standing *store.Record, err error) {
	raises := l.raisedOccurrence(p)
	done, _, err := l.done(store.Ask{Owner: l.Owner, Pause: *p, Notices: l.notices(raises)})
	if err == nil {
		l.tellAll(raises)
	}
	return done.Standing, err
}

// Reopen opens an ended pause again, under the same ids of its questions, for a cancel and
// nothing else. So the cancel has a claim like any other answer, and goes out once.
// store.ErrExists: another question is open.
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

// contest notes that a run of the thread came to another question than the open pause's, whoever
// has claimed the pause meanwhile: it may be given back. p is nil if no pause is open.
//
// Two ordinary runs of a thread may be at the backend at once: the client of one broke off, and
// sent again before anybody knew. One question of the two is kept and told. The backend may wait
// for the other one. Where it takes an answer without an id, a yes to the one could then carry out
// the other. So a dialect sends for a contested pause (agui.Pause.Contested) what the backend can
// give to no other question, or refuses the answer.
func (l *Ledger) contest(p *agui.Pause) {
	if p == nil {
		return
	}
	err := l.do(store.Contest{PauseID: p.ID})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		l.log.Error(logContestFailed, "err", err)
	}
}

// See notes that the chat has caught up with the end of a pause.
func (l *Ledger) See(pauseID string) error {
	return l.do(store.See{PauseID: pauseID})
}

// Remember notes something of the thread's calls. most is how many notes are kept.
func (l *Ledger) Remember(n store.Note, most int) error { return l.RememberAt(l.Key, n, most) }

// RememberAt notes something of the calls of another thread. It gives the thread to nobody.
func (l *Ledger) RememberAt(key store.Key, n store.Note, most int) error {
	return l.forThread(key).do(store.Remember{Note: n, Most: most})
}

// Decide writes down what was decided at another door than the chat, or of a part of the questions.
//
//   - store.ErrConflict, store.ErrNotFound: somebody was quicker;
//   - door.ErrNotWritten: the audit is required and cannot be written, and nothing is decided.
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

// Close ends a pause that nobody has claimed, or that is in doubt; see Closed and EndedAlready. It
// tells what happened if the pause may have been closed by it.
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
