package langgraphapi

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/zeebo/xxh3"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// These bound what is kept of one run. If there is more, nothing is concluded from it.
const (
	MaxTasks = 256
	MaxCalls = 1024
	maxArgs  = 4 << 10 // bytes of a call's arguments
	MaxAsked = 64      // questions of one task, one after the other
)

// A Trail is what a stream shows of the graph's tasks. That is its steps. With RAW events it is
// also the checkpoint namespace of each task that began, and the tools that were called in it. The
// namespace is made of the checkpoint's id. So a task keeps it when it is resumed, and has another
// one in every new run (RAN Python 0.0.42, 0.0.43, 0.0.47 and TypeScript 0.0.17, 0.0.42, 0.0.43).
type Trail struct {
	First, Last []byte   // steps
	Tasks       []string // namespaces, in the order of the tasks' beginnings
	calls       []ToolCall
	Full        bool // there was more than is kept
}

// A ToolCall is an on_tool_start of a RAW event.
type ToolCall struct {
	task   int    // of trail.tasks
	run    string // its run_id
	name   string
	args   string // JSON, "" if it is long
	open   bool   // it has neither ended nor failed
	ended  bool   // it gave a result; to ask is to fail (on_tool_error)
	beside bool   // another call of its task was open when it began, or began while it was
}

// Step notes a step.
func (t *Trail) Step(name string) {
	if len(t.First) == 0 {
		t.First = []byte(name)
	}
	t.Last = append(t.Last[:0], name...)
}

// Raw reads a RAW event. It returns the namespace if the event shows that a task works on, else "".
func (t *Trail) Raw(ev agui.Event) string {
	kind := agui.View(ev.JSON).Get("event.event").Str
	switch kind {
	case "on_chain_start", "on_tool_start", "on_tool_end", "on_tool_error":
	default:
		return ""
	}
	if !ev.Valid() {
		return ""
	}
	return t.Event(agui.View(ev.JSON).Get("event"))
}

// Event reads an object of LangGraph's stream of events. It returns the namespace if the event
// shows that a task works on, else "".
func (t *Trail) Event(event gjson.Result) string {
	kind := event.Get("event").Str
	task := event.Get("metadata.langgraph_checkpoint_ns").Str
	if task == "" {
		return ""
	}
	at := t.task(task)
	switch {
	case at < 0:
	case kind == "on_tool_start":
		t.begin(at, event)
	case kind == "on_tool_end", kind == "on_tool_error":
		t.end(event.Get("run_id").Str, kind == "on_tool_end")
	}
	return task
}

// task returns the place of a namespace, -1 if there is no more room.
func (t *Trail) task(ns string) int {
	if last := len(t.Tasks) - 1; last >= 0 && t.Tasks[last] == ns {
		return last
	}
	if at := slices.Index(t.Tasks, ns); at >= 0 {
		return at
	}
	if len(t.Tasks) == MaxTasks {
		t.Full = true
		return -1
	}
	t.Tasks = append(t.Tasks, strings.Clone(ns))
	return len(t.Tasks) - 1
}

func (t *Trail) begin(task int, event gjson.Result) {
	run, input := event.Get("run_id").Str, event.Get("data.input")
	if len(t.calls) == MaxCalls {
		t.Full = true
		return
	}
	c := ToolCall{task: task, run: strings.Clone(run), name: strings.Clone(event.Get("name").Str), open: true}
	if input.IsObject() && len(input.Raw) <= maxArgs {
		c.args = strings.Clone(input.Raw)
	}
	var within []gjson.Result // runs: a tool that another one calls is not beside it; JavaScript does not tell
	if len(t.calls) > 0 {
		within = event.Get("parent_ids").Array()
	}
	for n := range t.calls {
		other := &t.calls[n]
		if other.task != task || !other.open || slices.ContainsFunc(within, func(id gjson.Result) bool { return id.Str == other.run }) {
			continue
		}
		c.beside, other.beside = true, true
	}
	t.calls = append(t.calls, c)
}

func (t *Trail) end(run string, gaveResult bool) {
	if run == "" {
		return // any of those that began without an id
	}
	for n := range t.calls {
		if c := &t.calls[n]; c.run == run {
			c.open, c.ended = false, gaveResult
		}
	}
}

// Tangled returns the calls of each task that has several calls which may ask at once. LangGraph
// counts a task's questions as they come and hands it the answers in that order (langgraph issue
// 6533; RAN Python 1.0.8 and 1.2.22, JavaScript 1.4.18). So one call may hear what was said to
// another. If a task never had an answer, a call that gave its result did not ask. After the first
// answer it may have asked.
func (t *Trail) Tangled(resumed func(task string) bool) [][]ToolCall {
	var list [][]ToolCall
	for at, task := range t.Tasks {
		var rivals []ToolCall
		for _, c := range t.calls {
			if c.task == at && c.beside && (!c.ended || resumed(task)) {
				rivals = append(rivals, c)
			}
		}
		if len(rivals) > 1 {
			list = append(list, rivals)
		}
	}
	return list
}

// Mark marks the questions of the calls' task.
func Mark(natives []Native, askedIn map[string]int, calls []ToolCall) {
	told, found := Besides(calls), false
	for n := range natives {
		if at, known := askedIn[natives[n].ID]; known && at == calls[0].task {
			natives[n].Beside, found = told, true
		}
	}
	for n := range natives {
		if _, known := askedIn[natives[n].ID]; !found && !known {
			natives[n].Beside = told
		}
	}
}

// Besides returns the calls of a task as the client is told of them: [{"name":..,"args":{..}}].
func Besides(calls []ToolCall) []byte {
	list := []byte{'['}
	for n, c := range calls {
		if n > 0 {
			list = append(list, ',')
		}
		one := kit.AppendText([]byte{'{'}, "name", c.name)
		if c.args != "" {
			one = kit.AppendMember(one, `"args"`, c.args)
		}
		list = append(append(list, one...), '}')
	}
	return append(list, ']')
}

// IDs returns the ids that questions of the tasks can have, with the place of the task. Up to
// langgraph 1.1 all questions of a task have the id of the first. From 1.2 on the id of a later
// question counts the answers (langgraph/types.py, _interrupt_id; RAN 1.0.8 and 1.2.22).
func (t *Trail) IDs() map[string]int {
	ids := make(map[string]int, len(t.Tasks)*MaxAsked)
	for at, task := range t.Tasks {
		ids[IDOf(task)] = at
		for n := 1; n < MaxAsked; n++ {
			ids[IDOf(task+"|"+strconv.Itoa(n))] = at
		}
	}
	return ids
}

// IDOf returns the id of the first question of a task.
func IDOf(ns string) string {
	sum := xxh3.HashString128(ns).Bytes()
	return hex.EncodeToString(sum[:])
}

// Outermost returns the task of the graph itself that runs a task of a subgraph.
func Outermost(task string) string {
	task, _, _ = strings.Cut(task, "|")
	return task
}

// Outermosts returns the outermost tasks of all that began, nil if they are not all known.
func (t *Trail) Outermosts() []string {
	if t.Full {
		return nil
	}
	var list []string
	for _, task := range t.Tasks {
		if task = Outermost(task); !slices.Contains(list, task) {
			list = append(list, task)
		}
	}
	return list
}
