package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Draft is a backend of AG-UI's draft of interrupts (ag-ui docs/drafts/interrupts.mdx). If List
// is set, it follows v1.5 (to 2026-04-30), otherwise v1 (2025-09-23 to 2026-04-22). It stores its
// open questions by thread. It parses its input as strictly as a typed server: it responds with
// HTTP 422 to a resume of the other version, and, if Strict is set, to an unknown key.
type Draft struct {
	List      bool // v1.5: interrupts and resume are arrays; in v1 each is one object
	NoID      bool
	NoReason  bool
	NoOutcome bool   // an event with an interrupt has no outcome
	NoSuccess bool   // the event of an ordinary end has no outcome
	Payload   string // v1 only: Proposal, Function or Prompt
	Calls     bool   // the tool call is streamed before its question
	Strict    bool   // an unknown key is refused
}

// The values of Draft.Payload: the forms that the payload of a v1 interrupt may have.
const (
	Proposal = "proposal" // the form of the draft itself
	Function = "function" // the form of .NET's plan for an approval
	Prompt   = "prompt"   // the form of .NET's plan for any other input
)

// A question is an open question of a Draft.
type question struct {
	id, call string
	what     string   // the argument of the call, if the question is about an approval
	scene    []string // the words of the message that selected the scene
	turn     int
}

type memory struct {
	sync.Mutex
	open map[string][]question // by thread
}

// New returns a server that follows the draft.
func (d Draft) New(l *Ledger) *Server {
	kept := &memory{open: map[string][]question{}}
	return newServer(l, func(w http.ResponseWriter, body []byte) {
		kept.Lock()
		defer kept.Unlock()
		run := &draftRun{Draft: d, l: l, kept: kept, s: &stream{w: w, encode: text}}
		if reason := run.parse(body); reason != "" {
			l.complain(run.in.ThreadID, reason)
			w.WriteHeader(http.StatusUnprocessableEntity)
			w.Write(text(obj("detail", reason)))
			return
		}
		run.answer()
	})
}

type draftInput struct {
	ThreadID string
	RunID    string
	Messages []inputMessage
	Resume   json.RawMessage
}

type draftAnswer struct {
	InterruptID *string
	Status      string
	Payload     json.RawMessage
}

type draftRun struct {
	Draft
	l       *Ledger
	kept    *memory
	s       *stream
	in      draftInput
	resumes bool
	answers []draftAnswer
}

var draftKeys = []string{"threadId", "runId", "parentRunId", "state", "messages", "tools", "context", "forwardedProps", "resume"}

// parse parses the body. It returns the reason why the body is invalid, or "".
func (r *draftRun) parse(body []byte) string {
	if err := json.Unmarshal(body, &r.in); err != nil {
		return err.Error()
	}
	if reason := r.extra(body, draftKeys); reason != "" {
		return reason
	}
	if r.in.Resume == nil {
		return ""
	}
	r.resumes = true
	var entries []json.RawMessage
	err := json.Unmarshal(r.in.Resume, &entries)
	switch {
	case r.List && err != nil:
		return "resume: Input should be a valid list"
	case !r.List && (err == nil || !strings.HasPrefix(string(r.in.Resume), "{")):
		return "resume: Input should be a valid dictionary"
	case !r.List:
		entries = []json.RawMessage{r.in.Resume}
	}
	keys := map[bool][]string{true: {"interruptId", "status", "payload"}, false: {"interruptId", "payload"}}[r.List]
	for _, e := range entries {
		var a draftAnswer
		if err := json.Unmarshal(e, &a); err != nil {
			return "resume: " + err.Error()
		}
		if reason := r.extra(e, keys); reason != "" {
			return "resume." + reason
		}
		if r.List && a.Status != "resolved" && a.Status != "cancelled" {
			return "resume.status: Input should be 'resolved' or 'cancelled'"
		}
		r.answers = append(r.answers, a)
	}
	return ""
}

func (r *draftRun) extra(object []byte, known []string) string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return err.Error()
	}
	for key := range members {
		if r.Strict && !slices.Contains(known, key) {
			return key + ": Extra inputs are not permitted"
		}
	}
	return ""
}

func (r *draftRun) answer() {
	thread := r.in.ThreadID
	r.s.send(obj("type", "RUN_STARTED", "threadId", thread, "runId", r.in.RunID))
	open := r.kept.open[thread]
	delete(r.kept.open, thread)
	if r.resumes {
		results, err := r.resume(open)
		if err != nil {
			r.kept.open[thread] = open
			r.fail(err)
			return
		}
		last := open[0]
		if n, _ := strconv.Atoi(last.scene[1:][0]); last.scene[0] == "chain" && last.turn < n {
			r.pause(last.scene, last.turn+1)
			return
		}
		r.say("Done: ", strings.Join(results, " | "))
		r.success()
		return
	}
	if err := r.historyTaken(); err != nil {
		r.fail(err)
		return
	}
	words := []string{"nothing"}
	for _, m := range r.in.Messages {
		if said := strings.Fields(m.text()); m.Role == "user" && len(said) > 0 {
			words = said
		}
	}
	switch words[0] {
	case "approve", "chain":
		r.pause(words, 1)
	case "fail":
		r.say("Let me")
		r.fail(fmt.Errorf("kaput"))
	default:
		r.say("echo: ", strings.Join(words, " "))
		r.success()
	}
}

// historyTaken checks the history of a run that begins with a message of the person. It returns an
// error if a model provider would refuse the history.
func (r *draftRun) historyTaken() error {
	messages, err := input{Messages: r.in.Messages}.chatMessages(reading{coalesce: true, reasoning: true})
	if err == nil {
		err = providerTakes(messages)
	}
	return err
}

func (r *draftRun) fail(err error) {
	r.l.complain(r.in.ThreadID, err.Error())
	r.s.send(obj("type", "RUN_ERROR", "message", err.Error(), "code", "kaput"))
}

func (r *draftRun) say(parts ...string) {
	id := "msg-" + guid()[:12]
	r.s.send(obj("type", "TEXT_MESSAGE_START", "messageId", id, "role", "assistant"))
	for _, p := range parts {
		r.s.send(obj("type", "TEXT_MESSAGE_CONTENT", "messageId", id, "delta", p))
	}
	r.s.send(obj("type", "TEXT_MESSAGE_END", "messageId", id))
}

func (r *draftRun) finish(list ...any) {
	r.s.send(obj("type", "RUN_FINISHED", "threadId", r.in.ThreadID, "runId", r.in.RunID).With(list...))
}

func (r *draftRun) success() {
	if r.NoSuccess {
		r.finish()
	} else {
		r.finish("outcome", "success", "result", obj("ok", true))
	}
}

// pause ends the run with a question for each action that needs an approval. In v1 it asks one
// question for all these actions.
func (r *draftRun) pause(words []string, turn int) {
	things := words[1:]
	if words[0] == "chain" {
		things = []string{fmt.Sprintf("%s.%d", words[2], turn)}
	}
	r.say("May I?")
	var asked []object
	for _, what := range things {
		q := question{id: "int-" + guid()[:8], call: "call_" + guid()[:16], what: what, scene: words, turn: turn}
		if r.Payload == Function {
			q.id = q.call
		}
		if r.Calls {
			r.s.send(obj("type", "TOOL_CALL_START", "toolCallId", q.call, "toolCallName", gatedTool, "parentMessageId", "ai-"+q.call))
			r.s.send(obj("type", "TOOL_CALL_ARGS", "toolCallId", q.call, "delta", string(arguments(what))))
			r.s.send(obj("type", "TOOL_CALL_END", "toolCallId", q.call))
		}
		r.kept.open[r.in.ThreadID] = append(r.kept.open[r.in.ThreadID], q)
		asked = append(asked, r.interrupt(q))
	}
	var end []any
	if !r.NoOutcome {
		end = append(end, "outcome", "interrupt")
	}
	if r.List {
		end = append(end, "interrupts", asked)
	} else {
		end = append(end, "interrupt", asked[0])
	}
	r.finish(end...)
}

func (r *draftRun) interrupt(q question) object {
	var i object
	if !r.NoID {
		i = i.With("id", q.id)
	}
	if !r.NoReason {
		i = i.With("reason", "human_approval")
	}
	if r.List {
		i = i.With("message", "Approve "+q.what+"?")
		if r.Calls {
			i = i.With("toolCallId", q.call)
		}
		return i
	}
	switch r.Payload {
	case Function:
		return i.With("payload", obj("functionName", gatedTool, "functionArguments", json.RawMessage(arguments(q.what))))
	case Prompt:
		return i.With("payload", obj("prompt", "Please provide your email address", "inputType", "email"))
	}
	return i.With("payload", obj("proposal", obj("tool", gatedTool, "args", json.RawMessage(arguments(q.what)))))
}

func arguments(what string) []byte { return text(obj("expenseReportId", what)) }

// resume applies the answers to the open questions, and returns the results. In v1.5 it returns an
// error unless there is exactly one answer for each open question. In v1 one answer is for all of
// them.
func (r *draftRun) resume(open []question) (results []string, err error) {
	if len(open) == 0 {
		return nil, fmt.Errorf("no interrupt is open")
	}
	if r.List && len(r.answers) != len(open) {
		return nil, fmt.Errorf("%d answers for %d interrupts", len(r.answers), len(open))
	}
	for n, q := range open {
		if !r.List && n > 0 {
			break // v1: one answer is for all open questions
		}
		at := n
		if !r.NoID {
			at = slices.IndexFunc(r.answers, func(a draftAnswer) bool { return a.InterruptID != nil && *a.InterruptID == q.id })
		}
		if at < 0 || r.NoID && r.answers[at].InterruptID != nil {
			return nil, fmt.Errorf("the answer names another interrupt")
		}
		result, err := r.decide(q, r.answers[at])
		if err != nil {
			return nil, err
		}
		if r.Calls {
			r.s.send(obj("type", "TOOL_CALL_RESULT", "messageId", "res-"+q.call, "toolCallId", q.call, "content", result, "role", "tool"))
		}
		results = append(results, result)
	}
	return results, nil
}

func (r *draftRun) decide(q question, a draftAnswer) (string, error) {
	var payload struct {
		Approved, Cancelled *bool
	}
	_ = json.Unmarshal(a.Payload, &payload) // the error does not matter: an answer may be any JSON
	switch {
	case a.Status == "cancelled":
		return "cancelled", nil
	case !r.List && r.Payload == Prompt && payload.Cancelled == nil:
		r.l.execute(r.in.ThreadID, "answer "+string(a.Payload))
		return string(a.Payload), nil
	case r.Payload == Function && payload.Approved == nil:
		return "", fmt.Errorf("the payload is no approval")
	case payload.Approved != nil && *payload.Approved:
		r.l.execute(r.in.ThreadID, q.what)
		return q.what + " approved", nil
	}
	return q.what + " not approved", nil
}
