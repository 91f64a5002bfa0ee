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

// told are the beginnings of the reprs that are read. AgentCore sends what it cannot serialise as
// json.dumps(str(event)), which is the repr of a dict as a JSON string. Most of these repeat a
// frame that came as JSON, because prepare() puts the Agent into every event with a delta. Only the
// beginning of those is looked at. The reprs that begin like these are read, because nothing else
// carries what they say.
var told = []string{
	`{'result': `,                          // the end, nearly always
	`{'type': 'multiagent_result'`,         // the end of a graph or a swarm, always
	`{'type': 'multiagent_node_stop'`,      // always
	`{'type': 'multiagent_node_interrupt'`, // if a reason is not JSON
	`{'tool_interrupt_event': `,            // the same
	`{'message': {'role': 'user'`,          // a result with a picture
	`[{'id': `,                             // str(AgentResult) of one that asks
	`[{\"id\":\"`,                          // the same of TypeScript
	`AgentResult(`,                         // its repr
}

// inNode are the beginnings of the reprs of a graph's node that are read.
var inNode = []string{`'event': {'tool_interrupt_event': `, `'event': {'message': {'role': 'user'`, `'event': {'type': 'multiagent_node_`}

// nodeHead is how far into a node's frame they are looked for. The node_id stands before them.
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
			run.lane("", emit).say(string(data))
		}
	default:
		run.bare = true
	}
}

func worthReading(s []byte) bool {
	for _, p := range told {
		if bytes.HasPrefix(s, []byte(p)) {
			return true
		}
	}
	if bytes.HasPrefix(s, []byte(`{'type': 'multiagent_node_stream'`)) {
		s = s[:min(len(s), nodeHead)]
		for _, p := range inNode {
			if bytes.Contains(s, []byte(p)) {
				return true
			}
		}
	}
	return false
}

// repr handles the repr of an event. It passes over one that cannot be read, unless that is the end
// of a run that asks.
func (run *run) repr(s, path string, depth int, emit func(agui.Event)) {
	if l := run.lane(path, emit); !strings.HasPrefix(s, "{") {
		if !run.readRepr(s, l) && run.d.server.Text {
			l.say(aguiwriter.Quoted(s))
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
			run.noteStop(interrupted) // it may ask
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
		run.ends(within(path, node), emit)
	case "multiagent_node_interrupt":
		run.asksForRepr(gjson.Result{}, m["interrupts"], within(path, node))
	case "multiagent_node_stream":
		if depth < maxNesting {
			run.repr(m["event"], within(path, node), depth+1, emit)
		}
	case "":
		run.toolAsks(m["tool_interrupt_event"], path)
		if b, err := pyliteral.JSON(m["message"]); err == nil {
			run.message(gjson.ParseBytes(b), run.lane(path, emit))
		}
	}
}

var errTwice = errors.New("a name stands twice")

// members returns the named members of a dict or a call. It checks the whole text before it returns
// any. Only then is it known what in the text is code and what is somebody's text.
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

// toolAsks handles {'tool_use': {...}, 'interrupts': [Interrupt(...)]}.
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

// readRepr handles a result's str or repr. It returns false if the string is mere text.
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

// head returns why the agent stopped, by the first argument of a result, "" if that does not say
// so.
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

// readResult reads AgentResult(..), GraphResult(..) or SwarmResult(..) to its end. reason is what
// its head says.
func (run *run) readResult(s, reason string, l *lane) {
	args, err := members(s, "message", "interrupts", "results")
	if err != nil || reason == "" {
		run.noteStop(cmp.Or(reason, interrupted)) // what cannot be read may ask
		return
	}
	// A swarm has no error for answers that it does not wait for. The node's result has one.
	run.forgot = run.resumed != nil && run.idle() && reason == failedStatus && strings.Contains(args["results"], "=ValueError(") && lost(args["results"])
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

// readStr handles the str of an AgentResult that asks. It returns false if the list is something
// else.
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

// readToString handles what AgentResult.toString() of TypeScript gives if the agent asks. It
// returns false if it is something else.
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

// asksForRepr handles the repr of a list of interrupts.
func (run *run) asksForRepr(use gjson.Result, list, node string) {
	questions, err := readInterrupts(list)
	if err != nil {
		return
	}
	for _, q := range questions {
		run.ask(q, use, node)
	}
}

// readInterrupts reads a list of interrupts. It reads all of them or none.
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

var errNoInterrupt = errors.New("no interrupt")

// readInterrupt reads Interrupt(id='..', name='..', reason=.., response=None), or the same as a
// dict.
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
