package standard

import (
	"fmt"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A tool of Mastra with requireApproval asks only by a call without a result, because the adapters
// ignore the core's own event (RAN 1.0.3 and 1.1.2). The answer has the form of an answer to a
// suspended call: {"approved":true} runs the tool, {"approved":false} tells the model that the
// person denied it. A tool message runs nothing.
//
// The stream does not distinguish such a call from other calls without a result, so the operator
// has to select the dialect mastra. A tool that failed has no result either, but then the model
// continues. (A run of 1.1.2 whose first call asks has no usage in RUN_FINISHED. A run that asks
// after a result has it.)

// A callWatch looks for such calls. A nil callWatch finds none.
type callWatch struct {
	r     *translate.Request
	began bool // the stream has a call
	spoke bool // the model has written text after the last call
}

// watchCalls returns nil if the dialect is not mastra.
func (d *Dialect) watchCalls(r *translate.Request) *callWatch {
	if d.name != MastraName || r.Show == translate.ShowNative { // with ShowNative the client has no way to answer
		return nil
	}
	return &callWatch{r: r}
}

func (w *callWatch) observe(ev agui.Event) {
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

// passes is the part of run.Passes for this watch.
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

// askingCalls returns the calls that ask: those of the last message that have no result.
func (w *callWatch) askingCalls() []agui.Call {
	if w == nil || !w.began || w.spoke {
		return nil
	}
	fresh := slices.DeleteFunc(slices.Clone(w.r.Transcript.Calls()), func(c agui.Call) bool { return !c.StreamedInRun })
	if len(fresh) == 0 {
		return nil
	}
	last := fresh[len(fresh)-1].Parent
	return slices.DeleteFunc(fresh, func(c agui.Call) bool {
		return c.Answered || !c.Ended || c.Parent != last || w.r.Input.Declares(c.Name)
	})
}

// withoutAbandoned returns the input without the calls of earlier questions that have no result,
// because they were denied or not answered. A model refuses a history with such a call.
func withoutAbandoned(r *translate.Request) agui.RunInput {
	var asked map[string]bool
	for _, ended := range r.EndedPauses {
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

// approval returns the question of a call that asks for an approval.
func (s *suspendedRuns) approval(c agui.Call) agui.Interrupt {
	at := suspendedCall{Run: s.key(), Call: c.ID, Approval: true}
	own := agui.MustMarshal(struct {
		Type string `json:"type"`
		Tool string `json:"toolName"`
		Run  string `json:"runId"`
	}{"tool_approval", c.Name, at.Run})
	o := kit.Question{
		Reason: reasonApproval, Message: fmt.Sprintf(askCall, c.Name), Call: c.ID,
		Schema: kit.ApprovalSchema, Metadata: `{"mastra":` + string(own) + `}`,
	}
	return agui.Interrupt{Native: at.native(), Object: o.Object(), Private: agui.MustMarshal(at)}
}
