package strands

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/aguiwriter"
	"holdpoint/translate/internal/strandsapi"
	"holdpoint/translate/kit"
)

// private is what Interrupt.Private stores as JSON: the name of the interrupt, and whether a tool
// itself asked. A tool can accept any answer, but a hook expects a string.
type private struct {
	Name string `json:"name"`
	Tool bool   `json:"tool,omitempty"`
}

const toolCall = "tool_call"

// callsAskedAbout returns a map from the id of each call that the client has to the name of its
// tool. If a question is about a call that the client does not have, before has the events of that
// call, and calls contains it too. An agent that is asked for its questions does not repeat their
// calls, and a client cannot show a question without its call.
func (run *run) callsAskedAbout() (calls map[string]string, before []agui.Event) {
	calls = map[string]string{}
	if run.r.Transcript != nil {
		for _, c := range run.r.Transcript.Calls() {
			calls[c.ID] = c.Name
		}
	}
	l := newLane(run, func(ev agui.Event) { before = append(before, ev) })
	for _, q := range run.questions.list {
		if q.callID == "" || q.tool == "" || calls[q.callID] != "" {
			continue
		}
		calls[q.callID] = q.tool
		l.begin(q.callID, q.tool)
		if q.input != nil {
			l.sendArguments(aguiwriter.Quoted(string(q.input)))
		}
		l.close()
	}
	return calls, before
}

// publish returns an interrupt for the client for each question. calls is as in callsAskedAbout.
func (run *run) publish(calls map[string]string) []agui.Interrupt {
	more := run.hasUnaskedCall()
	var list []agui.Interrupt
	for _, q := range run.questions.list {
		id, _ := strandsapi.ParseID(q.id)
		q.failedBefore = run.answeredBefore(q.id)
		list = append(list, agui.Interrupt{
			Native:  q.id,
			Object:  run.d.publish(q, id, calls, more),
			Private: agui.MustMarshal(private{q.name, id.Kind == strandsapi.FromTool}),
		})
	}
	return list
}

// publish returns the AG-UI Interrupt of a question, without its id. calls maps the ids of the
// calls that the client has to the names of their tools. more reports that another call waits
// without a question.
func (d *Dialect) publish(q question, id strandsapi.ID, calls map[string]string, more bool) json.RawMessage {
	callID := id.ToolUseID
	if q.callID != "" {
		callID = q.callID // the id of the outer call, which the client sees
	}
	tool := calls[callID]
	if tool == "" {
		callID, tool = "", q.tool
	}
	reason := strandsapi.Reason(id, q.name, callID)
	if r := d.rules.Reason(q.name); r != "" && (r != toolCall || callID != "") {
		reason = r
	}
	name := agui.Shorten(q.name)
	if !id.AsksForCall() {
		tool = ""
		if q.node != "" { // the hook of a graph uses one name for all nodes
			name += " (" + agui.Shorten(q.node) + ")"
		}
	}
	message := strandsapi.Message(gjson.ParseBytes(q.reason), tool, name)
	if q.failedBefore {
		message += textAnsweredBefore
	}
	o := kit.Question{Reason: reason, Message: message, Call: callID, Metadata: string(d.metadata(q, more))}
	rule, _ := d.rules.Answer(q.name)
	switch schema := d.rules.Schema(q.name); {
	case schema != nil:
		o.Schema = string(schema)
	case id.AsksForCall() && callID != "" && rule.Decides():
		o.Schema = kit.ApprovalSchema
	}
	return o.Object()
}

// metadata returns {"strands":{...}} with the reason that the hook or tool gave, and further facts
// about the question.
func (d *Dialect) metadata(q question, more bool) []byte {
	o := []byte{'{'}
	if q.reason != nil {
		o = kit.AppendMember(o, `"reason"`, string(q.reason))
	}
	o = kit.AppendText(o, "id", q.id)
	o = kit.AppendText(o, "name", q.name)
	for _, m := range []struct{ key, value string }{{"source", q.source}, {"node", q.node}, {"tool_name", q.tool}} {
		if m.value != "" {
			o = kit.AppendText(o, m.key, m.value)
		}
	}
	if q.input != nil {
		o = kit.AppendMember(o, `"tool_input"`, string(q.input))
	}
	if more {
		o = kit.AppendMember(o, `"morePending"`, "true")
	}
	m := kit.AppendMember([]byte{'{'}, `"strands"`, string(append(o, '}')))
	return append(m, '}')
}
