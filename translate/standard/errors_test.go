package standard

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

func failedWith(code, message string) string {
	return string(agui.MustMarshal(map[string]string{"type": "RUN_ERROR", "code": code, "message": message}))
}

// TestComplaints checks what became of the answers if a backend sends a RUN_ERROR. The texts of the
// errors are those of the real backends.
func TestComplaints(t *testing.T) {
	const lost, nothing, says = translate.Lost, translate.Untouched, translate.Finished
	const claude = `{"id":"a","reason":"tool_approval","toolCallId":"a","metadata":{"source":"claude-sdk-deferred","toolName":"Bash","input":{}}}`
	const step = `{"type":"STEP_STARTED","stepName":"ask"}`
	const result = `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c1","content":"ok"}`
	const missing = `Tool call results need to be provided for all deferred tool calls. Expected: {'b', 'a'}, got: {'a'}`
	const changed = "The conversation was changed by another request while it was being loaded, so this request did not run. Reload it."
	const unsaved = "The conversation was changed by another request while this one ran, so this turn was not saved. Reload it."
	for name, c := range map[string]struct {
		interrupt string
		stream    []string
		yes, no   translate.Fate // of a resolved and of a cancelled answer
	}{
		"AG2, the proof is missing":      {ag2Asks, []string{failedWith("INTERRUPT_NOT_PROVEN", "x")}, nothing, nothing},
		"AG2, not covered":               {ag2Asks, []string{failedWith("INTERRUPT_NOT_COVERED", "x")}, nothing, nothing},
		"AG2, the payload":               {ag2Asks, []string{failedWith("INTERRUPT_PAYLOAD_REFUSED", "x")}, nothing, nothing},
		"AG2, anything first":            {ag2Asks, []string{failedWith("", "x")}, nothing, nothing},
		"AG2, anything in a run":         {ag2Asks, []string{started, failedWith("", "x")}, says, says},
		"AG2, a code behind a result":    {ag2Asks, []string{started, result, failedWith("INTERRUPT_NOT_COVERED", "x")}, says, says},
		"pydantic-ai, no history":        {pydanticAsks, []string{started, failedWith("", "Tool call results were provided, but the message history is empty.")}, nothing, says},
		"pydantic-ai, results missing":   {pydanticAsks, []string{started, failedWith("", missing)}, nothing, says},
		"pydantic-ai, behind something":  {pydanticAsks, []string{started, text, failedWith("", missing)}, says, says},
		"pydantic-ai, changed meanwhile": {pydanticAsks, []string{started, failedWith("", changed)}, nothing, says},
		"pydantic-ai, not saved":         {pydanticAsks, []string{started, failedWith("", unsaved)}, says, says},
		"pydantic-ai, not waiting":       {pydanticAsks, []string{started, failedWith("", "The request answers 1 tool call(s) that the stored conversation is not waiting on: 'c1'. …")}, lost, lost},
		"pydantic-ai, any other":         {pydanticAsks, []string{started, failedWith("", "x: "+missing)}, says, says},
		"ADK, incomplete":                {adkConfirms, []string{failedWith("INTERRUPT_RESUME_INCOMPLETE", "x")}, nothing, nothing},
		"ADK, required":                  {adkConfirms, []string{started, failedWith("INTERRUPT_RESUME_REQUIRED", "x")}, nothing, nothing},
		"ADK, unknown":                   {adkConfirms, []string{failedWith("UNKNOWN_INTERRUPT", "x")}, lost, lost},
		"ADK, it fails":                  {adkConfirms, []string{started, failedWith("BACKGROUND_EXECUTION_ERROR", "x")}, says, says},
		"CrewAI, nothing is pending":     {crewAsksFree, []string{failedWith("AGUI_CREWAI_NO_PENDING_FEEDBACK", "x")}, lost, lost},
		"CrewAI, the collapse":           {crewAsksFree, []string{started, step, failedWith("AGUI_CREWAI_FLOW_ERROR_HUMANFEEDBACKCOLLAPSEERROR", "x")}, nothing, says},
		"CrewAI, the collapse, later":    {crewAsksFree, []string{started, step, text, failedWith("AGUI_CREWAI_FLOW_ERROR_HUMANFEEDBACKCOLLAPSEERROR", "x")}, says, says},
		"CrewAI, anything first":         {crewAsksFree, []string{failedWith("AGUI_CREWAI_FLOW_ERROR_X", "x")}, says, says},
		"Mastra, not suspended":          {mastraAsks, []string{started, failedWith("", `Agent "a" resumeStream() could not find a suspended run for runId "r1". …`)}, lost, lost},
		"Claude, another form":           {claude, []string{failedWith("", "Approval payload requires behavior: allow or deny.")}, nothing, says},
		"Claude, no deferral":            {claude, []string{failedWith("", "No saved SDK deferral matches this approval; historical callbacks cannot be recovered.")}, lost, lost},
		"TanStack AI, no history":        {tanstackAsks, []string{failedWith("unknown-interrupt", "x")}, lost, lost},
		"TanStack AI, the payload":       {tanstackAsks, []string{started, failedWith("invalid-payload", "x")}, nothing, says},
		"TanStack AI, any other":         {tanstackAsks, []string{started, failedWith("server", "x")}, says, says},
		"anybody, anything first":        {somebodyAsks, []string{failedWith("", "x")}, says, says},
		"anybody, words of AG2's":        {somebodyAsks, []string{failedWith("INTERRUPT_NOT_COVERED", "x")}, says, says},
	} {
		t.Run(name, func(t *testing.T) {
			p := pausedBy(t, c.interrupt)
			for status, want := range map[agui.Status]translate.Fate{agui.Resolved: c.yes, agui.Cancelled: c.no} {
				if status == agui.Cancelled && strings.HasPrefix(name, "CrewAI") {
					continue // CrewAI never gets a cancel
				}
				answers := []agui.Answer{{ID: p.Interrupts[0].ID, Status: status, Payload: []byte(`true`)}}
				r := &translate.Request{Input: parse(t, ``), Pause: p, Answers: answers, Transcript: dialecttest.NewLog(nil)}
				_, run, err := new(Dialect).Begin(r)
				if err != nil {
					t.Fatal(err)
				}
				res := play(t, run, &dialecttest.Log{}, c.stream...)
				if res.Fate != want || (res.Finish.Type == agui.RunErrored) != (want != lost) {
					t.Errorf("%s: fate %d, want %d: %+v", status, res.Fate, want, res)
				}
			}
		})
	}
}
