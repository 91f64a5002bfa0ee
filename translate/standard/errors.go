package standard

import (
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// complaints are the RUN_ERRORs by which one backend reports that it did not carry out the answers.
// Any other RUN_ERROR of a resume does not show whether the backend acted on them.
type complaints struct {
	// nothingDone lists errors after which the backend did nothing with the answers, and the
	// question still waits. An error counts only if no event except RUN_STARTED precedes it.
	nothingDone []complaint
	// nothingDoneAfterSteps lists errors with the same meaning that count even if steps precede
	// them.
	nothingDoneAfterSteps []complaint
	// lostQuestion lists errors after which the backend no longer has the question. As in
	// nothingDone, an error counts only if no event except RUN_STARTED precedes it.
	lostQuestion []complaint
	// checksFirst reports that the backend checks the answers before it sends RUN_STARTED. So a
	// RUN_ERROR without a RUN_STARTED means that the backend did nothing.
	checksFirst bool
	// keepsQuestion reports that the backend itself keeps the question, and refuses every run that
	// does not answer it. If such a backend refuses a cancel too, the question still waits. A
	// backend without keepsQuestion continues without an answer.
	keepsQuestion bool
}

// A complaint matches a RUN_ERROR by its code, or by its text if the backend sends no code: code is
// the whole code, begins the beginning of the text, and holds a part of it. An empty field matches
// everything.
type complaint struct{ code, begins, holds string }

func (c complaint) matches(ev agui.Event) bool {
	text := ev.Get("message").Str
	return (c.code == "" || c.code == ev.Get("code").Str) && strings.HasPrefix(text, c.begins) && strings.Contains(text, c.holds)
}

func matchesAny(list []complaint, ev agui.Event) bool {
	return slices.ContainsFunc(list, func(c complaint) bool { return c.matches(ev) })
}

// ofAG2 are the errors of AG2 1.2.1 (RAN; ag2/ag_ui/interrupts.py serve_exchange). AG2 begins a run
// only after it has accepted the answers. If it does not have the question that an answer is for,
// it drops the answer without an error.
var ofAG2 = complaints{
	nothingDone: []complaint{{code: "INTERRUPT_NOT_COVERED"}, {code: "INTERRUPT_NOT_PROVEN"}, {code: "INTERRUPT_PAYLOAD_REFUSED"}},
	checksFirst: true, keepsQuestion: true,
}

// ofPydanticAI are the errors of pydantic-ai 2.0.0 and 2.68.0 (RAN: an empty history, missing
// results; the others READ). pydantic-ai sends no codes. It raises each of these errors before a
// tool runs: _agent_graph.py _handle_deferred_tool_results, _tool_execution.py,
// ui/ag_ui/_interrupt.py, ui/_adapter.py.
var ofPydanticAI = complaints{
	nothingDone: []complaint{
		{begins: "Tool call results were provided, but the message history "},
		{begins: "Tool call results need to be provided for all deferred tool calls."},
		{begins: "Tool call results cannot be matched unambiguously "},
		{begins: "Tool call ", holds: " was already executed and its result cannot be overridden."},
		{begins: "`ResumeEntry` payload for interrupt ", holds: " does not match the `responseSchema`"},
		{begins: "ResumeEntry.interrupt_id ", holds: " does not start with the expected "},
		{begins: "The conversation ", holds: "so this request did not run."},
	},
	lostQuestion: []complaint{{begins: "The request answers ", holds: " that the stored conversation is not waiting on: "}},
	checksFirst:  true,
}

// ofADK are the errors of Google ADK, ag-ui-adk 0.11.0 (RAN; adk_agent.py run,
// _check_interrupt_resume). ag-ui-adk checks the answers before it sends RUN_STARTED.
var ofADK = complaints{
	nothingDone:  []complaint{{code: "INTERRUPT_RESUME_REQUIRED"}, {code: "INTERRUPT_RESUME_INCOMPLETE"}, {code: "SESSION_LOOKUP_ERROR"}},
	lostQuestion: []complaint{{code: "UNKNOWN_INTERRUPT"}},
	checksFirst:  true, keepsQuestion: true,
}

// ofCrewAI are the errors of CrewAI, ag-ui-crewai 1.0.0 (RAN; endpoint.py) and 0.3.0 (READ).
// HUMANFEEDBACKCOLLAPSEERROR means that a model could not match the person's words to an option of
// the question. The step that asked then fails, and no later step runs. The two errors of
// nothingDone are raised before the flow is loaded (READ).
var ofCrewAI = complaints{
	nothingDone:           []complaint{{code: "AGUI_CREWAI_RESUME_UNSUPPORTED"}, {code: "AGUI_CREWAI_CONVERSATION_THREAD_BUSY"}},
	nothingDoneAfterSteps: []complaint{{code: "AGUI_CREWAI_FLOW_ERROR_HUMANFEEDBACKCOLLAPSEERROR"}},
	lostQuestion:          []complaint{{code: "AGUI_CREWAI_NO_PENDING_FEEDBACK"}},
}

// ofMastra are the errors of Mastra, @ag-ui/mastra 1.1.2 with @mastra/core 1.71.0 (RAN). The text
// of the error comes from @mastra/core.
var ofMastra = complaints{
	lostQuestion: []complaint{{holds: "could not find a suspended run"}},
}

// ofClaude are the errors of ag-ui-claude-sdk 0.2.3 (READ recovery.py and adapter.py run). The
// package sends no codes, and raises all of these errors before it sends RUN_STARTED.
var ofClaude = complaints{
	lostQuestion: []complaint{{begins: "No saved SDK deferral matches this approval"}},
	checksFirst:  true,
}

// ofTanStack are the errors of TanStack AI, @tanstack/ai 0.58.0 (RAN: an empty history; the others
// READ, activities/chat/index.ts applyEphemeralInterruptResume). TanStack AI checks all answers
// before a tool runs, and sends the code of the first fault.
var ofTanStack = complaints{
	nothingDone: []complaint{
		{code: "invalid-payload"}, {code: "invalid-edited-args"}, {code: "invalid-tool-output"}, {code: "invalid-response-schema"},
		{code: "conflict"}, {code: "incomplete-batch"},
	},
	lostQuestion: []complaint{{code: "unknown-interrupt"}, {code: "stale"}, {code: "expired"}},
}

// endRefused returns the result of a resume that ended with RUN_ERROR. BackendLostInterrupt comes
// from another Holdpoint between this one and the backend, and means that the backend lost the
// question. Some codes belong to several backends that check the answers first: the integrations
// for Strands (integrations/aws-strands) and for Microsoft Agent Framework (issue 7570).
func (run *run) endRefused(ev agui.Event) translate.Result {
	res := translate.Result{Finish: ev}
	code := agui.Code(ev.Get("code").Str)
	said := run.complaints()
	switch {
	case code == agui.BackendLostInterrupt:
		return translate.Result{Fate: translate.Lost}
	case run.cancelsLost(code):
		// The question that the backend asks has another id, which is unknown.
		return translate.Result{Fate: translate.Lost}
	case !run.backendActed && matchesAny(said.nothingDoneAfterSteps, ev):
		res.Fate = translate.Untouched
	case run.streamed:
	case matchesAny(said.lostQuestion, ev), code == agui.UnknownInterruptID, code == "APPROVAL_RESUME_NOT_FOUND":
		return translate.Result{Fate: translate.Lost}
	case matchesAny(said.nothingDone, ev), said.checksFirst && !run.started, slices.Contains(checkedFirst, code):
		res.Fate = translate.Untouched
	}
	if res.Fate == translate.Untouched && onlyCancels(run.resume) && !said.keepsQuestion && !slices.Contains(checkedFirst, code) {
		res.Fate = translate.Finished // nothing was approved, and the thread can continue
	}
	return res
}

// checkedFirst are the codes of errors after which any backend did nothing with the answers.
var checkedFirst = []agui.Code{
	agui.InvalidPayload, agui.PartialResume, agui.ThreadBusy,
	"APPROVAL_RESUME_INVALID", "APPROVAL_RESUME_INVALID_RESPONSE", "APPROVAL_RESUME_MISSING_INTERRUPT",
	"WORKFLOW_RESUME_INVALID", "WORKFLOW_RESUME_INVALID_RESPONSE", "WORKFLOW_RESUME_MISSING_INTERRUPT",
}

// complaints returns the errors of the backend that asked. In all known cases, the questions of a
// pause belong to one backend.
func (run *run) complaints() complaints {
	for n := range run.resume.Pause.Interrupts {
		if said := profileOfInterrupt(&run.resume.Pause.Interrupts[n]).errors; said != nil {
			return *said
		}
	}
	return complaints{}
}

// cancelsLost reports whether the client cancelled a lost question and the error code shows that
// the backend still waits.
func (run *run) cancelsLost(code agui.Code) bool {
	question, isLost := lostStateOf(&run.resume.Pause.Interrupts[0])
	return isLost && (code == blockedBackends[question.Backend].refusal || code == "INTERRUPT_RESUME_INCOMPLETE")
}

func onlyCancels(r *translate.Request) bool {
	return !slices.ContainsFunc(r.Answers, func(a agui.Answer) bool { return a.Status != agui.Cancelled })
}
