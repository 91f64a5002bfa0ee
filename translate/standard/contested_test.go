package standard

import (
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate/dialecttest"
)

// TestApprovalThatCouldMeetAnotherQuestion: another run of the thread has asked another question.
// CrewAI uses an answer for the flow that waits, whatever the id of the answer is, so an approval
// must be refused. The other backends check the id.
func TestApprovalThatCouldMeetAnotherQuestion(t *testing.T) {
	for name, c := range map[string]struct {
		interrupt, id, payload string
		code                   agui.Code
	}{
		"CrewAI, a yes":    {crewAsks, "t~r1", `"approved"`, agui.ApprovalAmbiguous},
		"CrewAI, a no":     {crewAsks, "t~r1", `"rejected"`, ""},
		"CrewAI, a cancel": {crewAsks, "t~r1", "", agui.ApprovalAmbiguous},
		"CrewAI, free":     {crewAsksFree, "t~r1", `"good"`, agui.ApprovalAmbiguous},
		"Google ADK":       {adkConfirms, "adk-1~r1", `true`, ""},
		"Mastra":           {mastraAsks, "r1::c1~r1", `{"approved":true}`, ""},
		"pydantic-ai":      {pydanticAsks, "int-c1~r1", `{"approved":true}`, ""},
		"AG2":              {ag2Asks, "9-1~r1", `{"approved":true}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := pausedBy(t, c.interrupt)
			p.Contested = true
			_, _, err := resume(t, p, parse(t, dialecttest.ResumeArray(dialecttest.Entry(c.id, c.payload))))
			if dialecttest.Code(err) != c.code {
				t.Errorf("got %v, want %q", err, c.code)
			}
		})
	}
}
