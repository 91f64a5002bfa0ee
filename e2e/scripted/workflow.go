package scripted

import (
	"encoding/json"
	"strings"
	"sync"
)

// confirmPort is the name of the workflow's RequestPort. A question is a call with this name.
const confirmPort = "ConfirmDelete"

// Workflow returns a server of this line. Its agent is a workflow with a RequestPort
// (agent-framework dotnet/src/Microsoft.Agents.AI.Workflows/WorkflowSession.cs). The server stores
// a session for each thread, and its clients send only new messages.
//
// A tool message with the id of an open question answers this question with its text. Any other
// message starts a turn of the workflow's first executor. For a person's message "delete P", this
// executor asks a question. It repeats every other message of a person.
//
// The server complains about each message that a session gets twice.
func (l Line) Workflow(ledger *Ledger) *Server {
	return l.serving(ledger, of("workflow"), newWorkflow(ledger, false).run)
}

// AgentInWorkflow returns the same server as Workflow, but its first executor is an agent whose
// tool delete_file needs an approval.
//
// The host sends each question twice: first under the id that the agent gave it, then under a
// longer id of the workflow, which ends with the agent's id. If only the longer id is answered, the
// call runs or is denied. If both ids are answered, nothing runs, and the run ends normally. Both
// facts were observed with line head. It was not observed what happens if only the agent's id is
// answered, so this server complains about it.
func (l Line) AgentInWorkflow(ledger *Ledger) *Server {
	return l.serving(ledger, of("workflow"), newWorkflow(ledger, true).run)
}

type workflow struct {
	*Ledger
	agent    bool // asks as described at AgentInWorkflow; otherwise asks by the port
	mu       sync.Mutex
	sessions map[string]*workflowSession
}

func newWorkflow(l *Ledger, agent bool) *workflow {
	return &workflow{Ledger: l, agent: agent, sessions: map[string]*workflowSession{}}
}

// A workflowSession is the stored state of a thread.
type workflowSession struct {
	seen    map[string]bool          // ids of the messages that the session got
	pending map[string]*functionCall // calls that wait for an answer, by the id of the question
}

// A workflowInput is the input of one run, sorted as WorkflowSession does.
type workflowInput struct {
	said     []string
	answered []string          // ids of the open questions that were answered
	answers  map[string]string // "yes" or another text, by the id of the question
	first    map[string]bool   // ids of the calls that were answered under the agent's id
}

// run is a port of WorkflowSession.InvokeStageAsync.
func (w *workflow) run(in input, messages []*chatMessage, yield func(*update)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	thread := *in.ThreadID
	session := w.sessions[thread]
	if session == nil {
		session = &workflowSession{map[string]bool{}, map[string]*functionCall{}}
		w.sessions[thread] = session
	}
	came, err := w.sorted(thread, session, messages)
	if err != nil {
		return err
	}
	for _, id := range came.answered {
		call := session.pending[id]
		delete(session.pending, id)
		if came.first[call.id] {
			continue
		}
		w.answered(thread, call, came.answers[id] == "yes", yield)
	}
	for _, words := range came.said {
		path, asks := strings.CutPrefix(words, "delete ")
		if !asks {
			yield(workflowUpdate(textContent{"echo: " + words}))
			continue
		}
		w.asks(session, path, yield)
	}
	return nil
}

func (w *workflow) sorted(thread string, session *workflowSession, messages []*chatMessage) (workflowInput, error) {
	came := workflowInput{answers: map[string]string{}, first: map[string]bool{}}
	answer := func(id, says string) {
		came.answers[id] = says
		came.answered = append(came.answered, id)
	}
	for _, m := range messages {
		if m.id != nil && session.seen[*m.id] {
			w.complain(thread, "the session was sent the message "+*m.id+" twice")
		} else if m.id != nil {
			session.seen[*m.id] = true
		}
		for _, c := range *m.contents {
			switch c := c.(type) {
			case functionResult:
				if session.pending[c.callID] == nil {
					continue // an ordinary message; this executor ignores it
				}
				says, isText := c.value.(string)
				if !isText {
					return came, throw("InvalidOperationException", "Unexpected result type in FunctionResultContent System.Text.Json.JsonElement; expecting System.String")
				}
				answer(c.callID, says)
			case *toolApprovalResponse:
				switch {
				case session.pending[c.id] == nil:
					came.first[c.call.id] = true
				case c.approved:
					answer(c.id, "yes")
				default:
					answer(c.id, "no")
				}
			case textContent:
				if m.role == "user" {
					came.said = append(came.said, c.text)
				}
			}
		}
	}
	if len(came.first) > 0 && len(came.answered) == 0 {
		w.complain(thread, "nobody has seen what an answer under the agent's id alone does")
	}
	return came, nil
}

// answered carries out an answer and yields the result. If an agent asked, it yields the call and
// the result of the tool. Then, and also if the port asked, it yields a message of the workflow.
func (w *workflow) answered(thread string, call *functionCall, approved bool, yield func(*update)) {
	var args struct{ Path string }
	_ = json.Unmarshal(call.args, &args) // always valid: the workflow itself has made the arguments
	outcome := "kept " + args.Path
	if approved {
		w.execute(thread, "delete "+args.Path)
		outcome = "deleted " + args.Path
	}
	if w.agent {
		done := *call
		done.informational = true
		yield(workflowUpdate(&done))
		result := workflowUpdate(functionResult{call.id, outcome})
		result.role = "tool"
		yield(result)
	}
	yield(workflowUpdate(textContent{outcome}))
}

// asks yields the question whether the file path may be deleted.
func (w *workflow) asks(session *workflowSession, path string, yield func(*update)) {
	if w.agent {
		call := newCall("delete_file", text(obj("path", path)))
		inner := meai105.prefix + call.id
		outer := "48:inner_" + guid() + "_UserInput:" + inner
		session.pending[outer] = call
		for _, id := range []string{inner, outer} {
			yield(workflowUpdate(&toolApprovalRequest{id, call, true}))
		}
		return
	}
	id := guid()
	session.pending[id] = &functionCall{id: id, args: text(obj("path", path))}
	value := obj("typeId", obj("assemblyName", "Sample, Version=1.0.0.0, Culture=neutral, PublicKeyToken=null", "typeName", "Sample.DeleteRequest"), "value", obj("path", path))
	yield(workflowUpdate(&functionCall{id: id, name: confirmPort, args: text(obj("data", value))}))
}

func workflowUpdate(c content) *update {
	return &update{role: "assistant", contents: []content{c}, responseID: of(guid()), message: of(guid())}
}
