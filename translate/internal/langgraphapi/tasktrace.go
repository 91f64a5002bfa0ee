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

// The limits of a TaskTrace. If a run exceeds one of them, its TaskTrace is Full, and no conclusion
// is drawn from it.
const (
	MaxTasks = 256
	MaxCalls = 1024
	maxArgs  = 4 << 10 // bytes of a call's arguments
	MaxAsked = 64      // questions that one task asks, one after the other
)

// A TaskTrace has what a stream shows of the tasks of a graph. It has the names of the graph's
// steps. If the stream has RAW events, it also has the checkpoint namespace of each task that
// began, and the tools that were called in the task. The namespace contains the id of the
// checkpoint. So a task keeps its namespace when it is resumed, and has another namespace in every
// new run (RAN Python 0.0.42, 0.0.43, 0.0.47 and TypeScript 0.0.17, 0.0.42, 0.0.43).
type TaskTrace struct {
	First, Last []byte   // names of the first and the last step
	Tasks       []string // namespaces, in the order in which the tasks began
	calls       []ToolCall
	Full        bool // the stream exceeded a limit, so the TaskTrace is incomplete
}

// A ToolCall is a call of a tool in a task. Its on_tool_start in a RAW event describes it.
type ToolCall struct {
	task     int    // index of the call's task in TaskTrace.Tasks
	run      string // the call's run_id
	name     string
	args     string // JSON; "" if it is too long
	open     bool   // the call has neither ended nor failed
	ended    bool   // the call gave a result; a call that asks ends with on_tool_error instead
	parallel bool   // another call of the task was open at the same time
}

// Step notes that the step with this name began.
func (t *TaskTrace) Step(name string) {
	if len(t.First) == 0 {
		t.First = []byte(name)
	}
	t.Last = append(t.Last[:0], name...)
}

// KindOf returns the kind of a RAW event, such as on_chain_start. It is fast although the event may
// have megabytes, because the kind is near the begin of the event.
func KindOf(ev agui.Event) string { return agui.View(ev.JSON).Get("event.event").Str }

// Raw reads a RAW event of this kind. It returns the namespace of the task that the event belongs
// to. It returns "" for a kind of event that a TaskTrace does not read.
func (t *TaskTrace) Raw(kind string, ev agui.Event) string {
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

// Event reads an event of LangGraph's own stream. It returns the namespace of the task that the
// event belongs to, or "" if the event has none.
func (t *TaskTrace) Event(event gjson.Result) string {
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

// task returns the index in Tasks of a namespace, and adds a namespace that is new. It returns -1
// if there are too many.
func (t *TaskTrace) task(ns string) int {
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

func (t *TaskTrace) begin(task int, event gjson.Result) {
	run, input := event.Get("run_id").Str, event.Get("data.input")
	if len(t.calls) == MaxCalls {
		t.Full = true
		return
	}
	c := ToolCall{task: task, run: strings.Clone(run), name: strings.Clone(event.Get("name").Str), open: true}
	if input.IsObject() && len(input.Raw) <= maxArgs {
		c.args = strings.Clone(input.Raw)
	}
	// within are the runs that contain this call, so they are not its rivals. JavaScript does not
	// send them.
	var within []gjson.Result
	if len(t.calls) > 0 {
		within = event.Get("parent_ids").Array()
	}
	for n := range t.calls {
		other := &t.calls[n]
		if other.task != task || !other.open || slices.ContainsFunc(within, func(id gjson.Result) bool { return id.Str == other.run }) {
			continue
		}
		c.parallel, other.parallel = true, true
	}
	t.calls = append(t.calls, c)
}

func (t *TaskTrace) end(run string, hasResult bool) {
	if run == "" {
		return // without an id, the event could end any call that began without one
	}
	for n := range t.calls {
		if c := &t.calls[n]; c.run == run {
			c.open, c.ended = false, hasResult
		}
	}
}

// RivalCalls returns, for each task with several such calls, the calls that ran at the same time
// and may have asked. LangGraph counts the questions of a task in the order in which they arrive,
// and gives the answers to the task in that order. So one call may get the answer to another
// (langgraph issue 6533; RAN Python 1.0.8 and 1.2.22, JavaScript 1.4.18).
//
// A call that gave a result did not ask, so it is left out. The exception is a task that was
// resumed: there the call may have asked before, and got its answer, so it is included.
func (t *TaskTrace) RivalCalls(resumed func(task string) bool) [][]ToolCall {
	var list [][]ToolCall
	for at, task := range t.Tasks {
		var rivals []ToolCall
		for _, c := range t.calls {
			if c.task == at && c.parallel && (!c.ended || resumed(task)) {
				rivals = append(rivals, c)
			}
		}
		if len(rivals) > 1 {
			list = append(list, rivals)
		}
	}
	return list
}

// Mark sets RivalCalls of the questions that one of the parameter calls may have asked. The calls
// belong to one task, and ran at the same time. The parameter askedIn maps the ids of questions to
// the index of their task. Mark sets the questions that this task asked. If it knows no such
// question, it sets the questions whose task is unknown.
func Mark(natives []Native, askedIn map[string]int, calls []ToolCall) {
	told, found := ParallelCalls(calls), false
	for n := range natives {
		if at, known := askedIn[natives[n].ID]; known && at == calls[0].task {
			natives[n].RivalCalls, found = told, true
		}
	}
	for n := range natives {
		if _, known := askedIn[natives[n].ID]; !found && !known {
			natives[n].RivalCalls = told
		}
	}
}

// ParallelCalls returns the calls as JSON for the metadata of an interrupt:
// [{"name":..,"args":{..}}].
func ParallelCalls(calls []ToolCall) []byte {
	list := []byte{'['}
	for _, c := range calls {
		one := kit.AppendText([]byte{'{'}, "name", c.name)
		if c.args != "" {
			one = kit.AppendMember(one, `"args"`, c.args)
		}
		list = kit.AppendElement(list, append(one, '}'))
	}
	return append(list, ']')
}

// IDs returns a map from each id that a question may have to the index of the task that would ask
// it. Up to langgraph 1.1 all questions of a task have the id of its first question. From 1.2 on,
// the id of a later question depends on the number of answers (langgraph/types.py, _interrupt_id;
// RAN 1.0.8 and 1.2.22).
func (t *TaskTrace) IDs() map[string]int {
	ids := make(map[string]int, len(t.Tasks)*MaxAsked)
	for at, task := range t.Tasks {
		ids[IDOf(task)] = at
		for n := 1; n < MaxAsked; n++ {
			ids[IDOf(task+"|"+strconv.Itoa(n))] = at
		}
	}
	return ids
}

// IDOf returns the id of the first question of the task with the namespace ns.
func IDOf(ns string) string {
	sum := xxh3.HashString128(ns).Bytes()
	return hex.EncodeToString(sum[:])
}

// OutermostTask returns the namespace of the task of the main graph that contains the given task.
// The given task may be one of a subgraph.
func OutermostTask(task string) string {
	task, _, _ = strings.Cut(task, "|")
	return task
}

// Outermosts returns the namespaces of the outermost tasks of all tasks that began. It returns nil
// if the TaskTrace is incomplete.
func (t *TaskTrace) Outermosts() []string {
	if t.Full {
		return nil
	}
	var list []string
	for _, task := range t.Tasks {
		if task = OutermostTask(task); !slices.Contains(list, task) {
			list = append(list, task)
		}
	}
	return list
}
