package scripted

import (
	"strings"
	"sync"
)

// confirmPort is the RequestPort of the workflow here. A question is a call of that name.
const confirmPort = "ConfirmDelete"

// Workflow returns a server of the line whose agent is a workflow with a RequestPort, and which
// keeps a session for each thread. It keeps the messages that it is sent, so its clients send new
// messages only. A tool message on an open question answers it, and only a text does. Any other
// message goes to the workflow's first executor, which takes its turn then (agent-framework
// dotnet/src/Microsoft.Agents.AI.Workflows/WorkflowSession.cs). This executor asks for each message
// "delete P", and answers any other message of a person with an echo.
//
// It complains of each message that a session is sent twice.
func (l Line) Workflow(ledger *Ledger) *Server {
	w := &workflow{Ledger: ledger, sessions: map[string]*workflowSession{}}
	return l.serving(ledger, of("workflow"), w.run)
}

type workflow struct {
	*Ledger
	mu       sync.Mutex
	sessions map[string]*workflowSession
}

// A workflowSession is what is kept of a thread.
type workflowSession struct {
	seen    map[string]bool   // the ids of the messages that came
	pending map[string]string // what waits to be deleted, by the question
}

// run is WorkflowSession.InvokeStageAsync.
func (w *workflow) run(in input, messages []*chatMessage, yield func(*update)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	thread := *in.ThreadID
	session := w.sessions[thread]
	if session == nil {
		session = &workflowSession{map[string]bool{}, map[string]string{}}
		w.sessions[thread] = session
	}
	var said []string
	answers := map[string]string{}
	var answered []string
	for _, m := range messages {
		if m.id != nil && session.seen[*m.id] {
			w.complain(thread, "the session was sent the message "+*m.id+" twice")
		} else if m.id != nil {
			session.seen[*m.id] = true
		}
		for _, c := range *m.contents {
			switch c := c.(type) {
			case functionResult:
				if session.pending[c.callID] == "" {
					continue // a message like any other, of which this executor makes nothing
				}
				answer, isText := c.value.(string)
				if !isText {
					return throw("InvalidOperationException", "Unexpected result type in FunctionResultContent System.Text.Json.JsonElement; expecting System.String")
				}
				answers[c.callID] = answer
				answered = append(answered, c.callID)
			case textContent:
				if m.role == "user" {
					said = append(said, c.text)
				}
			}
		}
	}
	for _, id := range answered {
		path := session.pending[id]
		delete(session.pending, id)
		outcome := "kept " + path
		if answers[id] == "yes" {
			w.execute(thread, "delete "+path)
			outcome = "deleted " + path
		}
		yield(workflowUpdate(textContent{outcome}))
	}
	for _, words := range said {
		path, asks := strings.CutPrefix(words, "delete ")
		if !asks {
			yield(workflowUpdate(textContent{"echo: " + words}))
			continue
		}
		id := guid()
		session.pending[id] = path
		value := obj("typeId", obj("assemblyName", "Sample, Version=1.0.0.0, Culture=neutral, PublicKeyToken=null", "typeName", "Sample.DeleteRequest"), "value", obj("path", path))
		yield(workflowUpdate(&functionCall{id: id, name: confirmPort, args: text(obj("data", value))}))
	}
	return nil
}

func workflowUpdate(c content) *update {
	return &update{role: "assistant", contents: []content{c}, responseID: of(guid()), message: of(guid())}
}
