package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
)

// settle ends an exchange: it asks the translation what the end means, saves it, and gives what the client is to be
// told; or it gives the next exchange of the same run. broken is what to tell if the backend gave no end of its own.
func (r *run) settle(end translate.End, broken *agui.RunError) (events []agui.Event, next bool) {
	res, err := r.exchange.Run.End(end)
	if err != nil {
		res, broken, end = translate.Result{}, r.translationError(err), translate.End{}
	}
	return r.conclude(res, end, broken)
}

// translationError is what the client is told when a dialect gave up.
func (r *run) translationError(err error) *agui.RunError {
	var told *agui.RunError
	if errors.As(err, &told) {
		return told
	}
	r.log.Error("translation failed", "err", err)
	return agui.Errorf(agui.UpstreamStatus, "the backend's stream could not be translated")
}

// panicked ends a run whose translation had a bug: nobody knows what it would have said of the end.
func (r *run) panicked() *agui.RunError {
	r.outcome, r.code = "error", agui.UpstreamStatus
	told := agui.Errorf(agui.UpstreamStatus, "the backend's stream could not be translated")
	if r.token == "" {
		return told
	}
	var err error
	if r.carried.Load() {
		err = r.save(store.Result{How: store.Doubtful}, nil)
	} else {
		err = r.release()
	}
	if err != nil {
		return storeDown().err
	}
	return told
}

// endStatus is settle for an answer that is no stream and no success. No events: it goes to the client as it is.
func (r *run) endStatus(end translate.End) []agui.Event {
	res, err := r.exchange.Run.End(end)
	if err != nil {
		events, _ := r.conclude(translate.Result{}, translate.End{}, r.translationError(err))
		return events
	}
	if res.Lost || res.Finish.Type != agui.Unknown || len(res.Pause.Interrupts) > 0 {
		events, _ := r.conclude(res, end, nil)
		return events
	}
	r.outcome = "http status"
	switch {
	case r.token == "":
	case !r.carried.Load(), r.exchange.Out.Resumes && !r.earlier && untouched(end.Status):
		err = r.release()
	case !r.exchange.Out.Resumes:
		// A later exchange was turned down; the answers themselves went well before it.
		failed := agui.Errorf(agui.UpstreamStatus, "the backend answered %d", end.Status)
		err = r.save(store.Result{How: store.Finished, Finish: failed.Event().JSON}, nil)
	default:
		err = r.save(store.Result{How: store.Doubtful}, nil)
	}
	if err != nil {
		down := storeDown().err.Event()
		r.note(down)
		return []agui.Event{down}
	}
	return nil
}

// untouched says whether an HTTP status means that the backend did not take the answers at all.
func untouched(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return false // it may have begun
	}
	return status >= 300 && status < 500
}

func (r *run) conclude(res translate.Result, end translate.End, broken *agui.RunError) (events []agui.Event, next bool) {
	for _, ev := range res.Before {
		r.transcript.add(ev)
	}
	if res.Next != nil {
		r.exchange, r.second = *res.Next, true
		r.taken = r.taken || res.Next.Out.TakesNew
		r.earlier = r.carried.Load()
		r.wrote.Store(false)
		return res.Before, true
	}
	if len(res.Pause.Interrupts) > 0 {
		return r.concludePause(res), false
	}
	finish := res.Finish
	if finish.Type == agui.Unknown {
		finish = end.Event
	}
	var err error
	result := store.Result{How: store.Finished}
	switch {
	case res.Lost:
		result.How = store.Lost
		finish = agui.Errorf(agui.BackendLostInterrupt, "the backend does not know what it asked any more").Event()
	case finish.Type == agui.Unknown:
		if broken == nil {
			broken = agui.Errorf(agui.UpstreamEOF, "the backend's stream ended without a terminal event")
		}
		finish = broken.Event()
		if r.exchange.Out.Resumes {
			result.How = store.Doubtful
		}
	}
	finish = r.withRunIDs(finish)
	if r.token != "" {
		result.Finish = slices.Clone(finish.JSON)
		if r.givesBack(res, end, finish) {
			err = r.release()
		} else {
			err = r.save(result, nil)
		}
		if err != nil {
			finish = storeDown().err.Event()
		}
	}
	r.note(finish)
	return append(res.Before, finish), false
}

// givesBack says whether the pause is open again after such an end: no exchange with the answers has gone out and this
// one failed, or the only one that did says that nothing was done, or it was not reached.
func (r *run) givesBack(res translate.Result, end translate.End, finish agui.Event) bool {
	switch {
	case res.Lost, end.None:
		return false
	case !r.carried.Load():
		return finish.Type == agui.RunErrored
	}
	only := r.exchange.Out.Resumes && !r.earlier
	return only && (res.Nothing || end.Status != 0 && untouched(end.Status))
}

// note remembers for the log how the run ended.
func (r *run) note(finish agui.Event) {
	r.outcome = "finished"
	switch {
	case errors.Is(context.Cause(r.ctx), context.Canceled):
		r.outcome = "client left"
	case finish.Type == agui.RunErrored:
		r.outcome = "error"
		r.code = agui.Code(finish.Get("code").Str)
	}
}

// save ends the claim. The end of a run of somebody else's making is told all the same: only the record has gone on.
func (r *run) save(result store.Result, next *agui.Pause) error {
	if r.token == "" {
		return nil
	}
	result.ByArray = r.byArray
	if result.How != store.Doubtful {
		r.snapshots(&result.Messages, &result.State)
	}
	result.Seen = r.seen()
	if next != nil {
		result.Next = next.ID
	}
	r.renewal.stop()
	err := r.twice(func(ctx context.Context) error {
		return r.h.opts.Store.Finish(ctx, r.key, r.token, result, next)
	}, store.ErrStale)
	r.unclaim()
	if err == nil {
		return nil
	}
	r.log.Error("end of the resume not taken by the store", "err", err)
	if errors.Is(err, store.ErrStale) && next == nil {
		return nil
	}
	return err
}

// release gives the pause back: the backend did nothing.
func (r *run) release() error {
	r.renewal.stop()
	err := r.twice(func(ctx context.Context) error { return r.h.opts.Store.Release(ctx, r.key, r.token) }, store.ErrStale)
	r.unclaim()
	if err == nil || errors.Is(err, store.ErrStale) { // something else began: there is nothing to give back
		return nil
	}
	r.log.Error("release not taken by the store", "err", err)
	return err
}

func (r *run) unclaim() {
	r.token = ""
	r.holding.Store(false)
}

// snapshots are what is kept of messages and state at the end, as far as they are known.
func (r *run) snapshots(messages, state *json.RawMessage) {
	if list, ok := r.transcript.Messages(); ok && len(list) > 0 {
		*messages = agui.MustMarshal(slices.DeleteFunc(list, func(m json.RawMessage) bool { return r.untaken(agui.See(agui.ParseMessage(m))) }))
	}
	if s, ok := r.transcript.State(); ok {
		*state = s
	}
}

// seen are the messages that count as known from now on. A message that the backend did not take comes again.
func (r *run) seen() []agui.SeenMessage {
	return slices.DeleteFunc(r.transcript.seen(), r.untaken)
}

// untaken says whether a message came beside the answers and did not go to the backend.
func (r *run) untaken(s agui.SeenMessage) bool {
	return !r.taken && slices.ContainsFunc(r.request.New, func(m agui.Message) bool { return agui.See(m) == s })
}

// concludePause saves a pause and tells it then: a resume can arrive before the write returns.
func (r *run) concludePause(res translate.Result) []agui.Event {
	p := r.mint(res)
	r.snapshots(&p.Messages, &p.State)
	p.Seen = r.seen()
	r.h.routes.Add(r.path, p.Dialect)
	told, refused := r.keep(p)
	if refused != nil {
		r.outcome, r.code = "error", refused.Code
		return append(res.Before, refused.Event())
	}
	r.outcome, r.paused = "interrupt", told
	more := res.Before
	if r.show != translate.ShowNative { // nothing is made for such a client
		more = append(append(more, r.transcript.unclosed()...), r.snapshotEvents(r.transcript)...)
	}
	return r.tellPause(told, more)
}

// mint gives the interrupts the ids that the client sees.
func (r *run) mint(res translate.Result) *agui.Pause {
	p := res.Pause
	p.ID = random128()
	p.Interrupts = slices.Clone(p.Interrupts)
	p.Digest = digestInterrupts(p.Interrupts)
	r.opened = p.ID
	p.Finish = slices.Clone(r.withRunIDs(res.Finish).JSON)
	natives := map[string]int{}
	for _, i := range p.Interrupts {
		natives[i.Native]++
	}
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		if i.Question == "" {
			asks := *i
			asks.Object = agui.DeleteKey(asks.Object, "expiresAt") // asked again, it has another
			i.Question = digestInterrupts([]agui.Interrupt{asks})
		}
		i.ID = i.Native
		// A client that is shown the backend's own form answers with the backend's own ids.
		keep := r.h.opts.IDs == KeepIDs || r.show == translate.ShowNative
		if !keep || i.Native == "" || natives[i.Native] > 1 {
			i.ID = i.Native + "~" + r.h.opts.NewID()
		}
		i.Object = withID(i.Object, i.ID)
		if _, expires := i.Expires(); !expires && r.h.opts.InterruptTTL > 0 && !gjson.GetBytes(i.Object, "expiresAt").Exists() {
			i.Object = agui.SetString(i.Object, "expiresAt", r.h.opts.Now().Add(r.h.opts.InterruptTTL).UTC().Format(time.RFC3339))
		}
	}
	return &p
}

// withID puts the id first, where every producer has it.
func withID(object json.RawMessage, id string) json.RawMessage {
	object = agui.DeleteKey(object, "id")
	out := append([]byte(`{"id":`), agui.MustMarshal(id)...)
	rest := object[1:]
	if !gjson.ParseBytes(object).IsObject() || len(gjson.ParseBytes(object).Map()) == 0 {
		return append(out, '}')
	}
	return append(append(out, ','), rest...)
}

// digestInterrupts is the same for the same questions, whatever ids were minted for them.
func digestInterrupts(list []agui.Interrupt) string {
	h := sha256.New()
	for _, i := range list {
		h.Write(agui.MustMarshal([]string{i.Native, string(agui.Canonical(agui.DeleteKey(i.Object, "id")))}))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// keep saves the pause. If one with the same questions stands already, that one is told.
func (r *run) keep(p *agui.Pause) (*agui.Pause, *agui.RunError) {
	var err error
	if r.token != "" {
		err = r.save(store.Result{How: store.Finished, Finish: p.Finish}, p)
		if !errors.Is(err, store.ErrStale) {
			return p, r.keepError(err)
		}
		// The claim was given up for lost and something else began; the question is new all the same.
	}
	err = r.twice(func(ctx context.Context) error { return r.h.opts.Store.Open(ctx, r.key, "", *p) },
		store.ErrExists, store.ErrFull, store.ErrOwner)
	ctx, cancel := r.storeContext()
	defer cancel()
	if !errors.Is(err, store.ErrExists) {
		refused := r.keepError(err)
		if refused != nil && refused.Code == agui.StoreUnavailable {
			// It may have been opened after all: nobody is told of it, so it is undone.
			_ = r.h.opts.Store.Close(ctx, r.key, p.ID, store.Result{How: store.Withdrawn})
		}
		return p, refused
	}
	standing, err := r.h.opts.Store.Load(ctx, r.key, "")
	switch {
	case err != nil:
		return nil, r.keepError(err)
	case standing.State == store.Open && standing.Pause.Digest == p.Digest:
		return standing.Pause, nil
	}
	return nil, agui.Errorf(agui.ThreadBusy, "the run asks something, but another question of this thread is open")
}

func (r *run) keepError(err error) *agui.RunError {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrFull):
		r.log.Error("pause not kept", "err", err)
		return agui.Errorf(agui.StoreFull, "the run asks something that cannot be kept: too many questions are open (HOLDPOINT_STORE_ENTRIES)")
	}
	r.log.Error("pause not kept", "err", err)
	if errors.Is(err, store.ErrOwner) {
		return agui.Errorf(agui.ThreadForbidden, "the thread belongs to somebody else")
	}
	return agui.Errorf(agui.StoreUnavailable, "the run asks something that cannot be kept at the moment")
}

// withdraw closes the pause that this stream opened, if it is open still: the backend went on without an answer.
func (r *run) withdraw() {
	if r.paused == nil || r.paused.ID != r.opened {
		return
	}
	ctx, cancel := r.storeContext()
	defer cancel()
	if rec, err := r.h.opts.Store.Load(ctx, r.key, ""); err == nil && rec.State != store.Open {
		return // it was answered meanwhile, and that has an end of its own
	}
	err := r.h.opts.Store.Close(ctx, r.key, r.paused.ID, store.Result{How: store.Withdrawn, Seen: r.paused.Seen})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		r.log.Warn("pause not withdrawn", "err", err)
	}
	r.paused = nil
}
