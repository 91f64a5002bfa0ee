package adk

import (
	"encoding/json"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// resume begins the exchange with the answers. It brings the calls in one message and the answers
// behind them, with what the client says of the turn's other calls, and nothing else: ADK keeps the
// history. If it has lost that, it would take the user's last message for a new one and carry it
// out again.
func (d *Dialect) resume(r *translate.Request) (translate.Out, translate.Run, error) {
	if len(r.Answers) != len(r.Pause.Interrupts) || len(r.Answers) == 0 {
		return translate.Out{}, nil, kit.Unreadable()
	}
	outcome := keptOfWhole(r.Pause).Outcome
	var asked []kept
	var replies []kit.ToolReply
	var denied []bool
	for n, i := range r.Pause.Interrupts {
		k, ok := keptOf(i)
		if !ok {
			return translate.Out{}, nil, kit.Unreadable()
		}
		if outcome && r.Answers[n].Status == agui.Cancelled && !k.Kind.hasCancel() {
			continue // ADK refuses runs until its confirmations are answered, and wants nothing here
		}
		content, err := said(k, r.Answers[n])
		if err != nil {
			return translate.Out{}, nil, err
		}
		denies := kit.Says(i, r.Answers[n]) == agui.Denies
		if k.Twice && !denies {
			return translate.Out{}, nil, agui.Errorf(agui.ApprovalAmbiguous, "several confirmations have the id %q of interrupt %q, and ADK would give all of them this answer. Deny or cancel it", k.Call, i.ID)
		}
		reply := kit.ToolReply{ID: i.ID, Call: k.Call, Content: content}
		if k.Kind.hidden() {
			reply.ID = "answer-" + i.ID // of two messages with the id of a call ADK may pass over one
		}
		asked, replies, denied = append(asked, k), append(replies, reply), append(denied, denies)
	}
	if len(replies) == 0 {
		return translate.Out{}, nil, withoutCancel(r.Answers[0].ID)
	}
	// ADK keeps an answer back until it has all results, and then carries out the last ones only.
	results, err := kit.ClientResults(r, keptOfWhole(r.Pause).Clients, slices.Contains(denied, false))
	if err != nil {
		return translate.Out{}, nil, err
	}
	calls := kit.CallsOf(replies)
	answers := kit.ToolMessages(replies)
	if outcome {
		answers = nil
	}
	list := slices.Concat([]agui.Message{callsMessage(r.Pause.Interrupts[0].ID, asked)}, answers, results)
	beside := kit.WithoutMessages(kit.NotOn(r.New, calls), results)
	plain := newRun(d, r.With(r.Input, beside))
	plain.resume = &resumed{asked: asked, denied: denied, replies: replies}
	body := agui.DeleteKey(agui.SetKey(r.Input.Raw, "messages", agui.MessageList(list)), "resume")
	if outcome {
		body = agui.SetKey(body, "resume", resumeArray(replies))
	}
	out := translate.Out{Body: kit.BodyWithoutCommand(r.Input, body), Resumes: true}
	if len(beside) == 0 {
		out.TakesNew = true
	}
	plain.resume.run = plain
	return out, plain, nil
}

// resumeArray is the same answers for an agent with emit_interrupt_outcome.
func resumeArray(replies []kit.ToolReply) json.RawMessage {
	type entry struct {
		ID      string          `json:"interruptId"`
		Status  string          `json:"status"`
		Payload json.RawMessage `json:"payload"`
	}
	list := make([]entry, len(replies))
	for n, r := range replies {
		list[n] = entry{r.Call, string(agui.Resolved), json.RawMessage(r.Content)}
	}
	return agui.MustMarshal(list)
}

// callsMessage is the message with the calls that ask. ADK reads the name of the tool in it.
func callsMessage(id string, asked []kept) agui.Message {
	type function struct {
		Name string `json:"name"`
		Args string `json:"arguments"`
	}
	type call struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	m := struct {
		ID    string `json:"id"`
		Role  string `json:"role"`
		Calls []call `json:"toolCalls"`
	}{"asked-" + id, "assistant", nil}
	for _, k := range asked {
		args := k.Args
		if k.Kind == credential { // ADK has its own secrets
			args = "{}"
		}
		m.Calls = append(m.Calls, call{k.Call, "function", function{k.Name, args}})
	}
	return agui.ParseMessage(agui.MustMarshal(m))
}

// resumed is what a run with answers looks at.
type resumed struct {
	run     *run
	asked   []kept
	denied  []bool
	replies []kit.ToolReply

	told    bool // what the answers say was told
	started bool // RUN_STARTED was seen
	worked  bool // anything but RUN_STARTED was seen
	results []string
}

// see notes what the run does.
func (s *resumed) see(ev agui.Event) {
	if ev.Type == agui.RunStarted {
		s.started = true
		return
	}
	s.worked = true
	if ev.Type == agui.CallResult {
		s.results = append(s.results, ev.Get("toolCallId").Str)
	}
}

// tell tells the answers to calls that the client has seen as results, because ADK tells none.
func (s *resumed) tell(emit func(agui.Event)) {
	if s == nil || s.run.native || s.told {
		return
	}
	s.told = true
	for n, reply := range s.replies {
		if !s.asked[n].Kind.hidden() {
			emit(reply.Event())
		}
	}
}

func (s *resumed) passes(t agui.Type) bool {
	return s.worked && t != agui.CallResult && t != agui.RunStarted
}

// end says what became of the answers.
func (s *resumed) end(res *translate.Result, e translate.End) {
	onlyChanges := !slices.ContainsFunc(s.asked, func(k kept) bool { return k.Kind != changes })
	switch e.Event.Type {
	case agui.Unknown:
		if onlyChanges && !s.started && !s.worked && !e.Cut && e.Status == 0 && !e.None {
			res.Finish = agui.FinishedEvent(s.run.r.Input.ThreadID, s.run.r.Input.RunID)
		}
	case agui.RunFinished:
		switch {
		case !s.worked && !onlyChanges:
			res.Fate = translate.Lost
		case s.withoutResult():
			res.Fate = translate.InDoubt
		case len(s.run.r.New) > 0:
			res.Next = s.next()
		}
	case agui.RunErrored:
		if s.worked {
			return
		}
		text, code := e.Event.Get("message").Str, e.Event.Get("code").Str
		switch {
		case code == "INTERRUPT_RESUME_REQUIRED", code == "INTERRUPT_RESUME_INCOMPLETE", code == "SESSION_LOOKUP_ERROR", code == "PENDING_TOOL_CALLS", strings.HasPrefix(text, "Maximum concurrent executions"):
			res.Fate = translate.Untouched
		case code == "UNKNOWN_INTERRUPT", strings.Contains(text, "unction call not found for function response"), strings.Contains(text, "No function call event found for function responses"),
			strings.HasPrefix(text, "Validation failed for interrupt "): // ADK has dropped the question
			res.Fate = translate.Lost
		}
	}
}

// withoutResult says whether a call that was approved has no result. ADK tells one of each call
// that ran, or failed, or was denied.
func (s *resumed) withoutResult() bool {
	for n, k := range s.asked {
		if k.Kind == confirm && k.Runs != "" && !s.denied[n] && !slices.Contains(s.results, k.Runs) {
			return true
		}
	}
	return false
}

// next is the exchange for the messages beside the answers.
func (s *resumed) next() *translate.Exchange {
	list := kit.After(s.run.r, kit.CallsOf(s.replies)).Behind(kit.ToolMessages(s.replies))
	out := translate.Out{Body: agui.SetKey(kit.BodyWithoutCommand(s.run.r.Input, agui.DeleteKey(s.run.r.Input.Raw, "resume")), "messages", agui.MessageList(list)), TakesNew: true}
	return &translate.Exchange{Out: out, Run: newRun(s.run.d, s.run.r.Plain())}
}
