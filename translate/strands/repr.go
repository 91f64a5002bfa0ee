package strands

import (
	"bytes"
	"errors"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/strands/internal/pyliteral"
)

// What AgentCore cannot serialise it sends as json.dumps(str(event)): the repr of a dict as a JSON string. Most of them repeat a
// frame that came as JSON (prepare() puts the Agent into every event with a delta), and of those only the beginning is looked
// at. These are read, being the only carrier of what they say:
var told = []string{
	`{'result': `,                          // the end, nearly always
	`{'type': 'multiagent_result'`,         // that of a graph or a swarm, always
	`{'type': 'multiagent_node_stop'`,      // always
	`{'type': 'multiagent_node_interrupt'`, // if a reason is no JSON
	`{'tool_interrupt_event': `,            // the same
	`{'message': {'role': 'user'`,          // a result with a picture
	`[{'id': `,                             // str(AgentResult) of one that asks
	`AgentResult(`,                         // its repr
}

// inNode are the beginnings of those that a node of a graph may send.
var inNode = []string{`'event': {'tool_interrupt_event': `, `'event': {'message': {'role': 'user'`, `'event': {'type': 'multiagent_node_`}

// nodeHead is how far into a node's frame one of them is looked for: its node_id stands before it.
const nodeHead = 512

// text takes a frame that is a JSON string.
func (run *run) text(data []byte, emit func(agui.Event)) {
	inside := data[1:]
	switch {
	case worthReading(inside):
		if s := gjson.ParseBytes(data); agui.ValidJSON(data) && s.Type == gjson.String {
			run.repr(s.String(), "", 0, emit)
		}
	case bytes.HasPrefix(inside, []byte("{'")):
	case run.d.text:
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

// repr takes the repr of an event. What cannot be read is passed over, unless it is the end of a run that asks.
func (run *run) repr(s, path string, depth int, emit func(agui.Event)) {
	if !strings.HasPrefix(s, "{") {
		run.readRepr(s, run.lane(path, emit))
		return
	}
	if rest, ok := strings.CutPrefix(s, `{'result': `); ok && depth == 0 {
		run.readRepr(strings.TrimSuffix(rest, "}"), run.lane(path, emit))
		return
	}
	var kind, node, event string
	err := pyliteral.Each(s, func(key, value string) error {
		switch key {
		case "type":
			kind, _ = pyliteral.Str(value)
		case "node_id":
			node, _ = pyliteral.Str(value)
		case "event":
			event = value
		case "result":
			if depth == 0 && kind == "multiagent_result" {
				run.readRepr(value, run.lane(path, emit))
			}
		case "interrupts":
			run.asksForRepr(gjson.Result{}, value, within(path, node))
		case "tool_interrupt_event":
			run.toolAsks(value, path)
		case "message":
			if m, err := pyliteral.JSON(value); err == nil {
				run.message(gjson.ParseBytes(m), run.lane(path, emit))
			}
		}
		return nil
	})
	switch {
	case err != nil && depth == 0 && strings.HasPrefix(s, `{'type': 'multiagent_result'`):
		run.unreadable()
	case err != nil:
	case kind == "multiagent_node_stop":
		run.ends(within(path, node), emit)
	case kind == "multiagent_node_stream" && event != "" && depth < maxNesting:
		run.repr(event, within(path, node), depth+1, emit)
	}
}

func (run *run) toolAsks(value, path string) {
	var use gjson.Result
	list := ""
	_ = pyliteral.Each(value, func(key, value string) error {
		switch key {
		case "tool_use":
			if b, err := pyliteral.JSON(value); err == nil {
				use = gjson.ParseBytes(b)
			}
		case "interrupts":
			list = value
		}
		return nil
	})
	run.asksForRepr(use, list, path)
}

// readRepr takes a result's str or repr; false if it is none, but text.
func (run *run) readRepr(s string, l *lane) bool {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "[{'id': ") {
		if !run.readStr(s) {
			return false
		}
		run.stop = interrupted
		return true
	}
	name, rest, ok := strings.Cut(s[:min(len(s), 64)], "(")
	if !ok || !strings.HasSuffix(name, "Result") {
		return false
	}
	if reason, end, ok := strings.Cut(strings.TrimPrefix(rest, "stop_reason='"), "'"); ok && strings.HasPrefix(rest, "stop_reason='") && end != "" && reason != interrupted && run.spoke {
		run.stopped(reason)
		return true
	}
	run.readResult(s, l)
	return true
}

var errTwice = errors.New("an argument stands twice")

// readResult reads AgentResult(..), GraphResult(..) or SwarmResult(..) to its end: only then is it known what in it is code and
// what is somebody's text.
func (run *run) readResult(s string, l *lane) {
	args := map[string]string{}
	err := pyliteral.Each(s, func(key, value string) error {
		if _, twice := args[key]; twice && key != "" {
			return errTwice
		}
		switch key {
		case "stop_reason", "status", "message", "interrupts":
			args[key] = value
		}
		return nil
	})
	if err != nil {
		run.unreadable()
		return
	}
	reason, _ := pyliteral.Str(args["stop_reason"])
	switch status := args["status"]; {
	case strings.HasPrefix(status, "<Status.INTERRUPTED"):
		reason = interrupted
	case strings.HasPrefix(status, "<Status.FAILED"):
		reason = failedStatus
	case status != "":
		reason = "end_turn"
	}
	if reason == interrupted {
		run.stop = interrupted
		run.asksForRepr(gjson.Result{}, args["interrupts"], "")
		return
	}
	if m, err := pyliteral.JSON(args["message"]); err == nil && !run.spoke {
		run.message(gjson.ParseBytes(m), l)
	}
	run.stopped(reason)
}

// unreadable notes an end that may be that of a run which asks.
func (run *run) unreadable() { run.stop = interrupted }

// readStr takes str(AgentResult) of one that asks; false if the list is something else.
func (run *run) readStr(s string) bool {
	var list []question
	err := pyliteral.Each(s, func(_, value string) error {
		q, err := readInterrupt(value)
		if err == nil && !strings.HasPrefix(q.id, "v1:") {
			err = errNoInterrupt
		}
		list = append(list, q)
		return err
	})
	if err != nil {
		return strings.HasPrefix(s, "[{'id': 'v1:")
	}
	for _, q := range list {
		run.questions.add(q)
	}
	return true
}

// asksForRepr takes the repr of a list of interrupts.
func (run *run) asksForRepr(use gjson.Result, list, node string) {
	if list == "" {
		return
	}
	_ = pyliteral.Each(list, func(_, value string) error {
		if q, err := readInterrupt(value); err == nil {
			run.ask(q, use, node)
		}
		return nil
	})
}

var errNoInterrupt = errors.New("no interrupt")

// readInterrupt reads Interrupt(id='..', name='..', reason=.., response=None), or the same as a dict.
func readInterrupt(s string) (question, error) {
	var q question
	err := pyliteral.Each(s, func(key, value string) (err error) {
		switch key {
		case "id":
			if q.id != "" {
				return errTwice
			}
			q.id, err = pyliteral.Str(value)
		case "name":
			q.name, err = pyliteral.Str(value)
		case "reason":
			q.reason, err = pyliteral.JSON(value)
		}
		return err
	})
	if err == nil && q.id == "" {
		err = errNoInterrupt
	}
	return q, err
}
