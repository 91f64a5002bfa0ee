package langgraphserver

import (
	"encoding/json"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/langgraphapi"
	"holdpoint/translate/kit"
)

// breakpoint is the AnswerForm of a question at a static breakpoint (interrupt_before,
// interrupt_after). The run that answers it has input:null, and the graph then continues.
const breakpoint langgraphapi.AnswerForm = "breakpoint"

// answers holds the answers of a resume, prepared for the server.
type answers struct {
	resumes  bool
	groups   []langgraphapi.Group
	kept     private
	endsTask bool            // true: end the thread's task, and give the graph no answer
	command  json.RawMessage // the member command of the run; nil means input:null
	mayRun   bool            // an answer may cause something to run
}

// prepareAnswers checks the answers of a resume and makes its command. It finds every error that an
// answer can have, so that no error appears after the claim of the pause.
func (c *chat) prepareAnswers() error {
	c.groups = langgraphapi.Groups(c.r.Pause, c.r.Answers)
	_ = json.Unmarshal(c.r.Pause.Private, &c.kept)
	count := 0
	for _, g := range c.groups {
		count += len(g.Answers)
	}
	if count != len(c.r.Pause.Interrupts) || len(c.groups) == 0 {
		return kit.Unreadable()
	}
	c.resumes = true
	if c.r.EndOnly { // an answer would run the earlier answer that the graph keeps
		c.endsTask = true
		return nil
	}
	for _, g := range c.groups {
		if g.AnswerForm != langgraphapi.ByID {
			if err := kit.RefuseContested(c.r.Pause, g.Answers...); err != nil {
				return err
			}
		}
		for _, a := range g.Answers {
			c.mayRun = c.mayRun || a.Status == agui.Resolved && !kit.Denies(a)
		}
	}
	if c.groups[0].AnswerForm == breakpoint {
		return c.atBreakpoint()
	}
	command, err := c.perEntry()
	if c.cancelsAll() {
		c.endsTask, c.command = true, command
		return nil
	}
	c.command = command
	return err
}

// cancelsAll reports whether every answer is a cancel and no question is a review. The graph then
// gets no answer. A review has its own decision for a cancel, and its graph continues with that
// decision.
func (c *chat) cancelsAll() bool {
	return !slices.ContainsFunc(c.groups, func(g langgraphapi.Group) bool {
		return g.IsReview() || slices.ContainsFunc(g.Answers, func(a agui.Answer) bool { return a.Status != agui.Cancelled })
	})
}

// atBreakpoint reads the answer to a static breakpoint. Only a clear yes continues the run. A no or
// a cancel ends the thread's task, and any other answer returns an error.
func (c *chat) atBreakpoint() error {
	if len(c.groups) != 1 || len(c.groups[0].Answers) != 1 {
		return kit.Unreadable()
	}
	a := c.groups[0].Answers[0]
	switch says := kit.MeaningOf(c.r.Pause.Interrupts[c.groups[0].At[0]], a); {
	case a.Status == agui.Cancelled, says == agui.Denies:
		c.endsTask, c.mayRun = true, false
	case says == agui.Approves:
		c.mayRun = true
	default:
		return agui.Errorf(agui.InvalidPayload, textNoApproved, a.ID)
	}
	return nil
}

// perEntry returns the command {"resume": value}, in which each question has its own answer. value
// is a map of ids, or the bare value if the only question has no id.
func (c *chat) perEntry() (json.RawMessage, error) {
	values := make([]json.RawMessage, len(c.groups))
	for n, g := range c.groups {
		v, err := langgraphapi.Value(c.r, g, c.d.cancel)
		if err != nil {
			return nil, err
		}
		if err := g.CheckRivals(g.Answers[0], v); err != nil {
			return nil, err
		}
		values[n] = v
	}
	value, err := values[0], error(nil)
	if len(c.groups) > 1 || c.groups[0].AnswerForm == langgraphapi.ByID {
		value, err = langgraphapi.MapOf(c.groups, values)
	} else {
		err = checkBare(value)
	}
	if err != nil {
		return nil, err
	}
	return append(kit.AppendMember([]byte{'{'}, `"resume"`, string(value)), '}'), nil
}

// checkBare returns an error if the value cannot be sent without a map of ids.
func checkBare(v json.RawMessage) error {
	switch {
	case langgraphapi.Falsy(v):
		return agui.Errorf(agui.InvalidPayload, textFalsy)
	case langgraphapi.IsIDMap(v):
		return agui.Errorf(agui.InvalidPayload, textIDMap)
	}
	return nil
}

// stillAsks reports whether the thread still asks all questions that the client has answered. It
// compares their values too, because two questions of one task may have the same id.
func (c *chat) stillAsks(s state) bool {
	if c.groups[0].AnswerForm == breakpoint {
		return c.kept.Checkpoint != "" && s.checkpoint == c.kept.Checkpoint && len(s.next) > 0 && len(s.natives()) == 0
	}
	open := s.natives()
	return !slices.ContainsFunc(c.groups, func(g langgraphapi.Group) bool {
		return !slices.ContainsFunc(open, func(n langgraphapi.Native) bool {
			return n.ID == g.ID && agui.EqualJSON(n.Value, g.Value)
		})
	})
}

// showsAnswered reports whether the state shows a question that the client has answered.
func (c *chat) showsAnswered(s state) bool {
	return slices.ContainsFunc(s.natives(), func(n langgraphapi.Native) bool {
		return slices.ContainsFunc(c.groups, func(g langgraphapi.Group) bool {
			return n.ID == g.ID && agui.EqualJSON(n.Value, g.Value)
		})
	})
}

// answer returns the exchange that sends the answers to the server. s is the thread's state before
// the answers.
func (c *chat) answer(s state) *translate.Exchange {
	if !c.endsTask {
		return c.command1()
	}
	// A model refuses a conversation in which a call has no result. So each call gets a result
	// before the task is ended.
	if calls, node := s.callsWithoutResult(), c.askingNode(s); len(calls) > 0 && node != "" {
		var results []json.RawMessage
		for _, call := range calls {
			o := kit.AppendText([]byte(`{"type":"tool"`), "content", resultCancelled)
			o = kit.AppendText(o, "tool_call_id", call.Get("id").Str)
			if name := call.Get("name").Str; name != "" {
				o = kit.AppendText(o, "name", name)
			}
			results = append(results, append(kit.AppendText(o, "status", "error"), '}'))
		}
		return &translate.Exchange{
			Out: c.update(append(kit.AppendMember([]byte{'{'}, `"messages"`, string(listOf(results))), '}'), node),
			Run: &run{chat: c, step: addingResults},
		}
	}
	return c.end()
}

func (c *chat) askingNode(s state) string {
	for _, t := range s.tasks {
		if len(t.Get("interrupts").Array()) > 0 {
			return t.Get("name").Str
		}
	}
	if len(s.tasks) > 0 {
		return s.tasks[0].Get("name").Str
	}
	return ""
}

// end returns the exchange that ends the thread's task.
func (c *chat) end() *translate.Exchange {
	return &translate.Exchange{Out: c.update(json.RawMessage("null"), "__end__"), Run: &run{chat: c, step: endingTask}}
}

// command1 returns the exchange that runs the thread with c.command, or with input:null if
// c.command is nil.
func (c *chat) command1() *translate.Exchange {
	out := c.start("input", []byte("null"))
	if c.command != nil {
		out = c.start("command", c.command)
	}
	return &translate.Exchange{Out: out, Run: &run{chat: c, step: streaming}}
}
