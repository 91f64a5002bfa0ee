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
func (r *run) view() history.View {
	return history.View{
		Input: &r.in, Record: &r.record, Linked: r.linked, Dialect: history.AbilitiesOf(r.h.opts.Dialect),
		Spoken: r.spoken(), Backend: r.backend(), Show: r.show,
		NeedsResult: r.request.client.NeedsResult(), Carries: r.readFor.carries, NotAsked: r.notAsked != nil, InMemory: r.h.opts.StoreInMemory,
		Thread: r.callsKey(), Scope: history.Scope{Tenant: r.who.Tenant, Agent: r.h.opts.Agent, Path: r.request.path, Owner: r.ledger.Owner},
		Memory: r,
	}
}

// Kept implements history.Memory.
func (r *run) Kept(pauseID string, at store.Moment, bytes int) store.Snapshots {
	if p := r.record.Pause; at == store.Asked && p != nil && p.ID == pauseID {
		if r.fetchAsked() != nil {
			return store.Snapshots{}
		}
		return store.Snapshots{Messages: p.Messages, State: p.State}
	}
	return r.fetch(settle.Ref{PauseID: pauseID, At: at, Bytes: bytes})
}

// mendHistory takes results out of the request's messages that no backend told, and puts calls back
// that they lack.
func (r *run) mendHistory() {
	v := r.view()
	mended := history.Mend(&v)
	if mended.MadeUp > 0 {
		r.log.Warn("results that the client made up are taken out: nobody carried its calls out", "results", mended.MadeUp)
	}
	if mended.PutBack {
		r.log.Warn("the client's history lacks calls that it has results of: the backend gets them as they were")
	}
	r.withMessages(mended.Messages)
}

// withMessages puts messages in the place of the request's.
func (r *run) withMessages(list []agui.Message) {
	if history.Changed(list, r.in.Messages) {
		r.in = r.in.WithMessages(list)
	}
}

// cleanPass makes the input of an ordinary run what the dialect gets. The body is written at most
// once.
func (r *run) cleanPass(leave contract.Leave) {
	list := r.cleaned(nil)
	r.in = r.in.Rewritten(agui.Rewrite{
		Messages: list, Replaced: history.Changed(list, r.in.Messages),
		NoResume:  leave&contract.LeaveArray != 0,
		NoCommand: leave&contract.LeaveCommand != 0,
	})
}

// cleaned returns the messages of the request that go to the dialect. resumed is the pause that the
// request goes on with, nil for an ordinary run.
func (r *run) cleaned(resumed *agui.Pause) []agui.Message {
	v := r.view()
	list, strays := history.Clean(&v, r.replies, resumed)
	if strays > 0 {
		r.log.Warn("approvals in the history taken out: no question of this thread is open for them", "approvals", strays)
	}
	return list
}

// disarm makes messages harmless that could be read as decisions and that words follow.
func (r *run) disarm() {
	v := r.view()
	list, count := history.Disarm(&v)
	if count == 0 {
		return
	}
	r.in = r.in.WithMessages(list)
	r.log.Warn("messages that could be read as decisions made harmless: nobody knows that their calls asked", "messages", count)
}

// withholdOpenCalls takes calls out of the messages that must not reach the backend. p is the pause
// that the request answers, nil if there is none. It returns the messages that have changed, by
// their bytes before.
func (r *run) withholdOpenCalls(p *agui.Pause) map[string]agui.Message {
	v := r.view()
	out := history.WithholdOpenCalls(&v, p, r.hasLostQuestion())
	if out.Failed != nil {
		r.log.Warn("calls without a result are taken out of the messages: the store cannot say whether a question was about them", "err", out.Failed)
	}
	if out.Edited == nil {
		return nil
	}
	r.in = out.Input
	if out.Unknown > 0 {
		r.log.Warn("calls without a result taken out of the messages: the backend may run them, and no run is known that left them to the client", "calls", out.Unknown)
	}
	if out.Abandoned > 0 {
		r.log.Warn("calls without a result taken out of the messages: their question is lost, and the backend keeps nothing and would refuse the history", "calls", out.Abandoned)
	}
	return out.Edited
}

// stood returns the replies to a pause's questions that are there before it asks.
func (r *run) stood(p *agui.Pause) ([]agui.StoodReply, error) {
	reader, ok := r.h.opts.Dialect.(translate.HistoryReader)
	if !ok || !history.HasKeys(p) {
		return nil, nil
	}
	raw, whole := r.transcript.Messages()
	shown := make([]agui.Message, len(raw))
	for n, m := range raw {
		shown[n] = agui.ParseMessage(m)
	}
	return history.PriorReplies(reader, p, r.request.input, shown, whole)
}

// requestAnswers are what a request answers.
type requestAnswers struct {
	list   []agui.Answer  // nil if it answers nothing
	unread *agui.RunError // why the answers could not be read
}

// resumeTranscript returns the transcript that a resumed run begins with.
func (r *run) resumeTranscript(p *agui.Pause) *transcript.Transcript {
	list, whole := history.ResumeMessages(&r.in, p, r.replies, r.request.ours)
	state := history.ResumeState(&r.in, p)
	t := transcript.New(r.h.opts.TranscriptBytes, list, state)
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
func (r *run) onlyAnswers() func(agui.Message) bool {
	v := r.view()
	return history.OnlyAnswers(&v, r.newCase(), r.request.declaredCalls)
}

// readYesNo reads answers in the agent's own values as the yes or the no that they are.
func readYesNo(p *agui.Pause, answers []agui.Answer) { copy(answers, history.ReadYesNo(p, answers)) }
