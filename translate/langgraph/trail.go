package langgraph

import (
	"encoding/hex"
	"encoding/json"
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
	maxTasks = 256
	maxCalls = 1024
	maxArgs  = 4 << 10 // bytes of a call's arguments
	maxAsked = 64      // questions of one task, one after the other
)

// A trail is what a stream shows of the graph's tasks. That is its steps. With RAW events it is
// also the checkpoint namespace of each task that began, and the tools that were called in it. The
// namespace is made of the checkpoint's id. So a task keeps it when it is resumed, and has another
// one in every new run (RAN Python 0.0.42, 0.0.43, 0.0.47 and TypeScript 0.0.17, 0.0.42, 0.0.43).
type trail struct {
	first, last []byte   // steps
	tasks       []string // namespaces, in the order of the tasks' beginnings
	calls       []toolCall
	full        bool // there was more than is kept
}

const blindHint = "a LangGraph backend asks while several calls wait, and sends no RAW events (emit_raw_events=False): if tools of one ToolNode " +
	"ask at once, LangGraph gives the answer to whichever comes first (langgraph issue 6533), and an approval of one can run another. " +
	"With RAW events Holdpoint sees it and takes denials alone"

// A toolCall is an on_tool_start of a RAW event.
type toolCall struct {
	task   int    // of trail.tasks
	run    string // its run_id
	name   string
	args   string // JSON, "" if it is long
	open   bool   // it has neither ended nor failed
	ended  bool   // it gave a result; to ask is to fail (on_tool_error)
	beside bool   // another call of its task was open when it began, or began while it was
}

func (t *trail) step(name string) {
	if len(t.first) == 0 {
		t.first = []byte(name)
	}
	t.last = append(t.last[:0], name...)
}

// raw reads a RAW event. It returns the namespace if the event shows that a task works on, else "".
func (t *trail) raw(ev agui.Event) string {
	kind := agui.View(ev.JSON).Get("event.event").Str
	switch kind {
	case "on_chain_start", "on_tool_start", "on_tool_end", "on_tool_error":
	default:
		return ""
	}
	event := agui.View(ev.JSON).Get("event")
	task := event.Get("metadata.langgraph_checkpoint_ns").Str
	if task == "" || !ev.Valid() {
		return ""
	}
	at := t.task(task)
	switch {
	case at < 0 || kind == "on_chain_start":
	case kind == "on_tool_start":
		t.begin(at, event)
	default:
		t.end(event.Get("run_id").Str, kind == "on_tool_end")
	}
	return task
}

// task returns the place of a namespace, -1 if there is no more room.
func (t *trail) task(ns string) int {
	if last := len(t.tasks) - 1; last >= 0 && t.tasks[last] == ns {
		return last
	}
	if at := slices.Index(t.tasks, ns); at >= 0 {
		return at
	}
	if len(t.tasks) == maxTasks {
		t.full = true
		return -1
	}
	t.tasks = append(t.tasks, strings.Clone(ns))
	return len(t.tasks) - 1
}

func (t *trail) begin(task int, event gjson.Result) {
	run, input := event.Get("run_id").Str, event.Get("data.input")
	if len(t.calls) == maxCalls {
		t.full = true
		return
	}
	c := toolCall{task: task, run: strings.Clone(run), name: strings.Clone(event.Get("name").Str), open: true}
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

func (t *trail) end(run string, gaveResult bool) {
	if run == "" {
		return // any of those that began without an id
	}
	for n := range t.calls {
		if c := &t.calls[n]; c.run == run {
			c.open, c.ended = false, gaveResult
		}
	}
}

// tangled returns the calls of each task that has several calls which may ask at once. LangGraph
// counts a task's questions as they come and hands it the answers in that order (langgraph issue
// 6533; RAN Python 1.0.8 and 1.2.22, JavaScript 1.4.18). So one call may hear what was said to
// another. If a task never had an answer, a call that gave its result did not ask. After the first
// answer it may have asked.
func (t *trail) tangled(resumed func(task string) bool) [][]toolCall {
	var list [][]toolCall
	for at, task := range t.tasks {
		var rivals []toolCall
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

// tangle marks the questions that were asked in tangled tasks. The id of a question tells its task.
// A tool that runs a graph asks under the namespace of that graph. So if no question has the id of
// a tangled task, each question of an unseen task may be that task's.
func (run *run) tangle(natives []native) {
	switch {
	case run.onlyAsks() && run.again == nil && !slices.ContainsFunc(natives, func(n native) bool { return n.Way == byBareScalar }):
		run.reemitted(natives)
	case run.blind(natives):
		run.d.blind.Do(func() { run.d.warn(blindHint) })
	}
	run.asBefore(natives)
	tangled := run.trail.tangled(func(task string) bool { return slices.Contains(run.before.Tasks, outermost(task)) })
	if len(tangled) > 0 {
		askedIn := run.trail.ids()
		for _, calls := range tangled {
			mark(natives, askedIn, calls)
		}
	}
	for n := range natives {
		if run.trail.full && natives[n].Beside == nil {
			natives[n].Beside = besides(nil) // too much went on to tell
		}
	}
}

// reemitted marks the questions of a run that only asks again, if nobody saw its tasks. It marks
// them if more calls wait for their results than questions are open, and the questions are no
// review of calls.
func (run *run) reemitted(natives []native) {
	if run.fewerThanCalls(natives) {
		for n := range natives {
			natives[n].Beside = besides(nil)
		}
	}
}

// blind says whether a run without RAW events asks what one of several calls may have asked. A node
// that asks about all of them looks the same.
func (run *run) blind(natives []native) bool {
	return len(run.trail.tasks) == 0 && !run.trail.full && run.steps > 0 && run.fewerThanCalls(natives)
}

func (run *run) fewerThanCalls(natives []native) bool {
	if run.r.Transcript == nil {
		return false
	}
	calls := run.r.Transcript.Calls()
	open := 0
	for _, c := range calls {
		if !c.Answered && c.Parent == calls[len(calls)-1].Parent && !run.r.Input.Declares(c.Name) {
			open++
		}
	}
	return open > 1 && len(natives) < open && !slices.ContainsFunc(natives, func(n native) bool {
		v := gjson.ParseBytes(n.Value)
		n.Shape = n.shapeOf()
		return n.isReview() || v.Get("tool_call_id").Exists() || v.Get("toolCallId").Exists()
	})
}

// asBefore marks what was marked before, if a run asks it again and shows no tasks.
func (run *run) asBefore(natives []native) {
	before := map[string]json.RawMessage{}
	for _, old := range run.before.Natives {
		if old.ID != "" && old.Beside != nil {
			before[old.ID] = old.Beside
		}
	}
	for n := range natives {
		if natives[n].Beside == nil {
			natives[n].Beside = before[natives[n].ID]
		}
	}
}

// mark marks the questions of the calls' task.
func mark(natives []native, askedIn map[string]int, calls []toolCall) {
	told, found := besides(calls), false
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

// besides returns the calls of a task as the client is told of them: [{"name":..,"args":{..}}].
func besides(calls []toolCall) []byte {
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

// ids returns the ids that questions of the tasks can have, with the place of the task. Up to
// langgraph 1.1 all questions of a task have the id of the first. From 1.2 on the id of a later
// question counts the answers (langgraph/types.py, _interrupt_id; RAN 1.0.8 and 1.2.22).
func (t *trail) ids() map[string]int {
	ids := make(map[string]int, len(t.tasks)*maxAsked)
	for at, task := range t.tasks {
		ids[idOf(task)] = at
		for n := 1; n < maxAsked; n++ {
			ids[idOf(task+"|"+strconv.Itoa(n))] = at
		}
	}
	return ids
}

func idOf(ns string) string {
	sum := xxh3.HashString128(ns).Bytes()
	return hex.EncodeToString(sum[:])
}

// outermost returns the task of the graph itself that runs a task of a subgraph.
func outermost(task string) string {
	task, _, _ = strings.Cut(task, "|")
	return task
}

// outermosts returns the outermost tasks of all that began, nil if they are not all known.
func (t *trail) outermosts() []string {
	if t.full {
		return nil
	}
	var list []string
	for _, task := range t.tasks {
		if task = outermost(task); !slices.Contains(list, task) {
			list = append(list, task)
		}
	}
	return list
}
