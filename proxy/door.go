package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/event/door"
	"holdpoint/internal/principal"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A question may be decided outside the chat in which it was asked, for example at the desk. Such a
// decision is judged in the same way as a resume when it is made. Then the record stores it. When
// all questions of a pause are decided, the answers are sent to the backend once: by the next
// request of the chat, or by Holdpoint itself.

// Decide records a person's answers to questions of a pause, either all of them or none. It returns
// the record after that. The error is one of these:
//
//   - store.ErrConflict: a question was decided differently, or the pause is not open any more;
//   - store.ErrNotFound: there is no such pause, or no such question;
//   - an *agui.RunError: the answer could not be sent to the backend;
//   - any other error: the store failed, and it is not known whether the decision was recorded.
func (h *Handler) Decide(ctx context.Context, key store.Key, pauseID string, who door.Decider, words []door.Decision) (store.Record, error) {
	thread := ledgerOf(ctx, h.opts.Store, key)
	rec, err := thread.Load()
	if err != nil {
		return rec, err
	}
	if len(words) == 0 {
		return rec, store.ErrNotFound
	}
	if rec.Pause == nil || rec.Pause.ID != pauseID {
		return rec, h.decidedBefore(ctx, &rec, pauseID, words)
	}
	words = spelledOut(ctx, rec.Pause, words)
	if words = slices.DeleteFunc(slices.Clone(words), func(w door.Decision) bool {
		d := rec.Pause.Decision(w.Question)
		return d != nil && d.Digest == contract.DigestOf(answerOf(w))
	}); len(words) == 0 {
		return rec, nil // all decisions are already recorded
	}
	var shown store.Snapshots
	if rec.Pause.SnapshotBytes > 0 {
		if shown, err = thread.Snapshots(settle.AskedRef(rec.Pause)); err != nil {
			return rec, err
		}
	}
	own, err := h.ownRequest(ownHTTP(ctx), rec.Pause, shown)
	if err != nil {
		return rec, err
	}
	var j judge
	h.initOwnJudge(&j, own, key, rec.Pause)
	// Begin of the dialect has reserved a run id, but no run follows
	defer func() { h.memory.runIDs.leave(j.runID) }()
	j.setContext(ctx)
	j.ledger.Reporter.Decider = who.Name
	list, err := j.decisions(rec, who, words)
	if err != nil {
		return rec, err
	}
	if err := ctx.Err(); err != nil {
		return rec, err // the caller has gone, and would not learn the result
	}
	if err := j.ledger.Decide(rec.Pause, list); err != nil {
		return rec, err
	}
	return thread.Load()
}

// ledgerOf returns the ledger of a thread. It is for the code of a door, such as the desk, which
// may access every thread.
func ledgerOf(ctx context.Context, s store.Store, key store.Key) *ledger.Ledger {
	thread := ledger.New(s, key, ledger.EventReporter{}, nil)
	thread.SetContext(ctx)
	return thread
}

// decidedBefore returns the result of Decide for a pause that is no longer the record's pause. It
// returns nil if the same was decided before, and otherwise the error.
func (h *Handler) decidedBefore(ctx context.Context, rec *store.Record, pauseID string, words []door.Decision) error {
	for _, result := range rec.Results {
		if result.PauseID != pauseID || result.Pause == nil || result.Tombstone {
			continue
		}
		for _, w := range spelledOut(ctx, result.Pause, words) {
			d := result.Pause.Decision(w.Question)
			if d == nil || d.Digest != contract.DigestOf(answerOf(w)) {
				return fmt.Errorf(textEnded, store.ErrConflict)
			}
		}
		return nil
	}
	return store.ErrNotFound
}

// spelledOut returns the decisions with their payloads in the form in which the record would
// contain them: see readYesNo, kit.LeaveOutCalls and kit.SpellOut.
func spelledOut(ctx context.Context, p *agui.Pause, words []door.Decision) []door.Decision {
	answers := make([]agui.Answer, len(words))
	for n, w := range words {
		answers[n] = answerOf(w)
	}
	kit.LeaveOutCalls(*p, answers)
	readYesNo(p, answers)
	validator := contract.NewValidator(ctx)
	kit.SpellOut(*p, answers, func(schema, payload json.RawMessage) error {
		if err := validator.Validate(schema, payload); !errors.Is(err, contract.ErrSchema) {
			return err
		}
		return nil // the schema cannot be used, so any payload is accepted unchanged
	})
	spelled := slices.Clone(words)
	for n := range spelled {
		spelled[n].Payload = answers[n].Payload
	}
	return spelled
}

func answerOf(w door.Decision) agui.Answer {
	return agui.Answer{ID: w.Question, Status: w.Status, Payload: w.Payload}
}

// decisions returns the decisions of the person who in the form for the record. It returns an error
// if they are not allowed.
func (j *judge) decisions(rec store.Record, who door.Decider, words []door.Decision) ([]agui.Decision, error) {
	entries := make([]agui.ResumeEntry, len(words))
	for n, w := range words {
		entries[n] = agui.ResumeEntry{InterruptID: w.Question, Status: w.Status, Payload: w.Payload}
	}
	in := j.request.input.WithResume(entries)
	if agui.TooDeep(in.Raw) { // a chat could not send this answer either
		return nil, agui.Errorf(agui.InvalidPayload, textAnswerTooDeep, agui.MaxDepth)
	}
	j.request.input = &in
	j.nextAttempt()
	j.record = rec
	mine := rec.Pause.Indexed()
	j.record.Pause = &mine
	if _, err := j.readAnswers(); err != nil {
		return nil, err
	}
	c := j.newCase()
	if refused := contract.JudgeDecisions(c); refused != nil {
		return nil, refused
	}
	given := j.answers.list
	if answers, covered := c.WithDecisions(); covered && rec.State == store.Open {
		if refused := j.tryBegin(answers); refused != nil {
			return nil, refused
		}
	}
	list, read := make([]agui.Decision, len(given)), j.interpret(rec.Pause, given)
	for n, a := range given {
		at := slices.IndexFunc(words, func(w door.Decision) bool { return w.Question == a.ID })
		if at < 0 {
			return nil, store.ErrNotFound
		}
		d := decisionOf(rec.Pause, a, read[n])
		d.Door, d.By, d.Comment = string(who.Door), who.Name, words[at].Comment
		list[n] = d
	}
	if len(list) != len(words) {
		return nil, store.ErrNotFound
	}
	return list, nil
}

// decisionOf returns the decision that records the answer a to a question of the pause. read is
// what the answer means.
func decisionOf(p *agui.Pause, a agui.Answer, read agui.Reading) agui.Decision {
	d := agui.Decision{
		Question: a.ID, Status: a.Status, Payload: slices.Clone(a.Payload), OwnForm: a.OwnForm, Digest: contract.DigestOf(a),
	}
	if i := p.Interrupt(a.ID); i != nil {
		d.QuestionDigest, d.Verdict, d.Edited = p.Origin.AskedDigest(i), agui.VerdictOf(&a, read), read.Edited
	}
	return d
}

// tryBegin returns the error with which the dialect would refuse to send the answers. It returns
// nil if the dialect would send them. If the chat's messages are missing, this cannot be tried, and
// tryBegin returns nil.
func (j *judge) tryBegin(answers []agui.Answer) *agui.RunError {
	if slices.Contains(j.opts.chatOnlyReasons(j.record.Pause), agui.NoMessages) {
		return nil
	}
	in := j.request.input.WithoutResume()
	j.request.input = &in
	j.nextAttempt()
	v := contract.Ruling{Do: contract.Resume, Answers: answers}
	if err := j.fetchPauseMessages(); err != nil {
		return storeDown().Refusal
	}
	y, refused := j.readyResume(v)
	if refused != nil {
		return refused
	}
	// if a cancel cannot be sent, the pause is given up instead
	if _, refused := j.begin(&y, j.record.Pause, v); refused != nil && !contract.AllCancelled(answers) {
		return refused.Refusal
	}
	return nil
}

// Carry continues a decided pause without its client. It returns when that run has ended: the
// answers were carried out, the agent asked again, or the pause was given back. The record says
// which. An error means that nothing was sent to the backend. It is door.ErrUndecided,
// door.ErrChat, door.ErrHome, or an error of the store.
func (h *Handler) Carry(ctx context.Context, key store.Key) error {
	thread := ledgerOf(ctx, h.opts.Store, key)
	thread.Ending = h.runs.ending
	rec, err := thread.Load()
	if err != nil {
		return err
	}
	p := rec.Pause
	if rec.State != store.Open || !p.Decided() {
		return door.ErrUndecided
	}
	if lacks := h.ChatOnlyReasons(p); len(lacks) > 0 {
		return fmt.Errorf("%w: %v", door.ErrChat, lacks)
	}
	if home := h.opts.OtherDoors.Home; home != "" && home != p.Continuation.Home {
		return door.ErrHome
	}
	shown, err := thread.Snapshots(settle.AskedRef(p))
	if err != nil {
		return err
	}
	if shown.Messages == nil {
		return fmt.Errorf("%w: %v", door.ErrChat, agui.NoMessages)
	}
	req := ownHTTP(ctx)
	if o := h.opts.OtherDoors; o.Headers != nil && slices.Contains(p.Continuation.ChatOnlyReasons, agui.NoCredentials) {
		maps.Copy(req.Header, o.Headers())
	}
	r, err := h.ownRun(req, key, p, shown)
	if err != nil {
		return err
	}
	r.serve(absentClient{headerOnly{}})
	return nil
}

// absentClient is the ResponseWriter of a run that has no client.
type absentClient struct{ headerOnly }

// FlushError implements the method that http.ResponseController calls.
func (absentClient) FlushError() error { return nil }

// ownHTTP returns the HTTP request of a run that Holdpoint starts itself.
func ownHTTP(ctx context.Context) *http.Request {
	// FastAPI recognizes JSON only by the Content-Type.
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}}
	return (&http.Request{Method: http.MethodPost, Header: header, Body: http.NoBody}).WithContext(ctx)
}

// ownRun returns a run that Holdpoint starts itself. The run sends the decisions of the open pause
// p to the backend. snapshots are the snapshots of the pause.
func (h *Handler) ownRun(req *http.Request, key store.Key, p *agui.Pause, snapshots store.Snapshots) (*run, error) {
	own, err := h.ownRequest(req, p, snapshots)
	if err != nil {
		return nil, err
	}
	r := &run{h: h}
	h.initOwnJudge(&r.judge, own, key, p)
	r.init()
	return r, nil
}

// initOwnJudge makes j the judge of the request own, which Holdpoint itself sends for the owner of
// the pause p.
func (h *Handler) initOwnJudge(j *judge, own request, key store.Key, p *agui.Pause) {
	who := principal.Identity{}
	if p.Origin != nil {
		who.Tenant = p.Origin.Tenant
	}
	h.initJudge(j, own, who)
	j.ledger.Key = key
	j.selection.carry(p.ID)
	if o := p.Origin; o != nil {
		if o.Thread != j.request.input.ThreadID {
			j.request.thread = o.Thread
		}
		j.show = showOf(o.ShownAs)
	}
	j.ledger.Reporter.Thread, j.ledger.Reporter.Desk = j.request.clientThread(), true
}

// showOf returns the translate.Show for shown, the text by which a record says how its question was
// shown. It is the inverse of shownAs.
func showOf(shown string) translate.Show {
	switch Client(shown) {
	case ClientNative:
		return translate.ShowNative
	case ClientBoth:
		return translate.ShowBoth
	}
	return translate.ShowOutcome
}
