package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/principal"
	"holdpoint/internal/sse"
	"holdpoint/proxy/internal/backend"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/history"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/stream"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/store"
	"holdpoint/translate"
)

// A run is one run of a client. It has a request, at most one claim, and one exchange with the
// backend or rarely several. One goroutine uses it at a time: the handler's, and after the client
// has left the one that reads on.
type run struct {
	h   *Handler
	log *slog.Logger // names the run

	who     principal.Who
	request request
	readFor readFor
	show    translate.Show
	attempt

	ledger *ledger.Ledger
	record store.Record  // as the last attempt has read it
	claim  *ledger.Claim // nil if it has none

	exchange  exchange
	out       *stream.Writer // to the client
	body      *body          // what it is to get, nil if the answer passes as it is
	ownThread *ownThread     // nil unless it is judged against the record of another thread
	// pauseElsewhere is the pause of another thread that the request answers, "" if none is known.
	pauseElsewhere string
	openCalls      history.StreamCalls
	ownPause       string // id of the pause that this run opened
	runID          *runID // in the handler's books, nil if it is not there

	told client.Stream // what the client gets

	life   life
	span   Span // nil: none is made
	report report
}

// A report is for the one line that a run leaves in the log.
type report struct {
	started time.Time
	status  int
	outcome string
	code    agui.Code
	paused  *agui.Pause // the pause that was told

	upstream string        // how the backend has failed, see noteUpstream
	first    time.Duration // until the first bytes of a backend's stream
	told     int           // events of streams of our own
}

// An attempt is what one judgement makes of the request. A request that waited is judged anew, and
// nothing of the attempt before is left then.
type attempt struct {
	in            agui.RunInput       // as it goes to the dialect
	notAsked      error               // why the record could not be read, of a run that may pass all the same
	stranger      bool                // the record is another principal's
	threadWasBusy bool                // a run of the thread went on without its client when the record was read
	answers       requestAnswers      // that it brings
	replies       history.Replies     // the decisions in its messages
	validator     *contract.Validator // of its payloads, nil while there was none
	beside        messagesBesideAnswers
	missed        *missedEnd         // what the chat is told first, nil if it has missed nothing
	notTaken      *agui.RunError     // why the answers beside the message do not count, nil if they do
	stands        *contract.Standing // in their place, nil if nothing does
	transcript    *transcript.Transcript
	withheldFrom  []agui.Message // the messages from which calls were taken out, nil if none were
	knownCalls    client.KnownCalls
	untold        withheldStory
	linked        []history.Linked // pauses of other threads that its messages are about
}

// anew begins another attempt.
func (r *run) anew() { r.attempt = attempt{in: *r.request.input} }

type runKey struct{}

func runOf(ctx context.Context) *run {
	r, _ := ctx.Value(runKey{}).(*run)
	return r
}

// spoken is the dialect that the thread's backend speaks. The question that is open tells it, then
// the path if it was seen to speak one, then a question that ended: Holdpoint may have been started
// anew since. It is "" if nobody knows.
func (r *run) spoken() string {
	if p := r.record.Pause; p != nil && r.h.routes.finder.Finds(p.Dialect) {
		return p.Dialect // the path may lead to several backends
	}
	if name := r.h.routeDialect(r.request.path); name != "" {
		return name
	}
	for _, result := range r.record.Results {
		if result.Pause != nil && result.Pause.Dialect != "" {
			return result.Pause.Dialect
		}
	}
	return ""
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
func (r *run) claimedNow() bool { return r.claim.Held() }

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
	outs  func(agui.Event) // out.Event

	phase     phase
	end       settle.End  // of the exchange at hand, where up is nil
	concluded *conclusion // what has come of it already; nil if nothing has yet
	refused   agui.Event  // a refusal whose RUN_ERROR has not come yet, see isRefusal
	started   bool        // RUN_STARTED was told
	terminal  agui.Type   // the last terminal event told, in the phase ended
	laterRuns int         // runs of this stream after the first
	taken     int         // frames of the backend

	watch *backend.Watch
	mute  bool // nothing behind RUN_STARTED has come, and the watch has a limit for that
	apart apart
}
