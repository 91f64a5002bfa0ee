package standard

import (
	"fmt"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// If a tool of Mastra has requireApproval, the stream shows its question only as a call without a
// result, because the adapters ignore the core's own event (RAN 1.0.3 and 1.1.2). The answer has
// the form of an answer to a suspended call: {"approved":true} runs the tool, {"approved":false}
// tells the model that the person denied it. A tool message does not run the tool.
//
// In the stream, such a call looks like any other call without a result, so the operator has to
// select the dialect mastra. A tool that failed has no result either, but then the model continues.
// (A run of 1.1.2 whose first call asks has no usage in RUN_FINISHED. A run that asks after a
// result has usage.)

// A callWatch looks for calls that ask for an approval. A nil callWatch finds none.
type callWatch struct {
	r     *translate.Request
	began bool // the stream has a call
	spoke bool // the model has written text after the last call
}

// watchCalls returns a callWatch for the request, or nil if the dialect is not mastra.
func (d *Dialect) watchCalls(r *translate.Request) *callWatch {
	if d.name != MastraName || r.Show == translate.ShowNative { // a ShowNative client cannot answer
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

// passes reports whether events of the type t need not be observed. run.Passes calls it.
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

// askingCalls returns the calls that ask for an approval: those of the last message with calls that
// have no result. It returns nil if the model has written text after them.
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

// withoutAbandoned returns the input without the calls that earlier questions asked about and that
// never got a result, because they were denied or not answered. A model refuses a history with such
// a call.
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

// approval returns the question about a call that asks for an approval.
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
