package standard

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A tool of Mastra's with requireApproval asks by a call without a result, and by nothing else: the
// adapters pass the core's own event over (RAN 1.0.3 and 1.1.2). An answer in the form of a
// suspended call's is taken: {"approved":true} runs the tool, {"approved":false} tells the model
// that the person said no. A tool message runs nothing.
//
// Nothing in the stream tells such a call from another one without a result, so the operator has to
// say that the backend is Mastra. A tool that failed has no result either, but the model goes on
// then. (A run of 1.1.2 that asks first has no usage in RUN_FINISHED. One that asks behind a result
// has it.)

// callWatch looks for such calls. A nil one finds none.
type callWatch struct {
	r     *translate.Request
	began bool // a call was begun
	spoke bool // and the model has spoken since
}

// watchCalls is nil for a backend that is not named.
func (d *Dialect) watchCalls(r *translate.Request) *callWatch {
	if d.name != MastraName || r.Show == translate.ShowNative { // which has no way to answer
		return nil
	}
	return &callWatch{r: r}
}

func (w *callWatch) see(ev agui.Event) {
	if w == nil {
		return
	}
	switch ev.Type {
	case agui.CallStart, agui.CallChunk:
		w.began, w.spoke = true, false
	case agui.TextStart, agui.TextChunk, agui.TextContent:
		w.spoke = w.began
	}
}

// passes is a part of Passes.
func (w *callWatch) passes(t agui.Type) bool {
	if w == nil {
		return true
	}
	switch t {
	case agui.CallStart, agui.CallChunk:
		return false
	case agui.TextStart, agui.TextChunk, agui.TextContent:
		return !w.began || w.spoke
	}
	return true
}

// asking returns the calls that ask: those of the last message that have no result.
func (w *callWatch) asking() []agui.Call {
	if w == nil || !w.began || w.spoke {
		return nil
	}
	fresh := slices.DeleteFunc(slices.Clone(w.r.Transcript.Calls()), func(c agui.Call) bool { return !c.Fresh })
	if len(fresh) == 0 {
		return nil
	}
	last := fresh[len(fresh)-1].Parent
	return slices.DeleteFunc(fresh, func(c agui.Call) bool {
		return c.Answered || !c.Ended || c.Parent != last || w.r.Input.Declares(c.Name)
	})
}

// withoutAbandoned returns the input without the calls that were asked about and have no result:
// those that were denied, and those that nobody answered. A model refuses a history with such a
// call.
func withoutAbandoned(r *translate.Request) agui.RunInput {
	var asked map[string]bool
	for _, ended := range r.Ended {
		for n := range ended.Interrupts {
			if at, is := suspendedOf(&ended.Interrupts[n]); is && at.Approval {
				if asked == nil {
					asked = map[string]bool{}
				}
				asked[at.Call] = true
			}
		}
	}
	if asked == nil {
		return r.Input
	}
	return kit.WithoutDangling(r.Input, func(c kit.DanglingCall) bool { return asked[c.ID] })
}

// approval returns the question of such a call.
func (s *suspendedRuns) approval(c agui.Call) agui.Interrupt {
	at := suspendedCall{Run: s.key(), Call: c.ID, Approval: true}
	o := kit.AppendText([]byte{'{'}, "reason", reasonApproval)
	o = kit.AppendText(o, "message", "The agent asks to call the tool "+c.Name+".")
	o = kit.AppendText(o, "toolCallId", c.ID)
	o = kit.AppendMember(o, `"responseSchema"`, kit.ApprovalSchema)
	own := agui.MustMarshal(struct {
		Type string `json:"type"`
		Tool string `json:"toolName"`
		Run  string `json:"runId"`
	}{"tool_approval", c.Name, at.Run})
	o = append(kit.AppendMember(o, `"metadata"`, `{"mastra":`+string(own)+`}`), '}')
	return agui.Interrupt{Native: at.native(), Object: o, Private: agui.MustMarshal(at)}
}
