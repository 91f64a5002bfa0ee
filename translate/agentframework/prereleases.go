package agentframework

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// The pre-releases before 1.0.0rc7 (November 2025 to March 2026) keep no record of their questions,
// and run any call that a message reports as approved. So Holdpoint does not ask the client their
// questions: the run ends with an error that names the required version. The path is then known to
// speak this dialect. So in later runs Begin changes each message that such a backend would read as
// a yes. Everything else is handled as with any other version.

// CodeTooOld is the code of the RUN_ERROR for a run that asks a question, if its backend is older
// than 1.0.0rc7.
const CodeTooOld agui.Code = "AGENT_FRAMEWORK_TOO_OLD"

// asksTooOld reports whether the run asks in a way in which only versions before 1.0.0rc7 ask:
// without a list of interrupts and without an outcome, or with a list that has only the last
// approval (1.0.0b260225 to b260311, agent-framework 4590). A confirm_changes call alone proves
// nothing: any model can make one, and no version runs anything because of its answer.
func (run *run) asksTooOld(finish agui.Event) bool {
	approvals, asks := 0, false
	for _, a := range run.asks {
		asks = asks || a.Kind != confirm
		if a.Kind == approval {
			approvals++
		}
	}
	return asks && len(kit.Outcome(finish)) == 0 && len(listedInterrupt(finish)) < max(approvals, 1)
}

// refuseTooOld returns the result of a run that asksTooOld found: an error for the client.
func (run *run) refuseTooOld(finish agui.Event, emit func(agui.Event)) translate.Result {
	run.tellUnasked(finish, emit)
	run.d.old.Do(func() {
		run.d.warn(logTooOld)
	})
	refusal := agui.Errorf(CodeTooOld, textTooOld)
	return translate.Result{Finish: refusal.Event(), DetectedDialect: Name, Backend: python}
}
