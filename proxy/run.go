package proxy

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/stream"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/store"
	"holdpoint/translate"
)

var (
	errDraining = errors.New("proxy: draining")
	errIdle     = errors.New("proxy: upstream idle")
	errSwitched = errors.New("proxy: the backend switched protocols on a run")
)

// A run is one run of a client: a request, at most one claim, one exchange with the backend or rarely several. It is used
// by one goroutine at a time: the handler's, and after the client has left the one that reads on.
type run struct {
	h    *Handler
	log  *slog.Logger // names the run
	req  *http.Request
	came *agui.RunInput // as the client sent it
	path string

	ledger  ledger
	claim   claim
	record  store.Record
	readFor string // id of the pause that the answers were read for at first
	judged  bool
	carry   string // id of the pause that it is to carry, for a request of Holdpoint's own; see contract.Case
	show    translate.Show
	attempt

	exchange translate.Exchange  // the one at hand
	speaks   string              // the dialect of the exchange at hand, as far as a Finder knows it
	results  map[uint64]struct{} // messageIds of the results that came, by their hashes

	out  *stream.Writer // to the client
	body *body          // what it is to get, nil if the answer passes as it is
	conn *burstConn     // that the stream at hand is read from; nil if that is not known

	paused *agui.Pause // the pause that was told
	opened string      // id of the pause that this run opened

	openCalls []passedCall // of the stream, without a result so far, see noteCall

	life  life
	began bool // the client has the header of a stream already

	// For the one line in the log.
	started time.Time
	status  int
	outcome string
	code    agui.Code
}

// An attempt is what one judgement makes of the request. A request that waited is judged anew, and nothing of the
// attempt before is left then.
type attempt struct {
	in         agui.RunInput       // as it goes to the dialect
	validator  *contract.Validator // of its payloads, nil while there was none
	verdict    contract.Ruling     // what is to be done
	answers    []agui.Answer       // what Dialect.Answers read; nil if the request has none
	unread     *agui.RunError      // it could not read them
	fresh      []agui.Message      // the messages beside the answers, see translate.Request.New
	transcript *transcript.Transcript
	known      map[string]bool // calls that the client knew before the resume
	byArray    bool            // the answers came in a resume array
	taken      bool            // the messages beside the answers went to the backend, or there were none
	replies    []reply         // the decisions in its messages
	named      string          // id of the pause that it was read for, "" if none is known
	busy       bool            // a run of the thread went on without its client when the record was read
}

func newAttempt(in *agui.RunInput) attempt { return attempt{in: *in, taken: true} }

// anew begins another attempt.
func (r *run) anew() {
	r.attempt = attempt{taken: true}
	r.in = *r.came
}

// newRun makes a run of a request that is one. The input is the run's from then on.
func (h *Handler) newRun(req *http.Request, route string, in *agui.RunInput) *run {
	r := &run{h: h, req: req, came: in, path: route, attempt: newAttempt(in), started: h.opts.Now()}
	r.ledger = ledger{store: h.opts.Store, key: recordKey(route, in.ThreadID)}
	r.log = slog.New(runLog{r})
	r.claim.ledger, r.claim.log = &r.ledger, r.log
	r.life.key, r.life.log = r.ledger.key, r.log
	return r
}

// serve judges the run and does what the judgement says.
func (r *run) serve(w http.ResponseWriter) {
	out := stream.NewWriter(w, r.h.opts.Heartbeat)
	defer out.Close()
	defer r.returned(out)
	if !r.enter() {
		r.turnAway(out)
	} else if told := r.decide(out); told != nil {
		r.tell(out, told)
	} else {
		r.forward(out)
	}
}

// turnAway refuses a run that comes while the proxy drains.
func (r *run) turnAway(out *stream.Writer) {
	r.tell(out, r.refusal(contract.Ruling{Refusal: fault(r.life.ctx, errDraining)}))
}

// enter begins the run's life. It fails when the proxy drains.
func (r *run) enter() bool {
	enters := r.life.enter(&r.h.lives, r.req.Context())
	r.ledger.ctx = r.life.ctx
	return enters
}

// leave ends the run for good. out is nil if its client has left.
func (r *run) leave(out *stream.Writer) {
	r.claim.stop()
	if r.transcript != nil {
		r.transcript.Drop()
	}
	r.life.leave(r.lastLine(), out)
}

// returned is deferred: the handler is done with the run. A panic ends this run only, and the
// client is told. One that is to end the connection (http.ErrAbortHandler) goes on.
func (r *run) returned(out *stream.Writer) {
	p := recover()
	if err, _ := p.(error); p != nil && !errors.Is(err, http.ErrAbortHandler) {
		p = r.recovered(p, out)
	}
	if !r.life.detached.Load() {
		r.leave(out)
	}
	if p != nil {
		panic(p)
	}
}

// decide judges the run until it is settled what is to be done, and prepares it. It returns what the
// client is told; nil if an exchange with the backend is ready to be sent. It may be called again
// behind a pause, for another attempt in mid-run.
func (r *run) decide(out *stream.Writer) (told []agui.Event) {
	r.attempts(out)
	return r.ruled()
}

// ruled does what the last attempt came to, see decide.
func (r *run) ruled() (told []agui.Event) {
	v := r.verdict
	r.verdict = contract.Ruling{} // streams live for hours
	switch v.Do {
	case contract.Pass, contract.Resume:
		return nil
	case contract.TellAgain:
		return r.again()
	case contract.Quiet:
		r.outcome = "nothing to answer"
		return r.quiet()
	case contract.Replay:
		return r.replay(v.Replay)
	}
	return r.refusal(v)
}

// attempts makes one attempt after the other, until none has to wait.
func (r *run) attempts(out *stream.Writer) {
	for wait := newWaiter(); ; {
		if err := r.judge(); err != nil {
			r.notJudged(err)
			return
		}
		if r.verdict.Do == contract.Wait {
			if err := wait.next(r, out); err != nil {
				r.verdict = contract.Ruling{Do: contract.Refuse, Refusal: fault(r.life.ctx, err)}
				return
			}
			continue
		}
		if r.prepare(); r.verdict.Do != contract.Wait { // else somebody else was quicker: judge again
			return
		}
	}
}

func (r *run) notJudged(err error) {
	if bug := (*dialectBug)(nil); errors.As(err, &bug) {
		r.verdict = contract.Ruling{
			Do: contract.Refuse, Refusal: r.dialectFailed("Answers", err), Reask: true,
		}
		return
	}
	r.log.Error("the store cannot be asked", "err", err)
	r.verdict = storeDown()
}

func storeDown() contract.Ruling {
	return refuse(agui.StoreUnavailable, "what this thread waits for is not known at the moment: try again")
}
