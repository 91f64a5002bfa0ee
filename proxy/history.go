package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/history"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/store"
	"holdpoint/translate"
)

// The package history finds out what the messages of a request mean. The functions in this file
// give it the facts of the thread, and log what it changes.

// view returns the request and its record in the form that the package history uses.
func (t *thread) view() history.View {
	return history.View{
		Input: &t.in, Record: &t.record, LinkedPauses: t.linkedPauses, Dialect: history.AbilitiesOf(t.opts.Dialect),
		KnownDialect: t.dialectOfThread(), Backend: t.backend(), Show: t.show,
		NeedsResult: t.request.client.NeedsResult(), OmitsCalls: t.request.client.OmitsQuestions(), CarriesDecisions: t.selection.carriesPause, NotAsked: t.loadErr != nil, InMemory: t.opts.StoreInMemory,
		Thread: t.callsKey(), Scope: history.Scope{Tenant: t.principal.Tenant, Agent: t.opts.Agent, Path: t.request.path, Owner: t.ledger.Owner},
		Memory: t,
	}
}

// Snapshots implements history.Memory.
func (t *thread) Snapshots(pauseID string, at store.Moment, bytes int) store.Snapshots {
	if p := t.record.Pause; at == store.AtPause && p != nil && p.ID == pauseID {
		if t.fetchPauseMessages() != nil {
			return store.Snapshots{}
		}
		return store.Snapshots{Messages: p.Messages, State: p.State}
	}
	return t.fetch(settle.Ref{PauseID: pauseID, At: at, Bytes: bytes})
}

// mendHistory corrects the request's messages. It removes results that the client made up, and adds
// calls that are missing.
func (t *thread) mendHistory() {
	v := t.view()
	mended := history.CompleteMessages(&v)
	if mended.MadeUp > 0 {
		t.log.Warn(logResultsRemoved, "results", mended.MadeUp)
	}
	if mended.PutBack {
		t.log.Warn(logCallsPutBack)
	}
	t.withMessages(mended.Messages)
}

// withMessages replaces the messages of the request by list, if they differ.
func (t *thread) withMessages(list []agui.Message) {
	if history.Changed(list, t.in.Messages) {
		t.in = t.in.WithMessages(list)
	}
}

// cleanPass makes the input for the dialect from the input of a run without answers. leave says
// which parts of the input must be omitted. cleanPass rewrites the body at most once.
func (j *judge) cleanPass(leave contract.OmittedParts) {
	list := j.cleanMessages(nil)
	j.in = j.in.Rewritten(agui.Rewrite{
		Messages: list, Replaced: history.Changed(list, j.in.Messages),
		NoResume:  leave&contract.OmitArray != 0,
		NoCommand: leave&contract.OmitCommand != 0,
	})
}

// cleanMessages returns the messages of the request that the dialect gets. resumedPause is the
// pause that the request resumes, or nil for a run without answers.
func (j *judge) cleanMessages(resumedPause *agui.Pause) []agui.Message {
	v := j.view()
	list, strays := history.Clean(&v, j.replies, resumedPause)
	if strays > 0 {
		j.log.Warn(logApprovalsRemoved, "approvals", strays)
	}
	return list
}

// disarm rewrites messages that the backend could read as decisions although later text follows
// them. After that the backend cannot read them as decisions.
func (j *judge) disarm() {
	v := j.view()
	list, count := history.Disarm(&v)
	if count == 0 {
		return
	}
	j.in = j.in.WithMessages(list)
	j.log.Warn(logDisarmed, "messages", count)
}

// withholdOpenCalls removes calls that must not reach the backend from the messages. p is the pause
// that the request answers, or nil. The result maps the original bytes of each changed message to
// the changed message. It is nil if no message changed.
func (j *judge) withholdOpenCalls(p *agui.Pause) map[string]agui.Message {
	v := j.view()
	out := history.WithholdOpenCalls(&v, p, j.hasLostQuestion())
	if out.IndexError != nil {
		j.log.Warn(logCallsRemovedUnread, "err", out.IndexError)
	}
	if out.ChangedMessages == nil {
		return nil
	}
	j.in = out.Input
	if out.UnknownCalls > 0 {
		j.log.Warn(logCallsRemovedUnknown, "calls", out.UnknownCalls)
	}
	if out.AbandonedCalls > 0 {
		j.log.Warn(logCallsRemovedLost, "calls", out.AbandonedCalls)
	}
	return out.ChangedMessages
}

// earlierReplies returns replies to the questions of a pause that were already in the messages when
// the pause was raised.
func (c *clientSide) earlierReplies(p *agui.Pause) ([]agui.EarlierReply, error) {
	reader, ok := c.judge.opts.Dialect.(translate.HistoryReader)
	if !ok || !history.HasKeys(p) {
		return nil, nil
	}
	raw, whole := c.transcript.Messages()
	shown := make([]agui.Message, len(raw))
	for n, m := range raw {
		shown[n] = agui.ParseMessage(m)
	}
	return history.PriorReplies(reader, p, c.judge.request.input, shown, whole)
}

// requestAnswers are the answers in a request.
type requestAnswers struct {
	list      []agui.Answer  // nil if the request answers no question
	readError *agui.RunError // set if the answers could not be read
}

// resumeTranscript returns the initial transcript of a run that resumes the pause.
func (j *judge) resumeTranscript(p *agui.Pause) *transcript.Transcript {
	list, whole := history.ResumeMessages(&j.in, p, j.replies, j.request.isOwn)
	state := history.ResumeState(&j.in, p)
	t := transcript.New(j.opts.TranscriptBytes, list, state)
	if p.LacksSnapshots && !agui.HasMembers(state) {
		t.ForgetState()
	}
	if !whole {
		t.ForgetMessages() // neither the record nor the request contains all messages
	}
	return t
}

// onlyAnswers returns a function. That function reports whether a message of the request answers a
// question of the thread and contains nothing else.
func (j *judge) onlyAnswers() func(agui.Message) bool {
	v := j.view()
	return history.OnlyAnswers(&v, j.newCase(), j.request.declaredCalls)
}

// readYesNo replaces each answer that is one of the agent's own values by the approval or the
// denial that it means.
func readYesNo(p *agui.Pause, answers []agui.Answer) { copy(answers, history.ReadYesNo(p, answers)) }
