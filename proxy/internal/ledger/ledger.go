// Package ledger keeps the record of a thread in the store, and is the only caller of the store. It
// repeats a step whose reply was lost, and reports the events of each step to an EventReporter. It
// does not decide whether an answer is valid, and does not know runs, requests and dialects.
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

// LeaseTime is how long a claim lasts if it is not renewed. If this process crashes, the pauses
// that it has claimed are in doubt after that time. No lease is longer.
const LeaseTime = 30 * time.Second

const (
	// StepTimeout limits one step of the store. While the process ends, LastTime applies instead.
	StepTimeout = 10 * time.Second

	leaseRenew = LeaseTime / 3
	// renewTimeout limits one renewal. renewAgain is the time between a failed renewal and the next
	// attempt. A claim survives two renewals to which the store does not reply.
	renewTimeout = leaseRenew / 2
	renewAgain   = leaseRenew / 5
)

// A Ledger is the record of one thread. Each step has its own time limit, and is not cancelled if
// the run is cancelled. A step whose reply was lost is repeated; the steps of the store permit
// this. The errors are those of the store.
type Ledger struct {
	Key      store.Key
	Owner    string        // owner of the thread, as in its record; "" without principals
	Reporter EventReporter // receives the events of the steps
	Ending   *Ending       // shortens the steps when the process is about to end; may be nil

	store   store.Store
	log     *slog.Logger
	ctx     context.Context // the store gets its values
	client  Client          // nil if no client waits for the steps
	refused error           // error of the last claim; nil if it succeeded
}

// A Client waits while the ledger calls the store. Alive sends it a heartbeat if one is due.
type Client interface{ Alive() }

// New returns the ledger of the thread whose record has the key. reporter receives the events of
// the steps. If log is nil, nothing is logged.
func New(s store.Store, key store.Key, reporter EventReporter, log *slog.Logger) *Ledger {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Ledger{Key: key, Reporter: reporter, store: s, log: log, ctx: context.Background()}
}

// SetContext sets the context whose values the store gets in all later steps. Cancelling ctx does
// not cancel the steps.
func (l *Ledger) SetContext(ctx context.Context) { l.ctx = ctx }

// SetClient sets the client that waits while steps are made.
func (l *Ledger) SetClient(c Client) { l.client = c }

// forThread returns a ledger of another thread, with the other settings of this ledger.
func (l *Ledger) forThread(key store.Key) *Ledger {
	other := *l
	other.Key = key
	return &other
}

// step returns the context of one step, with the time limit of a step. If a client waits, it sends
// the client a heartbeat if one is due.
func (l *Ledger) step() (context.Context, context.CancelFunc) {
	if l.client != nil {
		l.client.Alive()
	}
	return l.Ending.bound(context.WithoutCancel(l.ctx), StepTimeout)
}

// retryOnce calls do, which makes a step, and calls it once more if the reply of the step was lost.
// The reply was lost if the error is neither an answer of the store nor about a record that cannot
// be read.
func (l *Ledger) retryOnce(do func(ctx context.Context) error) error {
	var err error
	for range 2 {
		ctx, cancel := l.step()
		err = do(ctx)
		cancel()
		if err == nil || store.IsAnswer(err) || errors.Is(err, store.ErrUnread) {
			return err
		}
	}
	return err
}

// do makes a step, and repeats it if its reply was lost. The repeated step has the same notices, so
// the store writes each notice only once.
func (l *Ledger) do(step store.Step) error {
	_, _, err := l.done(step)
	return err
}

// done is do, and returns also the result of the step and whether the step was repeated.
func (l *Ledger) done(step store.Step) (done store.StepResult, retry bool, err error) {
	tries := 0
	err = l.retryOnce(func(ctx context.Context) (err error) {
		tries++
		done, err = l.store.Do(ctx, l.Key, step)
		return err
	})
	if err == nil && len(store.NoticesOf(step)) > 0 && l.Reporter.Sinks.OnNotices != nil {
		l.Reporter.Sinks.OnNotices(l.Key)
	}
	return done, tries > 1, err
}

// notices returns the notices about the occurrences in list. The step that causes these occurrences
// writes the notices into the record.
func (l *Ledger) notices(list []Occurrence) []store.Notice { return l.Reporter.notices(list, l.Key) }

// Report reports an occurrence to the voice. It returns an error only if Sinks.Required is set and
// the event was not accepted.
func (l *Ledger) Report(o Occurrence) error { return l.Reporter.report(o, l.Key) }

// tellAll reports the occurrences that a step has caused.
func (l *Ledger) tellAll(list []Occurrence) {
	for _, o := range list {
		_ = l.Report(o)
	}
}

// Load returns the current record.
func (l *Ledger) Load() (rec store.Record, err error) {
	err = l.retryOnce(func(ctx context.Context) (err error) { rec, err = l.store.Load(ctx, l.Key, l.Owner); return err })
	return rec, err
}

// loadAt returns the record of another thread, or the entry under a key of the index. It does not
// set an owner.
func (l *Ledger) loadAt(key store.Key) (rec store.Record, err error) {
	err = l.retryOnce(func(ctx context.Context) (err error) { rec, err = l.store.Load(ctx, key, ""); return err })
	return rec, err
}

// Snapshots returns the snapshots that ref identifies. If ref says that the store has no snapshots,
// it does not call the store.
func (l *Ledger) Snapshots(ref settle.Ref) (snapshots store.Snapshots, err error) {
	if ref.Bytes == 0 {
		return store.Snapshots{}, nil
	}
	err = l.retryOnce(func(ctx context.Context) (err error) {
		snapshots, err = l.store.Snapshots(ctx, l.Key, ref.PauseID, ref.At)
		return err
	})
	return snapshots, err
}

// Open saves the pause of a run without a claim. It returns store.ErrExists if the thread already
// has an open question.
func (l *Ledger) Open(p *agui.Pause) error {
	_, err := l.ask(p)
	return err
}

// ask is Open, and returns also the current record if the thread already has an open question.
func (l *Ledger) ask(p *agui.Pause) (standing *store.Record, err error) {
	raises := l.raisedOccurrence(p)
	done, _, err := l.done(store.Ask{Owner: l.Owner, Pause: *p, Notices: l.notices(raises)})
	if err == nil {
		l.tellAll(raises)
	}
	return done.Standing, err
}

// Reopen opens an ended pause again, so that its questions can only be cancelled. The questions
// have the same ids, and the pause has a new id. Then the cancel gets a claim like any other
// answer, and is sent only once. Reopen returns store.ErrExists if the thread already has an open
// question.
func (l *Ledger) Reopen(endedResult *store.Result) error {
	p := *endedResult.Pause
	p.ID = ids.Random128()
	p.Interrupts = slices.Clone(p.Interrupts)
	for n := range p.Interrupts {
		p.Interrupts[n].CancelOnly = true
	}
	p.SeenMessages = endedResult.SeenMessages
	return l.Open(&p)
}

// markContested records that a run of the thread raised another question while the pause p was
// open. It records this even if p is claimed meanwhile, because a claimed pause may be opened
// again. p is nil if no pause is open; then contest does nothing.
//
// Two ordinary runs of a thread can be at the backend at the same time, if the client of the first
// run broke off and sent its request again before Holdpoint noticed. Only one of their two
// questions is saved and shown. The backend may wait for the answer to the other question. If it
// accepts an answer without an id, a yes to the shown question could carry out the other action. So
// for a contested pause (agui.Pause.Contested) a dialect sends an answer only if the backend cannot
// use it for another question. Otherwise it refuses the answer.
func (l *Ledger) markContested(p *agui.Pause) {
	if p == nil {
		return
	}
	err := l.do(store.Contest{PauseID: p.ID})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		l.log.Error(logContestFailed, "err", err)
	}
}

// MarkSeen records that the chat has got the outcome of the ended pause.
func (l *Ledger) MarkSeen(pauseID string) error {
	return l.do(store.See{PauseID: pauseID})
}

// Remember saves a note about the thread's calls in its record. The record keeps the newest notes,
// at most as many as the parameter most says.
func (l *Ledger) Remember(n store.Note, most int) error { return l.RememberAt(l.Key, n, most) }

// RememberAt is Remember for the record of another thread. It does not set an owner there.
func (l *Ledger) RememberAt(key store.Key, n store.Note, most int) error {
	return l.forThread(key).do(store.Remember{Note: n, Most: most})
}

// Decide records decisions. They were made at the desk or by another door than the chat, or they
// are for only some of the questions. The errors are:
//
//   - store.ErrConflict, store.ErrNotFound: another request was first;
//   - door.ErrNotWritten: the audit log is required and cannot be written, and nothing is recorded.
func (l *Ledger) Decide(p *agui.Pause, list []agui.Decision) error {
	var decides []Occurrence
	if l.Reporter.IsReporting() {
		decides = []Occurrence{{event.Decided, p, "", decidedIn(p, list)}}
		if l.Reporter.isRequired() {
			if err := l.Report(Occurrence{event.Deciding, p, "", decides[0].Interrupts}); err != nil {
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

// Close ends a pause that is not claimed, or that is in doubt. For its errors see Closed and
// EndedAlready. If it has closed the pause, or may have closed it, it reports the occurrences in
// happened.
func (l *Ledger) Close(pauseID string, result store.Result, happened ...Occurrence) error {
	return l.close(store.Close{PauseID: pauseID, Result: result}, happened)
}

// CloseUndecided is Close for a caller that has judged the open pause p. It closes the pause only
// if no further question of it was decided since then.
func (l *Ledger) CloseUndecided(p *agui.Pause, result store.Result, happened ...Occurrence) error {
	return l.close(store.Close{PauseID: p.ID, Result: result, Decided: new(len(p.Decisions))}, happened)
}

func (l *Ledger) close(end store.Close, happened []Occurrence) error {
	end.Notices = l.notices(happened)
	_, again, err := l.done(end)
	if again && errors.Is(err, store.ErrNotFound) {
		err = errClosed
	}
	if Closed(err) {
		l.tellAll(happened)
	}
	return err
}
