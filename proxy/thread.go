package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/principal"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/dialect"
	"holdpoint/proxy/internal/history"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
	"holdpoint/translate"
)

// A thread is the thread of a chat at the time of a request. It has the request, the record, and
// everything that the store and this process know about the thread. A run has a thread, and so has
// a decision at the desk.
type thread struct {
	opts   *Options
	memory *processMemory
	log    *slog.Logger // adds the ids of the request to each line
	ctx    context.Context

	principal principal.Identity
	request   request
	selection pauseSelection
	show      translate.Show
	attempt

	span      Span // trace span of the run, nil if there is no span
	ledger    *ledger.Ledger
	record    store.Record // the record, as the last attempt loaded it
	ownThread *ownThread   // nil unless another thread's record judges the request
	runID     *runID       // entry in memory.runIDs, nil if it has no entry there
}

// An attempt is the result of judging the request once. If a request has waited for another run, it
// is judged again, and gets a new attempt.
type attempt struct {
	in             agui.RunInput // the input that the dialect gets
	loadErr        error         // why the record could not be loaded, if the run may pass without it
	otherPrincipal bool          // the record belongs to another principal
	// when the record was loaded, a run of the thread continued without its client
	threadWasBusy bool
	answers       requestAnswers        // the answers of the request
	replies       history.Replies       // the decisions in the messages of the request
	validator     *contract.Validator   // checks payloads; nil until a payload is checked
	linkedPauses  []history.LinkedPause // pauses of other threads that the messages of the request are about
}

// setContext sets the context for all steps that the request needs.
func (t *thread) setContext(ctx context.Context) {
	t.ctx = ctx
	t.ledger.SetContext(ctx)
}

// nextAttempt begins a new attempt.
func (t *thread) nextAttempt() { t.attempt = attempt{in: *t.request.input} }

// dialectOfThread returns the dialect of the thread's backend, "" if it is not known. The open
// question shows it, or else the path, if a dialect was seen there. Otherwise the record shows it
// by a question that has ended or was refused, because Holdpoint may have been restarted since then
// and has not seen the path again.
func (t *thread) dialectOfThread() string {
	if p := t.record.Pause; p != nil && t.memory.routes.finder.Finds(p.Dialect) {
		return p.Dialect // the path may lead to several backends
	}
	if name := t.memory.routeDialect(t.request.path); name != "" {
		return name
	}
	for _, result := range t.record.Results {
		if result.Pause != nil && result.Pause.Dialect != "" {
			return result.Pause.Dialect
		}
	}
	for _, note := range t.record.Notes {
		var name string
		if note.ID == spokenNote && json.Unmarshal(note.Text, &name) == nil && t.memory.routes.finder.Finds(name) {
			return name
		}
	}
	return ""
}

// spokenNote is the id of a note in the record. The note has the dialect of a question that
// Holdpoint refused.
const spokenNote = "spoken"

// noteSpoken saves the dialect of a refused question in the record. So other replicas know it, and
// so does this process after a restart.
func (t *thread) noteSpoken(dialect string) {
	if t.opts.StoreInMemory {
		return
	}
	if err := t.ledger.Remember(store.Note{ID: spokenNote, Text: agui.MustMarshal(dialect)}, store.MaxNotes); err != nil {
		t.log.Warn(logDialectUnsaved, "err", err)
	}
}

// valid checks a payload against a schema. If the schema cannot be used, every payload is valid, so
// that the question can still be answered.
func (t *thread) valid(schema, payload json.RawMessage) error {
	if t.validator == nil {
		t.validator = contract.NewValidator(t.ctx)
	}
	err := t.validator.Validate(schema, payload)
	if errors.Is(err, contract.ErrSchema) {
		t.log.Warn(logUnchecked, "err", err)
		return nil
	}
	return err
}

func (t *thread) keepError(err error) *agui.RunError {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrFull):
		t.log.Error(logPauseNotSaved, "err", err)
		return agui.Errorf(agui.StoreFull, textStoreFull)
	case errors.Is(err, store.ErrShare):
		t.log.Warn(logPauseNotSaved, "err", err)
		return agui.Errorf(agui.StoreFull, textShareFull)
	}
	t.log.Error(logPauseNotSaved, "err", err)
	if errors.Is(err, store.ErrOwner) {
		return agui.Errorf(agui.ThreadForbidden, textNotOwner)
	}
	return agui.Errorf(agui.StoreUnavailable, textNotSaved)
}

// dialectFailed logs an error or a panic of a dialect's method. It returns the error that the
// client gets.
func (t *thread) dialectFailed(method string, err error) *agui.RunError {
	bug := dialect.AsBug(method, err)
	args := []any{"in", bug.Method, "err", bug.Err}
	if bug.Stack != nil {
		args = append(args, "stack", string(bug.Stack))
	}
	t.log.Error(logDialectFailed, args...)
	return internalError()
}

// listener returns the client of the thread as package client needs it. Page is set if the request
// has an Origin header: browsers send it with every POST, and a page can neither omit nor forge it.
// Node's fetch sends no Origin, although it sends Sec-Fetch-Mode.
func (t *thread) listener() client.Listener {
	return client.Listener{
		Line: t.request.client, Show: t.show, Thread: t.request.clientThread(), In: &t.in, ClientMessages: t.request.input.Messages,
		Page: t.request.http != nil && t.request.http.Header.Get("Origin") != "",
	}
}

// namedByText returns the ids of questions that the request's history shows as texts and that the
// record does not have.
func (t *thread) namedByText() []string {
	return slices.DeleteFunc(t.listener().QuestionsOfTexts(), func(id string) bool {
		return t.record.ResultOf(id) != nil || t.record.Pause != nil && t.record.Pause.Interrupt(id) != nil
	})
}

// fetch loads the snapshots that ref names. If the store fails, it returns empty snapshots, and the
// client gets its events without them.
func (t *thread) fetch(ref settle.Ref) store.Snapshots {
	shown, err := t.ledger.Snapshots(ref)
	if err != nil {
		t.log.Warn(logSnapshotsUnread, "err", err)
	}
	return shown
}

// fetchPauseMessages loads the messages and the state of the open pause. A resume needs the
// messages, because its approvals are checked against them. If the pause has ended meanwhile, the
// store has no messages for it, and the claim will fail.
func (t *thread) fetchPauseMessages() error {
	p := t.record.Pause
	if p.SnapshotBytes == 0 || p.Messages != nil || p.State != nil {
		return nil
	}
	shown, err := t.ledger.Snapshots(settle.AskedRef(p))
	if err != nil {
		return err
	}
	p.Messages, p.State = shown.Messages, shown.State
	p.LacksSnapshots = p.LacksSnapshots || p.Messages == nil && p.State == nil
	return nil
}
