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

// A thread is the thread of a chat as a request finds it: the request, the record, and what the
// store and this process know besides. A run and a decision of the desk are judged by it.
type thread struct {
	opts   *Options
	memory *processMemory
	log    *slog.Logger // names the request
	ctx    context.Context

	who     principal.Identity
	request request
	readFor pauseSelection
	show    translate.Show
	attempt

	span      Span // of its run, nil if none is made
	ledger    *ledger.Ledger
	record    store.Record // as the last attempt has read it
	ownThread *ownThread   // nil unless it is judged against the record of another thread
	runID     *runID       // in the memory's books, nil if it is not there
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
	linked        []history.Linked    // pauses of other threads that its messages are about
}

// setContext sets the context of all that is done for the request.
func (t *thread) setContext(ctx context.Context) {
	t.ctx = ctx
	t.ledger.SetContext(ctx)
}

// nextAttempt begins another attempt.
func (t *thread) nextAttempt() { t.attempt = attempt{in: *t.request.input} }

// spoken returns the dialect that the thread's backend speaks. The question that is open tells it,
// then the path if it was seen to speak one, then a question that ended or was refused: Holdpoint
// may have been started anew since. It is "" if nobody knows.
func (t *thread) spoken() string {
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

// spokenNote is the id of the note of a record that has the dialect of a refused question.
const spokenNote = "spoken"

// noteSpoken notes the dialect of a question that was refused, for other replicas, and for this one
// when it is started anew.
func (t *thread) noteSpoken(dialect string) {
	if t.opts.StoreInMemory {
		return
	}
	if err := t.ledger.Remember(store.Note{ID: spokenNote, Text: agui.MustMarshal(dialect)}, store.MaxNotes); err != nil {
		t.log.Warn(logDialectUnsaved, "err", err)
	}
}

// valid judges a payload. A schema that cannot be used must not lock the question up.
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

// dialectFailed logs an error that a dialect's method may not give, and is what the client is told.
func (t *thread) dialectFailed(method string, err error) *agui.RunError {
	bug := dialect.AsBug(method, err)
	args := []any{"in", bug.Method, "err", bug.Err}
	if bug.Stack != nil {
		args = append(args, "stack", string(bug.Stack))
	}
	t.log.Error(logDialectFailed, args...)
	return internalError()
}

// listener returns the client of the thread, as that room has it. Browsers send Origin with every
// POST, and a page can neither leave it out nor forge it. Node's fetch sends Sec-Fetch-Mode too,
// but no Origin.
func (t *thread) listener() client.Listener {
	return client.Listener{
		Line: t.request.client, Show: t.show, Thread: t.request.clientThread(), In: &t.in, Came: t.request.input.Messages,
		Page: t.request.http != nil && t.request.http.Header.Get("Origin") != "",
	}
}

// namedByText returns the questions that the request's texts name, and the record does not know.
func (t *thread) namedByText() []string {
	return slices.DeleteFunc(t.listener().QuestionsOfTexts(), func(id string) bool {
		return t.record.ResultOf(id) != nil || t.record.Pause != nil && t.record.Pause.Interrupt(id) != nil
	})
}

// fetch asks the store for snapshots. Without them the client is told the rest.
func (t *thread) fetch(ref settle.Ref) store.Snapshots {
	shown, err := t.ledger.Snapshots(ref)
	if err != nil {
		t.log.Warn(logSnapshotsUnread, "err", err)
	}
	return shown
}

// fetchAsked completes the pause that a resume goes on with. It must have the messages: what is
// approved is judged by them. A pause that has ended meanwhile has none, and the claim finds that
// out.
func (t *thread) fetchAsked() error {
	p := t.record.Pause
	if p.Kept == 0 || p.Messages != nil || p.State != nil {
		return nil
	}
	shown, err := t.ledger.Snapshots(settle.AskedRef(p))
	if err != nil {
		return err
	}
	p.Messages, p.State = shown.Messages, shown.State
	p.Stripped = p.Stripped || p.Messages == nil && p.State == nil
	return nil
}
