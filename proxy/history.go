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

// What the messages of a request say is read by the room history. Here the run tells it what it
// knows, and logs what the room has done.

// view returns the request and its record as the room reads them.
func (t *thread) view() history.View {
	return history.View{
		Input: &t.in, Record: &t.record, Linked: t.linked, Dialect: history.AbilitiesOf(t.opts.Dialect),
		Spoken: t.spoken(), Backend: t.backend(), Show: t.show,
		NeedsResult: t.request.client.NeedsResult(), Omits: t.request.client.OmitsQuestions(), Carries: t.readFor.carries, NotAsked: t.notAsked != nil, InMemory: t.opts.StoreInMemory,
		Thread: t.callsKey(), Scope: history.Scope{Tenant: t.who.Tenant, Agent: t.opts.Agent, Path: t.request.path, Owner: t.ledger.Owner},
		Memory: t,
	}
}

// Kept implements history.Memory.
func (t *thread) Kept(pauseID string, at store.Moment, bytes int) store.Snapshots {
	if p := t.record.Pause; at == store.Asked && p != nil && p.ID == pauseID {
		if t.fetchAsked() != nil {
			return store.Snapshots{}
		}
		return store.Snapshots{Messages: p.Messages, State: p.State}
	}
	return t.fetch(settle.Ref{PauseID: pauseID, At: at, Bytes: bytes})
}

// mendHistory takes results out of the request's messages that no backend told, and puts calls back
// that they lack.
func (t *thread) mendHistory() {
	v := t.view()
	mended := history.Mend(&v)
	if mended.MadeUp > 0 {
		t.log.Warn(logResultsRemoved, "results", mended.MadeUp)
	}
	if mended.PutBack {
		t.log.Warn(logCallsPutBack)
	}
	t.withMessages(mended.Messages)
}

// withMessages puts messages in the place of the request's.
func (t *thread) withMessages(list []agui.Message) {
	if history.Changed(list, t.in.Messages) {
		t.in = t.in.WithMessages(list)
	}
}

// cleanPass makes the input of an ordinary run what the dialect gets. The body is written at most
// once.
func (j *judge) cleanPass(leave contract.Leave) {
	list := j.cleanMessages(nil)
	j.in = j.in.Rewritten(agui.Rewrite{
		Messages: list, Replaced: history.Changed(list, j.in.Messages),
		NoResume:  leave&contract.LeaveArray != 0,
		NoCommand: leave&contract.LeaveCommand != 0,
	})
}

// cleanMessages returns the messages of the request that go to the dialect. resumed is the pause
// that the request goes on with, nil for an ordinary run.
func (j *judge) cleanMessages(resumed *agui.Pause) []agui.Message {
	v := j.view()
	list, strays := history.Clean(&v, j.replies, resumed)
	if strays > 0 {
		j.log.Warn(logApprovalsRemoved, "approvals", strays)
	}
	return list
}

// disarm makes messages harmless that could be read as decisions and that words follow.
func (j *judge) disarm() {
	v := j.view()
	list, count := history.Disarm(&v)
	if count == 0 {
		return
	}
	j.in = j.in.WithMessages(list)
	j.log.Warn(logDisarmed, "messages", count)
}

// withholdOpenCalls takes calls out of the messages that must not reach the backend. p is the pause
// that the request answers, nil if there is none. It returns the messages that have changed, by
// their bytes before.
func (j *judge) withholdOpenCalls(p *agui.Pause) map[string]agui.Message {
	v := j.view()
	out := history.WithholdOpenCalls(&v, p, j.hasLostQuestion())
	if out.Failed != nil {
		j.log.Warn(logCallsRemovedUnread, "err", out.Failed)
	}
	if out.Edited == nil {
		return nil
	}
	j.in = out.Input
	if out.Unknown > 0 {
		j.log.Warn(logCallsRemovedUnknown, "calls", out.Unknown)
	}
	if out.Abandoned > 0 {
		j.log.Warn(logCallsRemovedLost, "calls", out.Abandoned)
	}
	return out.Edited
}

// earlierReplies returns the replies to a pause's questions that are there before it asks.
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

// requestAnswers are what a request answers.
type requestAnswers struct {
	list   []agui.Answer  // nil if it answers nothing
	unread *agui.RunError // why the answers could not be read
}

// resumeTranscript returns the transcript that a resumed run begins with.
func (j *judge) resumeTranscript(p *agui.Pause) *transcript.Transcript {
	list, whole := history.ResumeMessages(&j.in, p, j.replies, j.request.ours)
	state := history.ResumeState(&j.in, p)
	t := transcript.New(j.opts.TranscriptBytes, list, state)
	if p.Stripped && !agui.HasMembers(state) {
		t.ForgetState()
	}
	if !whole {
		t.ForgetMessages() // the record could not keep a message that the request does not bring either
	}
	return t
}

// onlyAnswers returns a function that reports whether a message of the request answers a question
// of the thread and says nothing else.
func (j *judge) onlyAnswers() func(agui.Message) bool {
	v := j.view()
	return history.OnlyAnswers(&v, j.newCase(), j.request.declaredCalls)
}

// readYesNo reads answers in the agent's own values as the yes or the no that they are.
func readYesNo(p *agui.Pause, answers []agui.Answer) { copy(answers, history.ReadYesNo(p, answers)) }
