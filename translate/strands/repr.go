package strands

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/aguiwriter"
	"holdpoint/translate/strands/internal/pyliteral"
)

// readPrefixes are the beginnings of the reprs that Holdpoint reads. If AgentCore cannot serialise
// an event, it sends json.dumps(str(event)), which is the repr of a dict as a JSON string. Most of
// these reprs only repeat a JSON frame, because prepare() puts the Agent into every event with a
// delta. Holdpoint skips them. It reads the reprs with these beginnings because no other frame has
// their content.
var readPrefixes = []string{
	`{'result': `,                          // the end, nearly always a repr
	`{'type': 'multiagent_result'`,         // the end of a graph or a swarm, always a repr
	`{'type': 'multiagent_node_stop'`,      // always a repr
	`{'type': 'multiagent_node_interrupt'`, // if a reason is not JSON
	`{'tool_interrupt_event': `,            // if a reason is not JSON
	`{'message': {'role': 'user'`,          // a tool result with a picture
	`[{'id': `,                             // str(AgentResult) of an agent that asks
	`[{\"id\":\"`,                          // toString() in TypeScript of an agent that asks
	`AgentResult(`,                         // the repr of AgentResult
}

// nodePrefixes are the beginnings of those events of a node that Holdpoint reads.
var nodePrefixes = []string{`'event': {'tool_interrupt_event': `, `'event': {'message': {'role': 'user'`, `'event': {'type': 'multiagent_node_`}

// nodeHead is how many bytes at the beginning of a node's frame are searched for nodePrefixes. Only
// the node_id precedes the event.
const nodeHead = 512

// text handles a frame that is a JSON string.
func (run *run) text(data []byte, emit func(agui.Event)) {
	inside := data[1:]
	switch {
	case worthReading(inside):
		if s := gjson.ParseBytes(data); agui.ValidJSON(data) && s.Type == gjson.String {
			run.repr(s.String(), "", 0, emit)
		}
	case bytes.HasPrefix(inside, []byte("{'")):
	case run.d.server.Text:
		if agui.ValidJSON(data) {
			run.lane("", emit).sendText(string(data))
		}
	default:
		run.sawString = true
	}
}

func worthReading(s []byte) bool {
	for _, p := range readPrefixes {
		if bytes.HasPrefix(s, []byte(p)) {
			return true
		}
	}
	if bytes.HasPrefix(s, []byte(`{'type': 'multiagent_node_stream'`)) {
		s = s[:min(len(s), nodeHead)]
		for _, p := range nodePrefixes {
			if bytes.Contains(s, []byte(p)) {
				return true
			}
		}
	}
	return false
}

// repr handles the repr of an event. It skips a repr that cannot be parsed. But if that is the
// result of a graph, the result may have a question, so the run ends like a run that asks.
func (run *run) repr(s, path string, depth int, emit func(agui.Event)) {
	if l := run.lane(path, emit); !strings.HasPrefix(s, "{") {
		if !run.readRepr(s, l) && run.d.server.Text {
			l.sendText(aguiwriter.Quoted(s))
		}
		return
	}
	if rest, ok := strings.CutPrefix(s, `{'result': `); ok && depth == 0 {
		run.readRepr(strings.TrimSuffix(rest, "}"), run.lane(path, emit))
		return
	}
	m, err := members(s, "type", "node_id", "event", "result", "interrupts", "tool_interrupt_event", "message")
	if err != nil {
		if strings.HasPrefix(s, `{'type': 'multiagent_result'`) && depth == 0 {
			run.noteStop(interrupted) // the result may have a question
		}
		return
	}
	kind, _ := pyliteral.Str(m["type"])
	node, _ := pyliteral.Str(m["node_id"])
	switch kind {
	case "multiagent_result":
		if depth == 0 {
			run.readRepr(m["result"], run.lane(path, emit))
		}
	case "multiagent_node_stop":
		run.endStep(isWithin(path, node), emit)
	case "multiagent_node_interrupt":
		run.asksForRepr(gjson.Result{}, m["interrupts"], isWithin(path, node))
	case "multiagent_node_stream":
		if depth < maxNesting {
			run.repr(m["event"], isWithin(path, node), depth+1, emit)
		}
	case "":
		run.toolAsks(m["tool_interrupt_event"], path)
		if b, err := pyliteral.JSON(m["message"]); err == nil {
			run.message(gjson.ParseBytes(b), run.lane(path, emit))
		}
	}
}

var errTwice = errors.New(textNameTwice)

// members returns the members of a dict or a call that have one of the names, keyed by name. It
// parses the whole text first, because only then it is certain which parts are syntax and which are
// inside a string.
func members(s string, names ...string) (map[string]string, error) {
	m := map[string]string{}
	err := pyliteral.Each(s, func(key, value string) error {
		if !slices.Contains(names, key) {
			return nil
		}
		if _, twice := m[key]; twice {
			return errTwice
		}
		m[key] = value
		return nil
	})
	return m, err
}

// toolAsks handles the repr of the value of tool_interrupt_event: {'tool_use': {...}, 'interrupts':
// [Interrupt(...)]}.
func (run *run) toolAsks(value, path string) {
	m, err := members(value, "tool_use", "interrupts")
	if err != nil {
		return
	}
	var use gjson.Result
	if b, err := pyliteral.JSON(m["tool_use"]); err == nil {
		use = gjson.ParseBytes(b)
	}
	run.asksForRepr(use, m["interrupts"], path)
}

// readRepr handles the str or the repr of an agent's result. It returns false if the string is
// plain text.
func (run *run) readRepr(s string, l *lane) bool {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, `[{"id":"`) {
		return run.readToString(s)
	}
	if strings.HasPrefix(s, "[{'id': ") {
		if !run.readStr(s) {
			return false
		}
		run.noteStop(interrupted)
		return true
	}
	name, rest, ok := strings.Cut(s[:min(len(s), 64)], "(")
	if !ok || !slices.Contains([]string{"AgentResult", "GraphResult", "SwarmResult", "MultiAgentResult"}, name) {
		return false
	}
	if reason := head(rest); reason != "" && reason != interrupted && reason != failedStatus && !run.isMissed() {
		run.noteStop(reason)
	} else {
		run.readResult(s, reason, l)
	}
	return true
}

// head returns the stop reason in the first argument of a result's repr, or "" if the first
// argument is not a stop reason.
func head(arguments string) string {
	if rest, ok := strings.CutPrefix(arguments, "stop_reason='"); ok {
		reason, _, _ := strings.Cut(rest, "'")
		return reason
	}
	if rest, ok := strings.CutPrefix(arguments, "status=<Status."); ok {
		status, _, _ := strings.Cut(rest, ":")
		return reasonOf(status)
	}
	return ""
}

// readResult parses the whole repr of an AgentResult, GraphResult or SwarmResult. reason is the
// stop reason that head found.
func (run *run) readResult(s, reason string, l *lane) {
	args, err := members(s, "message", "interrupts", "results")
	if err != nil || reason == "" {
		run.noteStop(cmp.Or(reason, interrupted)) // a result that cannot be parsed may have questions
		return
	}
	// If an answer is for an unknown question, a swarm itself reports no error. The result of its
	// node has the error.
	run.lostPause = run.resumed != nil && run.idle() && reason == failedStatus && strings.Contains(args["results"], "=ValueError(") && isLost(args["results"])
	if reason == interrupted {
		run.noteStop(interrupted)
		run.asksForRepr(gjson.Result{}, args["interrupts"], "")
		return
	}
	if m, err := pyliteral.JSON(args["message"]); err == nil && run.isMissed() {
		run.message(gjson.ParseBytes(m), l)
	}
	run.noteStop(reason)
}

// readStr handles the str of an AgentResult that asks. It returns false if the list does not
// contain interrupts.
func (run *run) readStr(s string) bool {
	list, err := readInterrupts(s)
	for _, q := range list {
		if !strings.HasPrefix(q.id, "v1:") {
			return false
		}
		run.questions.add(q)
	}
	return err == nil || strings.HasPrefix(s, "[{'id': 'v1:")
}

// readToString handles the text that AgentResult.toString() in TypeScript returns if the agent
// asks. It returns false for any other text.
func (run *run) readToString(s string) bool {
	if !agui.ValidJSON([]byte(s)) {
		return false
	}
	list := gjson.Parse(s)
	for _, v := range list.Array() {
		if v.Get("source").Type != gjson.String || v.Get("name").Type != gjson.String {
			return false
		}
	}
	run.asksFor(gjson.Result{}, list, "")
	run.noteStop(interrupted)
	return true
}

// asksForRepr handles the repr of a list of interrupts. use and node are as in ask.
func (run *run) asksForRepr(use gjson.Result, list, node string) {
	questions, err := readInterrupts(list)
	if err != nil {
		return
	}
	for _, q := range questions {
		run.ask(q, use, node)
	}
}

// readInterrupts reads a list of interrupts. If it cannot read one of them, it returns an error and
// no interrupts.
func readInterrupts(s string) ([]question, error) {
	var list []question
	err := pyliteral.Each(s, func(_, value string) error {
		if len(list) > maxQuestions {
			return errNoInterrupt
		}
		q, err := readInterrupt(value)
		list = append(list, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

var errNoInterrupt = errors.New(textNoInterrupt)

// readInterrupt reads the repr of an interrupt: Interrupt(id='..', name='..', reason=..,
// response=None), or a dict with the same members.
func readInterrupt(s string) (q question, err error) {
	m, err := members(s, "id", "name", "reason")
	if err != nil {
		return q, err
	}
	if q.id, err = pyliteral.Str(m["id"]); err != nil || q.id == "" {
		return q, errNoInterrupt
	}
	if q.name, err = pyliteral.Str(m["name"]); err != nil {
		return q, err
	}
	reason, err := pyliteral.JSON(m["reason"])
	if err == nil && string(reason) != "null" {
		q.reason = reason
	}
	return q, nil
}
