package proxy

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/internal/tanstack"
	"holdpoint/proxy/internal/ids"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A run that is held open, so that it goes on in the same stream when its question is answered at
// another door, does not exist yet. It will enter here. concludePause has three steps: savePause,
// closeOpen, tellSaved. A held run waits before the third, in a phase of the body between reading
// and over, after the exchange with the backend is closed. If it waits in vain, because no answer
// comes, the client leaves or the proxy drains, tellSaved follows. With answers it is a resume
// like any other: they become the input's resume array, readFor.carry names the pause, and
// run.attempts judges, prepares and claims. Then the phase is between, and body.next sends. Without
// another exchange, the client is told what run.ruled returns, except its RUN_STARTED.
// settle.MaxExchanges bounds such a run too, and the rest of its Evidence begins anew. Commit
// 2b85452b had all of it, with tests.

// concludePause ends an exchange that asks: it saves the pause, closes what is open, and tells it.
// A resume can arrive before the first step returns.
func (r *run) concludePause(res *translate.Result) conclusion {
	defer r.life.plain.Store(false)
	if len(res.Untaken) > 0 {
		r.beside = res.Untaken
	}
	s, refused := r.savePause(res)
	if refused != nil {
		var standing *agui.Pause // another question that is open
		if refused.Code == agui.ThreadBusy {
			standing = r.stillAsked()
		}
		r.report.outcome, r.report.code = "error", refused.Code
		events := append(r.endSubagents(nil), res.Before...)
		return conclusion{events: r.lastWords(events, refused.Event(), standing, handedOn), said: true}
	}
	r.report.outcome, r.report.paused = "interrupt", s.pause
	subagents := r.endSubagents(s.pause)
	closing := append(r.closeOpen(res.Before), r.ownResults(s.pause, false)...)
	return conclusion{events: r.tellSaved(s, closing, subagents), said: true}
}

// savePause is the first step. If a pause with the same questions stands already, that one counts.
func (r *run) savePause(res *translate.Result) (*savedPause, *agui.RunError) {
	if told := r.tooMuch(res); told != nil {
		return nil, r.refusePause(told)
	}
	p := r.mint(res)
	if r.withheldFrom != nil && kit.CancelsOnly(*p) {
		// The backend refused the run, and it is known now. It runs no call by itself, and may want the
		// one that it waits for.
		r.transcript = transcript.New(r.h.opts.TranscriptBytes, r.withheldFrom, r.in.State)
	}
	kept := r.snapshots()
	p.Messages, p.State, p.Seen = kept.messages, kept.state, r.seen()
	if p.Going = r.going(kept.whole); p.Going != nil && kept.whole && p.Messages == nil {
		p.Messages = json.RawMessage(`[]`) // of a thread whose agent keeps no messages: it is known
	}
	r.h.noteRoute(r.request.path, p.Dialect, p.Backend)
	r.enterIndex(p)
	p, refused := r.keep(p)
	if refused != nil {
		return nil, refused
	}
	r.forgetLeft(p)
	r.noteAskedCalls(p)
	s := &savedPause{pause: p, kept: kept}
	if !res.Asked.Shown {
		s.announce = r.announcement(p)
	}
	return s, nil
}

// closeOpen is the second step: what was held back, and the ends of what is open.
func (r *run) closeOpen(before []agui.Event) []agui.Event {
	if r.show == translate.ShowNative { // nothing is made for such a client
		return before
	}
	return append(before, r.transcript.Unclosed(false)...)
}

// tellSaved is the last step. closing is what the second step gave, subagents are the ends of
// subagents that waited (waitingSubagents).
func (r *run) tellSaved(s *savedPause, closing, subagents []agui.Event) []agui.Event {
	if r.show != translate.ShowNative {
		closing = r.appendSnapshots(closing, s.kept)
	}
	events := r.tellPause(s.pause, s.announce, append(closing, subagents...))
	last := len(events) - 1
	events[last] = r.withNotTaken(events[last])
	return events
}

// tooMuch says why a pause cannot be told, so that nobody could answer it: nil if it can.
func (r *run) tooMuch(res *translate.Result) *agui.RunError {
	p := &res.Asked
	if len(p.Interrupts) > kit.MaxQuestions {
		return agui.Errorf(agui.PauseTooLarge, "the run asks %d questions at once, more than %d", len(p.Interrupts), kit.MaxQuestions)
	}
	size := len(res.Finish.JSON) + len(p.Private) + len(p.OwnFinish)
	for _, i := range p.Interrupts {
		size += len(i.Object) + len(i.Private)
	}
	for _, ev := range p.Own {
		size += len(ev)
	}
	if limit := min(pauseFrames*r.h.opts.MaxFrameBytes, maxPauseBytes); size > limit {
		return agui.Errorf(agui.PauseTooLarge, "what the run asks is larger than %d bytes (%d times HOLDPOINT_MAX_FRAME_BYTES, at most 32 MiB)", limit, pauseFrames)
	}
	if r.show != translate.ShowNative && !r.transcript.KnowsOpen() {
		return agui.Errorf(agui.PauseTooLarge, "the run asks something while more is open in its stream than can be kept (HOLDPOINT_TRANSCRIPT_BYTES)")
	}
	return nil
}

const (
	// pauseFrames is how many of the largest frames all that is kept of a pause may have. A question
	// stands there as the backend asked it, as the client is told it, and in what the dialect keeps.
	pauseFrames = 4
	// maxPauseBytes bounds a pause where frames may be larger than any question: they repeat whole
	// conversations, and a pause is kept for weeks.
	maxPauseBytes = 32 << 20
)

// refusePause ends a run with an error in place of its question.
func (r *run) refusePause(told *agui.RunError) *agui.RunError {
	r.log.Error("pause not kept", "err", told)
	if r.claim.token != "" {
		result := store.Result{How: store.Finished, Finish: told.Event().JSON}
		r.keepEnd(&result)
		if err := r.claim.finish(result, nil); err != nil {
			told = storeDown().Refusal
		}
	}
	return told
}

// mint gives the interrupts the ids that the client sees.
func (r *run) mint(res *translate.Result) *agui.Pause {
	p := res.Asked.Pause(r.exchange.speaks(r.h.opts.Dialect))
	p.Backend = res.Backend
	p.ID = ids.Random128()
	p.From = r.h.clientHash(r.request.http)
	p.Origin = r.origin()
	r.noteCalls(p.Interrupts)
	r.askYesNo(&p)
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		if i.Yes == nil && i.No == nil {
			i.Yes, i.No = kit.Words(*i)
		}
		if i.Because == "" {
			i.Because = kit.Because(*i)
		}
		i.Secret = i.Secret || kit.WantsSecret(i.Schema())
	}
	p.Digest = digestInterrupts(p.Interrupts...)
	r.noteStood(&p)
	r.ownPause = p.ID
	p.Finish = slices.Clone(r.withRunIDs(res.Finish).JSON)
	p.ByText = r.tellingOf(&p) == byText
	natives := map[string]int{}
	for _, i := range p.Interrupts {
		natives[i.Native]++
	}
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		if i.Question == "" {
			asks := *i
			asks.Object = agui.DeleteKey(asks.Object, "expiresAt") // asked again, it has another
			if i.Question = p.Digest; len(p.Interrupts) > 1 || len(asks.Object) != len(i.Object) {
				i.Question = digestInterrupts(asks)
			}
		}
		for k := range i.Keys {
			i.Keys[k] = strings.Clone(i.Keys[k])
		}
		i.Native = strings.Clone(i.Native) // it may lie in the request's body or in an event
		i.ID = printableID(i.Native)
		// A client that is shown the backend's own form answers with the backend's own ids.
		keep := r.show == translate.ShowNative && i.ID == i.Native
		if !keep || i.Native == "" || natives[i.Native] > 1 {
			i.ID += "~" + r.h.opts.NewID()
		}
		i.Object = tanstack.Renamed(withID(i.Object, i.ID), i.Native, i.ID)
		if _, expires := i.Expires(); !expires && r.h.opts.InterruptTTL > 0 && !gjson.GetBytes(i.Object, "expiresAt").Exists() {
			i.Object = agui.SetString(i.Object, "expiresAt", r.h.opts.Now().Add(r.h.opts.InterruptTTL).UTC().Format(time.RFC3339))
		}
	}
	for n, own := range p.Native {
		p.Native[n] = withPublishedID(own, &p)
	}
	return &p
}

// printableID returns a backend's id without what an address, a log line or a message of a chat
// cannot carry: each control character, line separator and byte of broken UTF-8 becomes U+FFFD.
// Some backends make the id of what the client sent, such as its thread id.
func printableID(native string) string {
	return strings.Map(func(c rune) rune {
		if unicode.In(c, unicode.Cc, unicode.Zl, unicode.Zp) {
			return utf8.RuneError
		}
		return c
	}, native)
}

// withPublishedID is an event of the backend's own announcement. Some announcements have the id of
// their interrupt in them (CrewAI, Mastra). A client answers the id that it reads there, so the
// published one must stand there too.
func withPublishedID(own json.RawMessage, p *agui.Pause) json.RawMessage {
	ev := agui.View(own)
	value := ev.Get("value")
	object := kit.ParseText(value)
	if ev.Get("name").Str != agui.OnInterrupt || !object.IsObject() {
		return own
	}
	native := object.Get("id").Str
	for _, i := range p.Interrupts {
		switch {
		case i.Native == "" || i.Native != native || i.ID == i.Native:
		case value.IsObject():
			return agui.SetString(own, "value.id", i.ID)
		default:
			return agui.SetString(own, "value", string(agui.SetString([]byte(object.Raw), "id", i.ID)))
		}
	}
	return own
}

// withID puts the id first, where every producer has it.
func withID(object json.RawMessage, id string) json.RawMessage {
	object = agui.DeleteKey(object, "id")
	out := append(make([]byte, 0, len(object)+len(id)+len(`{"id":"",`)), `{"id":`...)
	out = agui.AppendString(out, id)
	if !agui.HasMembers(object) {
		return append(out, '}')
	}
	return append(append(out, ','), object[1:]...)
}

// digestInterrupts is a digest of the questions, without the ids that were minted for them.
func digestInterrupts(list ...agui.Interrupt) string {
	b := make([]byte, 0, 1<<10)
	for _, i := range list {
		b = append(agui.AppendString(append(b, '['), i.Native), ',')
		object := agui.Canonical(agui.DeleteKey(i.Object, "id"))
		b = agui.AppendString(b, agui.View(object).Raw)
		for _, c := range i.Calls {
			b = agui.AppendString(agui.AppendString(append(b, ','), c.Name), c.Args)
		}
		b = append(b, ']')
	}
	sum := sha256.Sum256(b)
	return ids.Hex(sum[:])
}

// keep saves the pause. If one with the same questions stands already, that one is told.
func (r *run) keep(p *agui.Pause) (*agui.Pause, *agui.RunError) {
	var err error
	if r.claim.token != "" {
		result := store.Result{How: store.Finished, Finish: p.Finish}
		r.keepEnd(&result)
		err = r.claim.finish(result, p)
		if !errors.Is(err, store.ErrStale) {
			return p, r.keepError(err)
		}
		// The claim was given up for lost and something else began; the question is new all the
		// same.
	}
	if err = r.ledger.open(p); err == nil {
		return p, nil
	}
	if !errors.Is(err, store.ErrExists) {
		// It may have been opened after all. The agent waits with it, so it is left to the thread's
		// next run: somebody may have been told of it already.
		return p, r.keepError(err)
	}
	standing, err := r.ledger.load()
	switch {
	case err != nil:
		return nil, r.keepError(err)
	case standing.State == store.Open && standing.Pause.Digest == p.Digest:
		return standing.Pause, nil
	}
	r.record = standing
	r.contest()
	return nil, agui.Errorf(agui.ThreadBusy, "the run asks something, but another question of this thread is open")
}

func (r *run) keepError(err error) *agui.RunError {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrFull):
		r.log.Error("pause not kept", "err", err)
		return agui.Errorf(agui.StoreFull, "the run asks something that cannot be kept: too many questions are open (HOLDPOINT_STORE_ENTRIES, HOLDPOINT_STORE_BYTES)")
	case errors.Is(err, store.ErrShare):
		r.log.Warn("pause not kept", "err", err)
		return agui.Errorf(agui.StoreFull, "the run asks something that cannot be kept: the questions open for this address have their share (HOLDPOINT_ADDRESS_SHARE)")
	}
	r.log.Error("pause not kept", "err", err)
	if errors.Is(err, store.ErrOwner) {
		return agui.Errorf(agui.ThreadForbidden, "the thread belongs to somebody else")
	}
	return agui.Errorf(agui.StoreUnavailable, "the run asks something that cannot be kept at the moment")
}

// withdraw closes the pause that this stream opened, if it is open still: the backend went on
// without an answer.
func (r *run) withdraw() {
	if r.report.paused == nil || r.report.paused.ID != r.ownPause {
		return
	}
	if rec, err := r.ledger.load(); err == nil && rec.State != store.Open {
		return // it was answered meanwhile, and that has an end of its own
	}
	err := r.ledger.close(r.report.paused.ID, store.Result{How: store.Withdrawn, Seen: r.report.paused.Seen},
		saying{event.Withdrawn, r.report.paused, "", questions(r.report.paused)})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		r.log.Warn("pause not withdrawn", "err", err)
	}
	r.report.paused = nil
}
