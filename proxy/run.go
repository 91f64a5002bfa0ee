package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/sse"
	"holdpoint/proxy/internal/backend"
	"holdpoint/proxy/internal/stream"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/store"
	"holdpoint/translate"
)

// A run is one run of a client: a request, at most one claim, one exchange with the backend or
// rarely several. It is used by one goroutine at a time: the handler's, and after the client has
// left the one that reads on.
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
	conn *backend.Conn  // that the stream at hand is read from; nil if that is not known

	opened string // id of the pause that this run opened

	suspended suspended

	openCalls []passedCall // of the stream, without a result so far, see noteCall

	life life

	report report
}

// A report is for the one line that a run leaves in the log.
type report struct {
	started time.Time
	status  int
	outcome string
	code    agui.Code
	paused  *agui.Pause // the pause that was told
}

// An attempt is what one judgement makes of the request. A request that waited is judged anew, and
// nothing of the attempt before is left then.
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

type runKey struct{}

func runOf(ctx context.Context) *run {
	r, _ := ctx.Value(runKey{}).(*run)
	return r
}

// spoken is the dialect that the thread's backend speaks: of the question that is open, else of the
// path as it was seen to speak, else of a question that ended, for Holdpoint may have been started
// anew since. It is "" if none of these is known.
func (r *run) spoken() string {
	finder, finds := r.h.opts.Dialect.(translate.Finder)
	if p := r.record.Pause; finds && p != nil && finder.Finds(p.Dialect) {
		return p.Dialect // the path may lead to several backends
	}
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

// dialect is the one that the backend of the exchange at hand speaks.
func (r *run) dialect() string {
	if _, finds := r.h.opts.Dialect.(translate.Finder); finds {
		return r.speaks
	}
	return r.h.opts.Dialect.Name()
}

// valid judges a payload. A schema that cannot be used must not lock the question up.
func (r *run) valid(schema, payload json.RawMessage) error {
	if r.validator == nil {
		r.validator = contract.NewValidator(r.life.ctx)
	}
	err := r.validator.Validate(schema, payload)
	if errors.Is(err, contract.ErrSchema) {
		r.log.Warn("payload taken unchecked", "err", err)
		return nil
	}
	return err
}

// claimedNow says whether the run holds a claim, so that its end must be seen.
func (r *run) claimedNow() bool { return r.claim.held.Load() }

// carries makes the request one that carries a pause, and nothing else.
func (r *run) carries(pauseID string) { r.carry, r.judged, r.readFor = pauseID, true, pauseID }

// A body is the answer to a run: it reads the upstream's frames, has them translated, and gives the
// client's. It is pulled by pump. It ends with io.EOF always, whatever the upstream does: the
// official client takes a truncated stream for success and dies of a reset.
type body struct {
	r      *run
	up     io.ReadCloser // nil: there is nothing to read
	frames *sse.Reader   // of AG-UI
	pieces stream.Pieces // of a stream that is not AG-UI; frames is nil then

	out   stream.Output // whole frames for the client
	lf    []byte        // scratch for frames with other line ends
	emits func(agui.Event)

	phase     phase
	end       ending      // of the exchange at hand, where up is nil
	concluded *conclusion // what has come of it already; nil if nothing has yet
	waiting   *savedPause // in the phase held
	started   bool        // RUN_STARTED was told
	terminal  agui.Type   // the last terminal event told, in the phase ended
	chunk     string      // the call that chunks without an id belong to
	// answeredCalls are those of the run's known calls that got their result in this stream.
	answeredCalls map[string]bool
	laterRuns     int // runs of this stream after the first

	watch *backend.Watch
	apart apart
}

// An answer is what came of an exchange: a stream, or why there is none and what the dialect is
// told then.
type answer struct {
	stream  io.ReadCloser
	framing translate.Framing // Unread: AG-UI
	end     ending            // where stream is nil
}

// An ending is how an exchange came to its end, by whatever way.
type ending struct {
	translate.End
	broken *agui.RunError // what to tell if the backend gave no end of its own; nil: UPSTREAM_EOF
}

// A conclusion is what comes of it.
type conclusion struct {
	events []agui.Event // what the client is to be told now
	next   bool         // the next exchange of the run is ready to be sent
	pause  *savedPause  // is saved and to be told when the run has waited for answers; else nil
	said   bool         // the dialect, or the store, has said something of this end
}

// A savedPause is a pause that stands in the record, and has not been told yet.
type savedPause struct {
	pause    *agui.Pause
	announce []agui.Event // how the backend itself announced it
	kept     snapshot     // of that moment
	// subagents are the ends of subagents that waited, see suspended.
	subagents []agui.Event
	answers   <-chan []agui.ResumeEntry // what the run is held open for; nil if it is not
}

// A snapshot is what is known of messages and state at the end.
type snapshot struct {
	list            []json.RawMessage // all messages
	whole, stateful bool              // they are known; so is the state
	messages, state json.RawMessage   // what is kept of them; nil if they are not known

	stateSent, anyState, messagesSent bool // see Transcript.Sent
}

// A reply is a decision in a message, and what the record knows of it.
type reply struct {
	translate.Reply
	pause  *agui.Pause // whose question it answers, nil if none is known
	answer agui.Answer // to that
	// settled: that pause ended well, with this answer.
	settled bool
	// taken: it is an answer of this request; repeats: it says what an entry of its resume array
	// says.
	taken, repeats bool
}
