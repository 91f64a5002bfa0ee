package agentframework

import (
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/agentframework/internal/aguiserver"
	"holdpoint/translate/kit"
)

// While a thread has an open approval or an open question of a workflow, 1.0.0rc8 and later refuse
// every run of that thread. If Holdpoint does not know the question, it turns this refusal into a
// lost question (kit.LostQuestion). When the client cancels the lost question, Holdpoint sends a
// cancel to the backend. It cannot send a denial, because that would have to name the calls, and
// these are unknown. A cancel runs nothing, even if the backend received an approval before (RAN
// 1.0.0rc8 and 1.7.0).

var _ translate.Freer = (*Dialect)(nil)

// The codes of the RUN_ERROR with which the backend refuses an ordinary run, because the thread
// waits for an answer. It is the only event of the stream.
const (
	approvalRequired = "APPROVAL_RESUME_REQUIRED"
	workflowRequired = "WORKFLOW_RESUME_REQUIRED"
)

// refusesWaiting reports whether the RUN_ERROR says that the thread waits for an answer.
func refusesWaiting(ev agui.Event) bool {
	code := ev.Get("code").Str
	return code == approvalRequired || code == workflowRequired
}

// Frees implements translate.Freer. It returns false for three kinds of pause: those of versions
// before the interrupt outcome, which refuse no run; predicted states, which do not block the
// thread; and pauses of the .NET host, because it was not tested how that host handles a cancel.
func (*Dialect) Frees(p *agui.Pause) bool {
	k, ok := keptOf(*p)
	return ok && k.Row == rowOutcome && !aguiserver.MadePause(*p) && !slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool {
		a, known := askOf(i)
		return !known || a.Kind == confirm
	})
}

// lostQuestion returns the result of an ordinary run that the backend refused because the thread
// waits for an answer. The result asks the client a lost question. lostQuestion returns false if
// the event ev is not such a refusal, or if no id is known that could be cancelled.
func (run *run) lostQuestion(ev agui.Event) (translate.Result, bool) {
	if run.showsNative || len(run.extraMessages) > 0 || run.hasEvents || !ev.Valid() || !refusesWaiting(ev) {
		return translate.Result{}, false
	}
	approves := ev.Get("code").Str == approvalRequired
	var calls []string
	if approves {
		// up to 1.0.1 the id of an approval is the id of its call
		calls = danglingCalls(kit.SentInput(run.r))
	}
	natives := kit.LostIDs(run.r, func(p *agui.Pause, _ *agui.Interrupt) bool { return new(Dialect).Frees(p) }, calls...)
	if len(natives) == 0 {
		return translate.Result{}, false
	}
	res := kit.AskLost(run.r, kit.LostQuestion{Backend: ev.Get("code").Str, Natives: natives})
	res.Asked.Private, res.Backend = agui.MustMarshal(pauseState{Row: rowOutcome}), python
	return res, true
}

// danglingCalls returns the ids of the calls that have no result. It leaves out the client's own
// calls.
func danglingCalls(in agui.RunInput) []string {
	var ids []string
	kit.WithoutDangling(in, func(c kit.DanglingCall) bool {
		if c.ID != "" && !in.Declares(c.Name) && !slices.Contains(ids, c.ID) {
			ids = append(ids, c.ID)
		}
		return false
	})
	return ids
}

// A cancelExchange is an exchange that cancels a question. The backend has the question open, but
// Holdpoint does not know it.
type cancelExchange struct {
	*run
	cancels *kit.Cancels
	missing []string // ids of questions that the backend named as open
	// calls that the exchange denies by tool messages; nil if it sends a cancel
	deniedCalls []string
	toldDenied  bool // the results of the denied calls were sent to the client
}

// Event implements translate.Run. The backend sends the results of denied calls only in a snapshot,
// and that snapshot lacks the messages which the backend has not seen. So Event drops the snapshot,
// and sends the client only the results.
func (c *cancelExchange) Event(ev agui.Event, emit func(agui.Event)) error {
	if c.deniedCalls != nil && ev.Type != agui.RunStarted && !c.toldDenied {
		c.toldDenied = true
		for _, call := range c.deniedCalls {
			emit(kit.ToolReply{ID: "result-" + call, Call: call, Content: resultRejected}.Event())
		}
	}
	if c.deniedCalls != nil && ev.Type == agui.MessagesSnapshot {
		return nil
	}
	return c.run.Event(ev, emit)
}

// Passes implements translate.Passer.
func (c *cancelExchange) Passes(t agui.Type) bool { return c.deniedCalls == nil && c.run.Passes(t) }

// cancel begins the run that cancels a lost question, or a question whose answer is in doubt.
func (d *Dialect) cancel(r *translate.Request) (translate.Out, translate.Run, error) {
	c := &cancelExchange{run: newRun(d, r), cancels: kit.NewCancels(r.Pause)}
	x := c.exchange()
	return x.Out, x.Run, nil
}

// exchange returns the exchange of the next attempt to cancel. It sends no messages. If it did, a
// workflow of 1.2.0 and later would start again and repeat its question (RAN).
func (c *cancelExchange) exchange() *translate.Exchange {
	body := agui.SetKey(c.body(nil), "resume", kit.CancelArray(c.cancels.Open(), ""))
	return &translate.Exchange{Out: translate.Out{Body: body, Resumes: true}, Run: &cancelExchange{
		run: newRun(c.d, c.r), cancels: c.cancels, missing: c.missing,
	}}
}

func (c *cancelExchange) body(messages []agui.Message) []byte {
	in := c.r.Input
	body := agui.DeleteKey(withoutProps(in, kit.BodyWithoutCommand(in, in.Raw)), "resume")
	return agui.SetKey(body, "messages", agui.MessageList(messages))
}

// denial returns an exchange that denies the calls in the history that have no result. 1.7.0
// accepts such a tool message without an id of the question, if the history has the call as it was
// when the backend asked (RAN). denial returns nil if no call in the history lacks a result, or if
// one of those calls is the client's. After a denial in a turn with a call of the client, 1.7.0
// answers every later run with an empty stream (RAN).
func (c *cancelExchange) denial() *translate.Exchange {
	in := c.r.Input.WithMessages(kit.WithoutMessages(c.r.Input.Messages, c.r.NewMessages))
	calls := danglingCalls(in)
	last := -1
	own := false
	for n, m := range in.Messages {
		for _, one := range callsOf(m) {
			if slices.Contains(calls, one.ID) {
				last = n
			} else if _, answered := kit.ResultOf(in.Messages, one.ID); !answered {
				own = true
			}
		}
	}
	if last < 0 || own {
		return nil
	}
	messages := slices.Clone(in.Messages[:last+1])
	for _, m := range in.Messages[last+1:] {
		if m.Role == "tool" {
			messages = append(messages, m)
		}
	}
	if safe := messagesAsResults(messages, in); safe != nil {
		messages = safe
	}
	for _, call := range calls {
		messages = append(messages, sentResult{"holdpoint-no-" + call, `{"accepted":false}`}.message(call))
	}
	return &translate.Exchange{Out: translate.Out{Body: c.body(messages), Resumes: true}, Run: &cancelExchange{
		run: newRun(c.d, c.r), cancels: c.cancels, missing: c.missing, deniedCalls: calls,
	}}
}

// End implements translate.Run.
func (c *cancelExchange) End(e translate.End) (translate.Result, error) {
	if e.Event.Type == agui.RunErrored && e.Event.Valid() && !c.hasEvents {
		return c.endRefused(e.Event), nil
	}
	res, err := c.run.End(e)
	if err == nil && e.Event.Type == agui.RunFinished && len(res.Asked.Interrupts) == 0 {
		res.Next = c.next()
	}
	return res, err
}

// next returns the exchange that sends the new messages, which came with the cancel. It returns nil
// if there are no new messages.
func (c *cancelExchange) next() *translate.Exchange {
	if len(c.r.NewMessages) == 0 {
		return nil
	}
	run := c.d.plainRun(c.r)
	run.extraMessages = c.r.NewMessages
	return &translate.Exchange{Out: newMessages(c.r), Run: run}
}

// free returns the result of a cancel after which the thread waits for no answer.
func (c *cancelExchange) free() translate.Result {
	return translate.Result{Finish: agui.FinishedEvent(c.r.Input.ThreadID, c.r.Input.RunID), Next: c.next()}
}

// cancelOtherIDs returns the result of a cancel that named the wrong ids. Its next exchange sends
// the ids that c.cancels has now.
func (c *cancelExchange) cancelOtherIDs() translate.Result {
	return translate.Result{Next: c.exchange()}
}

// endRefused returns the result of a cancel that ended with the RUN_ERROR ev. All versions check
// the whole resume array before they act on an entry, so the refused cancel had no effect.
func (c *cancelExchange) endRefused(ev agui.Event) translate.Result {
	const (
		unknown  = "No pending interrupt found for resume interruptId '"
		omitted  = "Resume omitted pending interruptId '"
		conflict = "Approval cancellation conflicts with the retained terminal decision."
	)
	message := ev.Get("message").Str
	code := ev.Get("code").Str
	kind, _ := strings.CutPrefix(strings.TrimPrefix(code, "WORKFLOW_"), "APPROVAL_")
	id := strings.TrimSuffix(message, "'.")
	switch {
	case kind == "RESUME_CANCELLED":
		return c.free()
	case kind == "RESUME_NOT_FOUND" && strings.HasPrefix(message, unknown):
		if c.cancels.Drop(strings.TrimPrefix(id, unknown)) {
			return c.cancelOtherIDs()
		}
		if denial := c.denial(); denial != nil && strings.HasPrefix(code, "APPROVAL_") {
			return translate.Result{Next: denial}
		}
		return translate.Result{Fate: translate.Lost} // Holdpoint does not know the question's id
	case kind == "RESUME_NOT_FOUND":
		return c.free() // the thread no longer waits for an answer
	case kind == "RESUME_MISSING_INTERRUPT" && strings.HasPrefix(message, omitted):
		missing := strings.TrimPrefix(id, omitted)
		if c.cancels.Add(missing) {
			c.missing = append(c.missing, missing)
			return c.cancelOtherIDs()
		}
	case kind == "RESUME_INVALID" && message == conflict:
		// One of the questions was answered before, so only the others can be cancelled. The ids
		// that the backend named as open are kept. If it named no id, the next cancel names only
		// one question. The backend then answers with the id of another question that is open.
		keep := c.missing
		if len(keep) == 0 && len(c.cancels.Open()) > 1 {
			keep = c.cancels.Open()[:1]
		}
		if len(keep) > 0 && len(keep) < len(c.cancels.Open()) && c.cancels.Keep(keep) {
			return c.cancelOtherIDs()
		}
		if len(c.missing) == 0 {
			return c.free()
		}
	case c.deniedCalls != nil:
		return translate.Result{Fate: translate.Lost}
	}
	return translate.Result{Finish: ev}
}
