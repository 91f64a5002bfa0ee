package strands

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// private is what an interrupt keeps for its answer.
type private struct {
	Name string `json:"name"`
	Kind kind   `json:"kind"`
}

// approval is the schema of an answer to a hook that stands before a call.
const approval = `{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`

const toolCall = "tool_call"

// publish makes the interrupts that the client sees.
func (run *run) publish() []agui.Interrupt {
	calls := map[string]string{}
	if run.r.Transcript != nil {
		for _, c := range run.r.Transcript.Calls() {
			calls[c.ID] = c.Name
		}
	}
	more := run.more()
	var list []agui.Interrupt
	for _, q := range run.questions.list {
		k, _, _ := about(q.id)
		list = append(list, agui.Interrupt{
			Native:  q.id,
			Object:  run.d.publish(q, calls, more),
			Private: agui.MustMarshal(private{q.name, k}),
		})
	}
	return list
}

// publish is the AG-UI Interrupt for a question, without its id. calls are the calls that the client has seen, by their ids.
func (d *Dialect) publish(q question, calls map[string]string, more bool) json.RawMessage {
	_, callID, before := about(q.id)
	if q.callID != "" {
		callID = q.callID // the outer call, which is the visible one
	}
	tool, seen := calls[callID]
	if !seen || callID == "" {
		callID = ""
	}
	if q.tool != "" {
		tool = q.tool
	}
	reason := d.reason(q, before && callID != "")
	o := []byte{'{'}
	o = addText(o, "reason", reason)
	if m := q.message(tool, reason == toolCall); m != "" {
		o = addText(o, "message", m)
	}
	if callID != "" {
		o = addText(o, "toolCallId", callID)
	}
	if schema := d.schemas.of(q.name); schema != "" {
		o = translate.AppendMember(o, `"responseSchema"`, schema)
	} else if before && callID != "" && d.forms.of(q.name).decides() {
		o = translate.AppendMember(o, `"responseSchema"`, approval)
	}
	o = translate.AppendMember(o, `"metadata"`, string(d.metadata(q, more)))
	return append(o, '}')
}

func addText(o []byte, key, s string) []byte {
	return translate.AppendMember(o, `"`+key+`"`, quoted(s))
}

// reason is tool_call where a hook stands before a call that the client knows, else <framework>:<name>, as AG-UI asks for.
func (d *Dialect) reason(q question, call bool) string {
	if s := d.reasons.of(q.name); s != "" && (call || s != toolCall) {
		return s
	}
	if call {
		return toolCall
	}
	if strings.HasPrefix(q.name, "strands:") {
		return q.name
	}
	return "strands:" + q.name
}

// message is what a person is asked: never a dump of JSON.
func (q question) message(tool string, call bool) string {
	reason := gjson.ParseBytes(q.reason)
	for _, v := range []gjson.Result{reason, reason.Get("message"), reason.Get("question"), reason.Get("prompt")} {
		if v.Type == gjson.String && v.Str != "" {
			return v.String()
		}
	}
	switch {
	case call && tool != "":
		return "Approve call to " + tool + "?"
	case q.node != "" && q.callID == "":
		return "The node " + agui.Cut(q.node) + " of the agent waits for an answer to " + agui.Cut(q.name) + "."
	}
	return "The agent waits for an answer to " + agui.Cut(q.name) + "."
}

// metadata is {"strands":{...}}, and the native reason beside it for the user interfaces that look for it there.
func (d *Dialect) metadata(q question, more bool) []byte {
	o := []byte{'{'}
	if q.reason != nil {
		o = translate.AppendMember(o, `"reason"`, string(q.reason))
	}
	o = addText(o, "id", q.id)
	o = addText(o, "name", q.name)
	for _, m := range []struct{ key, value string }{{"source", q.source}, {"node", q.node}, {"tool_name", q.tool}} {
		if m.value != "" {
			o = addText(o, m.key, m.value)
		}
	}
	if q.input != nil {
		o = translate.AppendMember(o, `"tool_input"`, string(q.input))
	}
	if more {
		o = translate.AppendMember(o, `"morePending"`, "true")
	}
	m := translate.AppendMember([]byte{'{'}, `"strands"`, string(append(o, '}')))
	if d.metadataReason && q.reason != nil {
		m = translate.AppendMember(m, `"reason"`, string(q.reason))
	}
	return append(m, '}')
}
