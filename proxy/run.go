package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
)

const (
	storeTimeout = 10 * time.Second
	// leaseTime is how long a claim holds without being renewed: after our crash the pause is in doubt that soon.
	leaseTime  = 30 * time.Second
	leaseRenew = leaseTime / 3
)

var (
	errDraining = errors.New("proxy: draining")
	errIdle     = errors.New("proxy: upstream idle")
	errSwitched = errors.New("proxy: the backend switched protocols on a run")
)

// A run is one run of a client: a request, at most one claim, one exchange with the backend or rarely two. It is used
// by one goroutine at a time: the handler's, and after the client has left the one that reads on.
type run struct {
	h    *Handler
	log  *slog.Logger
	req  *http.Request
	came agui.RunInput // as the client sent it
	path string
	key  store.Key

	record  store.Record
	readFor string // id of the pause that the answers were read for at first
	judged  bool
	show    translate.Show
	attempt

	exchange  translate.Exchange // the one at hand
	second    bool               // it is the second one
	laterRuns int                // runs of this stream after the first
	wrote     atomic.Bool        // a connection for it was there: bytes may have gone out
	// carried says that an exchange with the answers may have gone out, earlier that one before the exchange at hand
	// did. Answers that were sent are never given back but by the only exchange that carried them.
	carried atomic.Bool
	earlier bool

	token   string      // of the claim, "" if there is none
	holding atomic.Bool // token is set; for other goroutines' eyes
	renewal renewal
	paused  *agui.Pause // the pause that was told
	opened  string      // id of the pause that this run opened

	ctx      context.Context
	cancel   context.CancelCauseFunc
	lasting  atomic.Bool // it would go on without its client
	left     bool        // it does; under Handler.mu
	unfollow func() bool // lets the run outlive its request
	unwatch  func() bool // ends the watch on a client that may leave
	alone    renewal     // gives a claimed run up that its client has left
	detached atomic.Bool // the handler has returned and the run goes on
	began    bool        // the client has the header of a stream already

	// For the one line in the log.
	started time.Time
	status  int
	outcome string
	code    agui.Code
}

// An attempt is what one judgement makes of the request. A request that waited is judged anew, and nothing of the
// attempt before is left then.
type attempt struct {
	in         agui.RunInput // as it goes to the dialect
	request    translate.Request
	transcript *transcript
	known      map[string]bool    // calls that the client knew before the resume
	byArray    bool               // the answers came in a resume array
	taken      bool               // the messages beside the answers went to the backend, or there were none
	old        []agui.SeenMessage // messages by which ended pauses were answered
	settled    []agui.SeenMessage // those of them that the record knows as the answers
	results    map[uint64]bool    // messageIds of the results that came, by their hashes
	busy       bool               // a run of the thread went on without its client when the record was read
}

func newAttempt(in agui.RunInput) attempt { return attempt{in: in, taken: true} }

// serveRun judges a run and does what the judgement says.
func (h *Handler) serveRun(w http.ResponseWriter, req *http.Request, route string, in agui.RunInput) {
	r := &run{
		h: h, req: req, came: in, path: route, attempt: newAttempt(in), started: h.opts.Now(),
		log: h.log.With("thread_id", agui.Cut(in.ThreadID), "run_id", agui.Cut(in.RunID)),
	}
	r.key = recordKey(r.path, in.ThreadID)
	out := newWriter(w, h.opts.Heartbeat)
	defer out.close()
	if !h.enter(r, req) {
		r.unfollow()
		r.tell(out, r.refusal(decision{err: fault(r.ctx, errDraining)}))
		return
	}
	defer func() {
		if !r.detached.Load() {
			r.leave()
		}
	}()
	for wait := newWaiter(); ; {
		d, err := r.judge()
		if err != nil {
			r.log.Error("the store cannot be asked", "err", err)
			r.tell(out, r.refusal(storeDown()))
			return
		}
		if d.do == actWait {
			if err := wait.next(r, out); err != nil {
				r.tell(out, r.refusal(decision{err: fault(r.ctx, err)}))
				return
			}
			continue
		}
		if d = r.prepare(d); d.do == actWait {
			continue // somebody else was quicker: judge again
		}
		r.act(out, req, d)
		return
	}
}

func storeDown() decision {
	return refuse(agui.StoreUnavailable, "what this thread waits for is not known at the moment: try again")
}

// judge loads the record, reads the answers and asks the contract.
func (r *run) judge() (decision, error) {
	r.attempt = newAttempt(r.came)
	r.busy = r.h.busyAlone(r.key) // before the record is read: that run may open a pause and be gone behind it
	ctx, cancel := r.storeContext()
	defer cancel()
	record, err := r.h.opts.Store.Load(ctx, r.key, "")
	if err != nil {
		return decision{}, err
	}
	r.record = record
	r.show = r.showFor()
	q := question{in: r.in, record: record, valid: r.valid}
	p := r.namedPause()
	answers, err := r.h.opts.Dialect.Answers(r.in, p)
	if err != nil && !errors.As(err, &q.unread) {
		return decision{}, err
	}
	if !r.judged {
		r.judged, r.readFor = true, p.ID
	}
	q.answers, q.readFor = answers, r.readFor
	if r.in.ResumeObject != nil && answers == nil && q.unread == nil {
		q.unread = agui.Errorf(agui.InvalidPayload, "resume must be an array of entries")
	}
	r.old, r.settled = r.oldAnswers()
	q.settled = r.settled
	return admit(q), nil
}

// valid judges a payload. A schema that cannot be used must not lock the question up.
func (r *run) valid(schema, payload json.RawMessage) error {
	err := validate(schema, payload)
	if errors.Is(err, errSchema) {
		r.log.Warn("payload taken unchecked", "err", err)
		return nil
	}
	return err
}

// showFor is what the client is to be shown of a pause.
func (r *run) showFor() translate.Show {
	switch r.h.opts.Client {
	case ClientOutcome:
		return translate.ShowOutcome
	case ClientBoth:
		return translate.ShowBoth
	case ClientNative:
		return translate.ShowNative
	}
	if r.in.ProtocolVersion != "" || r.in.HasResume {
		return translate.ShowOutcome
	}
	for _, result := range r.record.Results {
		if result.ByArray {
			return translate.ShowOutcome
		}
	}
	return translate.ShowBoth
}

// namedPause is the pause whose ids the request names, open or ended; else the open one; else the one that ended last,
// for an answer that names none; else none, but for the dialect that the route was seen to speak.
//
// A request that has waited is read for the pause that it was read for at first: the question that is open by now was
// asked after it came, and cannot be what it answers.
func (r *run) namedPause() agui.Pause {
	p := r.findPause()
	if p.Dialect == "" {
		p.Dialect = r.spoken()
	}
	return p
}

// spoken is the dialect that the route was seen to speak, or the thread before Holdpoint was started anew; "" if neither
// is known.
func (r *run) spoken() string {
	if name := r.h.routeDialect(r.path); name != "" {
		return name
	}
	for _, result := range r.record.Results {
		if result.Pause != nil && result.Pause.Dialect != "" {
			return result.Pause.Dialect
		}
	}
	return ""
}

func (r *run) findPause() agui.Pause {
	rec := &r.record
	if r.readFor != "" {
		if rec.Pause != nil && rec.Pause.ID == r.readFor {
			return *rec.Pause
		}
		for _, result := range rec.Results {
			if result.PauseID == r.readFor && result.Pause != nil {
				return ended(*result.Pause)
			}
		}
		return agui.Pause{}
	}
	ids := r.in.NamedIDs()
	if rec.Pause != nil && slices.ContainsFunc(ids, func(id string) bool { return rec.Pause.Interrupt(id) != nil }) {
		return *rec.Pause
	}
	for _, id := range ids {
		if result := rec.ResultOf(id); result != nil && result.Pause != nil {
			return ended(*result.Pause)
		}
	}
	if rec.Pause != nil {
		return *rec.Pause
	}
	if len(rec.Results) > 0 && rec.Results[0].Pause != nil {
		return ended(*rec.Results[0].Pause)
	}
	return agui.Pause{}
}

func ended(p agui.Pause) agui.Pause {
	p.Ended = true
	return p
}

// prepare does what may still turn a run down or find somebody quicker: Begin and the claim. A decision of actWait
// means that the record has changed.
func (r *run) prepare(d decision) decision {
	if d.withdraw {
		if changed := r.giveUp(); changed.do != actPass {
			return changed
		}
	}
	switch d.do {
	case actPass:
		return r.preparePass(d)
	case actResume:
		return r.prepareResume(d)
	case actRefuse:
		if d.doubt {
			return r.closeDoubt(d)
		}
	}
	return d
}

func (r *run) preparePass(d decision) decision {
	if r.show != translate.ShowNative { // such a client's history is the backend's own
		r.in = withoutLeftovers(r.in)
	}
	r.in = withoutCarriers(r.withoutStray(r.in, nil), r.unsettled(d.gone))
	if d.strip {
		r.in = r.in.WithoutResume()
	}
	if d.command {
		r.in = r.in.WithoutCommand()
	}
	r.transcript = newTranscript(r.h.opts.TranscriptBytes, r.in.Messages, r.in.State)
	d = r.begin(d, agui.Pause{Dialect: r.spoken()})
	switch {
	case d.do != actPass || !r.exchange.Out.ReadOn:
	case r.h.busyAlone(r.key):
		// The backend would refuse a second run, or begin one beside the first.
		return refuse(agui.ThreadBusy, "an earlier run of this thread goes on without its client: try again when it has ended")
	case r.busy:
		return decision{do: actWait} // it has ended since
	case !r.outlive():
		return givenUp()
	}
	return d
}

func (r *run) prepareResume(d decision) decision {
	p := *r.record.Pause
	r.in = withoutRepeatedAnswers(r.in, &p)
	r.in = withoutCarriers(r.withoutStray(r.in, d.answers), append(r.unsettled(d.gone), d.answers...))
	r.byArray = r.in.HasResume
	r.transcript = r.resumeTranscript(&p)
	r.known = map[string]bool{}
	if r.show != translate.ShowNative { // such a client knows what to make of its backend's stream
		for _, c := range r.transcript.Calls() {
			r.known[c.ID] = true
		}
		if _, whole := r.transcript.Messages(); !whole { // the request may bring fewer than the client has
			for _, i := range p.Interrupts {
				r.known[i.ToolCallID()] = i.ToolCallID() != ""
			}
		}
	}
	r.request.Answers, r.request.New = d.answers, stillIn(r.in.Messages, d.fresh)
	r.taken = len(r.request.New) == 0
	begun := r.begin(d, p)
	if begun.do == actResume {
		return r.claim(begun, p)
	}
	if allCancelled(d.answers) {
		// A cancel that cannot be said to the backend: nothing is sent, and the thread goes on.
		r.log.Warn("the backend cannot be told that its question is cancelled", "code", begun.err.Code)
		old, settled := r.old, r.settled
		r.attempt = newAttempt(r.came)
		r.old, r.settled = old, settled
		q := question{in: r.in, record: r.record, settled: settled}
		return r.prepare(q.giveUp())
	}
	return begun
}

// begin asks the dialect what to send. What it cannot express is refused here, before the claim.
func (r *run) begin(d decision, p agui.Pause) decision {
	r.request.Came = r.came.Messages
	r.request.Input, r.request.Show, r.request.Transcript, r.request.Pause, r.request.Valid = r.in, r.show, r.transcript, p, r.valid
	r.request.Ended = r.endedPauses(p)
	out, translation, err := r.h.opts.Dialect.Begin(r.request)
	if err != nil {
		var refused *agui.RunError
		if !errors.As(err, &refused) {
			r.log.Error("dialect failed", "err", err)
			refused = agui.Errorf(agui.InvalidPayload, "the answers cannot be handed to the backend")
		}
		return decision{do: actRefuse, err: refused, reask: r.record.Pause != nil}
	}
	r.exchange = translate.Exchange{Out: out, Run: translation}
	r.taken = r.taken || out.TakesNew
	return d
}

// endedPauses are those of the record whose questions are still known, newest first. A plain run begins beside a pause only
// if that was given up just now. A tombstone's questions are not known; that it failed a backend may have to be told of which
// keeps the answers, for it acts on them.
func (r *run) endedPauses(resumed agui.Pause) []agui.Pause {
	var list []agui.Pause
	if p := r.record.Pause; p != nil && resumed.ID == "" {
		list = append(list, *p)
	}
	for _, result := range r.record.Results {
		if result.Pause != nil && !result.Tombstone {
			p := *result.Pause
			p.Failed = result.How == store.Doubtful || isError(result.Finish)
			list = append(list, p)
		} else if result.Failed && r.h.foreign != nil {
			list = append(list, agui.Pause{ID: result.PauseID, Failed: true})
		}
	}
	return list
}

// act carries a decision out.
func (r *run) act(out *writer, req *http.Request, d decision) {
	switch d.do {
	case actPass, actResume:
		r.forward(out, req)
	case actAgain:
		r.tell(out, r.again())
	case actQuiet:
		r.outcome = "nothing to answer"
		r.tell(out, r.quiet())
	case actReplay:
		r.tell(out, r.replay(d.result))
	default:
		r.tell(out, r.refusal(d))
	}
}

func (r *run) storeContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.ctx), storeTimeout)
}

// report writes the one line that a run leaves in the log.
func (r *run) report() {
	args := []any{"outcome", r.outcome, "duration_ms", r.h.opts.Now().Sub(r.started).Milliseconds()}
	if r.paused != nil {
		args = append(args, "interrupts", len(r.paused.Interrupts), "dialect", r.paused.Dialect)
	}
	if r.code != "" {
		args = append(args, "code", string(r.code))
	}
	if r.status != 0 {
		args = append(args, "upstream_status", r.status)
	}
	r.log.Info("run ended", args...)
}
