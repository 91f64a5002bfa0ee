package scripted

import (
	"encoding/json"
	"strings"
	"sync"
)

// confirmPort is the RequestPort of the workflow here. A question is a call of that name.
const confirmPort = "ConfirmDelete"

// Workflow returns a server of the line whose agent is a workflow with a RequestPort, and which
// keeps a session for each thread. Its clients send new messages only. A tool message on an open
// question answers it, and only a text does. Any other message goes to the workflow's first
// executor, which takes its turn then (agent-framework
// dotnet/src/Microsoft.Agents.AI.Workflows/WorkflowSession.cs). This executor asks for each message
// "delete P", and answers any other message of a person with an echo.
//
// It complains of each message that a session is sent twice.
func (l Line) Workflow(ledger *Ledger) *Server {
	return l.serving(ledger, of("workflow"), newWorkflow(ledger, false).run)
}

// AgentInWorkflow returns the same with an agent as the first executor, whose tool delete_file
// needs an approval. The host tells each question twice: under the agent's id, and under one of the
// workflow's that ends with it. An answer to the second alone runs the call, or denies it. If both
// are answered nothing runs, and the run ends as if all was well. Both were seen on line head. What
// an answer to the first alone does was not, and the host here complains of it.
func (l Line) AgentInWorkflow(ledger *Ledger) *Server {
	return l.serving(ledger, of("workflow"), newWorkflow(ledger, true).run)
}

type workflow struct {
	*Ledger
	agent    bool // asks as AgentInWorkflow, else by the port
	mu       sync.Mutex
	sessions map[string]*workflowSession
}

func newWorkflow(l *Ledger, agent bool) *workflow {
	return &workflow{Ledger: l, agent: agent, sessions: map[string]*workflowSession{}}
}

// A workflowSession is what is kept of a thread.
type workflowSession struct {
	seen    map[string]bool          // the ids of the messages that came
	pending map[string]*functionCall // what waits to be deleted, by the question
}

// An input of one run, sorted as WorkflowSession does it.
type workflowInput struct {
	said     []string
	answered []string          // questions that wait
	answers  map[string]string // by them: yes, or something else
	first    map[string]bool   // the calls that were answered under the agent's id
}

// run is WorkflowSession.InvokeStageAsync.
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
					continue // a message like any other, and this executor makes nothing of it
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

// answered does what an answer says, and tells it: an agent by the call and its result, a port by
// what the workflow says then.
func (w *workflow) answered(thread string, call *functionCall, approved bool, yield func(*update)) {
	var args struct{ Path string }
	_ = json.Unmarshal(call.args, &args) // the workflow has made them
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

// asks asks whether a file may be deleted.
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
