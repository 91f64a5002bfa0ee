package standard

import (
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// complaints are what one backend says in a RUN_ERROR of the answers that it did not carry out. Any
// other RUN_ERROR of a resume says nothing of them.
type complaints struct {
	// nothing was done with the answers, and the question waits as before. It counts only if
	// nothing but RUN_STARTED came before it.
	nothing []complaint
	// stepped are such complaints too, but steps may come before them.
	stepped []complaint
	// lost: the backend does not know the question any more. It counts as nothing does.
	lost []complaint
	// early says that the backend looks at the answers before it sends RUN_STARTED. So a RUN_ERROR
	// without RUN_STARTED means that nothing was done, whatever it says.
	early bool
	// holds says that the backend itself keeps the question, and refuses every run that does not
	// answer it. If it refuses a cancel too, the question waits as before. Any other backend goes
	// on without its answer.
	holds bool
}

// A complaint is how a RUN_ERROR is known: by its code, or by its text if the backend gives no
// code. An empty field demands nothing.
type complaint struct{ code, begins, holds string }

func (c complaint) fits(ev agui.Event) bool {
	text := ev.Get("message").Str
	return (c.code == "" || c.code == ev.Get("code").Str) && strings.HasPrefix(text, c.begins) && strings.Contains(text, c.holds)
}

func fits(list []complaint, ev agui.Event) bool {
	return slices.ContainsFunc(list, func(c complaint) bool { return c.fits(ev) })
}

// AG2 1.2.1 (RAN; ag2/ag_ui/interrupts.py serve_exchange). It begins a run only when it has taken
// the answers. A question that it does not hold is not an error there: it drops the answer.
var ofAG2 = complaints{
	nothing: []complaint{{code: "INTERRUPT_NOT_COVERED"}, {code: "INTERRUPT_NOT_PROVEN"}, {code: "INTERRUPT_PAYLOAD_REFUSED"}},
	early:   true, holds: true,
}

// pydantic-ai 2.0.0 and 2.68.0 (RAN: an empty history, results that are missing; the others READ).
// It gives no codes. It raises each of these before a tool runs: _agent_graph.py
// _handle_deferred_tool_results, _tool_execution.py, ui/ag_ui/_interrupt.py, ui/_adapter.py.
var ofPydanticAI = complaints{
	nothing: []complaint{
		{begins: "Tool call results were provided, but the message history "},
		{begins: "Tool call results need to be provided for all deferred tool calls."},
		{begins: "Tool call results cannot be matched unambiguously "},
		{begins: "Tool call ", holds: " was already executed and its result cannot be overridden."},
		{begins: "`ResumeEntry` payload for interrupt ", holds: " does not match the `responseSchema`"},
		{begins: "ResumeEntry.interrupt_id ", holds: " does not start with the expected "},
		{begins: "The conversation ", holds: "so this request did not run."},
	},
	lost:  []complaint{{begins: "The request answers ", holds: " that the stored conversation is not waiting on: "}},
	early: true,
}

// Google ADK, ag-ui-adk 0.11.0 (RAN; adk_agent.py run, _check_interrupt_resume). It looks at the
// answers before RUN_STARTED.
var ofADK = complaints{
	nothing: []complaint{{code: "INTERRUPT_RESUME_REQUIRED"}, {code: "INTERRUPT_RESUME_INCOMPLETE"}, {code: "SESSION_LOOKUP_ERROR"}},
	lost:    []complaint{{code: "UNKNOWN_INTERRUPT"}},
	early:   true, holds: true,
}

// CrewAI, ag-ui-crewai 1.0.0 (RAN; endpoint.py), and 0.3.0 (READ). The collapse is that of the
// person's words onto the question's options, by a model. The step that asked fails then, and
// nothing behind it runs. The other two are raised before the flow is loaded (READ).
var ofCrewAI = complaints{
	nothing: []complaint{{code: "AGUI_CREWAI_RESUME_UNSUPPORTED"}, {code: "AGUI_CREWAI_CONVERSATION_THREAD_BUSY"}},
	stepped: []complaint{{code: "AGUI_CREWAI_FLOW_ERROR_HUMANFEEDBACKCOLLAPSEERROR"}},
	lost:    []complaint{{code: "AGUI_CREWAI_NO_PENDING_FEEDBACK"}},
}

// Mastra, @ag-ui/mastra 1.1.2 with @mastra/core 1.71.0 (RAN). The text is the core's.
var ofMastra = complaints{
	lost: []complaint{{holds: "could not find a suspended run"}},
}

// ag-ui-claude-sdk 0.2.3 (READ recovery.py and adapter.py run). It gives no codes, and raises all
// of these before RUN_STARTED.
var ofClaude = complaints{
	lost:  []complaint{{begins: "No saved SDK deferral matches this approval"}},
	early: true,
}

// TanStack AI, @tanstack/ai 0.58.0 (RAN: an empty history; the others READ,
// activities/chat/index.ts applyEphemeralInterruptResume). It judges all answers before a tool
// runs, and gives the code of the first fault.
var ofTanStack = complaints{
	nothing: []complaint{
		{code: "invalid-payload"}, {code: "invalid-edited-args"}, {code: "invalid-tool-output"}, {code: "invalid-response-schema"},
		{code: "conflict"}, {code: "incomplete-batch"},
	},
	lost: []complaint{{code: "unknown-interrupt"}, {code: "stale"}, {code: "expired"}},
}

// endRefused returns the result of a resume that ended in RUN_ERROR. A Holdpoint behind this one
// says that its own backend lost the question. Some codes are those of several backends, which
// check the answers first: the integrations for Strands (integrations/aws-strands) and for
// Microsoft Agent Framework (issue 7570).
func (run *run) endRefused(ev agui.Event) translate.Result {
	res := translate.Result{Finish: ev}
	code := agui.Code(ev.Get("code").Str)
	said := run.complaints()
	switch {
	case code == agui.BackendLostInterrupt:
		return translate.Result{Fate: translate.Lost}
	case run.cancelsLost(code):
		return translate.Result{Fate: translate.Lost} // it is called otherwise, and nobody knows how
	case !run.worked && fits(said.stepped, ev):
		res.Fate = translate.Untouched
	case run.streamed:
	case fits(said.lost, ev), code == agui.UnknownInterruptID, code == "APPROVAL_RESUME_NOT_FOUND":
		return translate.Result{Fate: translate.Lost}
	case fits(said.nothing, ev), said.early && !run.started, slices.Contains(checkedFirst, code):
		res.Fate = translate.Untouched
	}
	if res.Fate == translate.Untouched && onlyCancels(run.left) && !said.holds && !slices.Contains(checkedFirst, code) {
		res.Fate = translate.Finished // nothing was approved, and the thread can go on
	}
	return res
}

// checkedFirst are codes which say that nothing was done.
var checkedFirst = []agui.Code{
	agui.InvalidPayload, agui.PartialResume, agui.ThreadBusy,
	"APPROVAL_RESUME_INVALID", "APPROVAL_RESUME_INVALID_RESPONSE", "APPROVAL_RESUME_MISSING_INTERRUPT",
	"WORKFLOW_RESUME_INVALID", "WORKFLOW_RESUME_INVALID_RESPONSE", "WORKFLOW_RESUME_MISSING_INTERRUPT",
}

// complaints returns those of the backend that asked. As far as is known, all questions of a pause
// are one backend's.
func (run *run) complaints() complaints {
	for n := range run.left.Pause.Interrupts {
		if said := profileOfInterrupt(&run.left.Pause.Interrupts[n]).errors; said != nil {
			return *said
		}
	}
	return complaints{}
}

// cancelsLost reports whether a lost question was cancelled, and the backend still waits.
func (run *run) cancelsLost(code agui.Code) bool {
	question, isLost := lostStateOf(&run.left.Pause.Interrupts[0])
	return isLost && (code == waiters[question.Of].refusal || code == "INTERRUPT_RESUME_INCOMPLETE")
}

func onlyCancels(r *translate.Request) bool {
	return !slices.ContainsFunc(r.Answers, func(a agui.Answer) bool { return a.Status != agui.Cancelled })
}
