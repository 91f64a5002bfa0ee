package strands

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// maxQuestions and maxQuestionBytes limit the number and the total size of the questions of a run.
const (
	maxQuestions     = 1000
	maxQuestionBytes = 8 << 20
)

// A question is an interrupt that the backend sent.
type question struct {
	id, name, source string
	reason           json.RawMessage // nil if missing or null
	node             string          // the path of the node that asked; "" for the agent itself
	callID, tool     string          // the call that the question is about, if the frame has it
	input            json.RawMessage
	failedBefore     bool // an earlier run with an answer to this question failed
}

// questions holds each question of a run once. Python sends a node's question twice, and sends all
// questions again at the end.
type questions struct {
	list []question
	at   map[string]int  // the index in list, keyed by question.contentHash
	ids  map[string]bool // the ids of all questions
	size int
	over bool // there were too many, so the client is shown no question
}

func (q question) bytes() int {
	return len(q.id) + len(q.name) + len(q.source) + len(q.reason) + len(q.node) + len(q.callID) + len(q.tool) + len(q.input)
}

// contentHash returns a hash of the question's id, name and reason.
func (q question) contentHash() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q ", q.id, q.name)
	h.Write(agui.Canonical(q.reason))
	return string(h.Sum(nil))
}

// add adds a question, or merges it with an equal question of the list. Two different questions may
// have the same id, because ids of batches and nodes consist only of names. In this case the client
// is shown both. Their answers must be equal, because the backend accepts one answer for both.
func (qs *questions) add(q question) {
	if qs.over {
		return
	}
	asks := q.contentHash()
	if n, known := qs.at[asks]; known {
		qs.size -= qs.list[n].bytes()
		qs.list[n].fill(q)
		qs.size += qs.list[n].bytes()
		qs.over = qs.size > maxQuestionBytes
		return
	}
	qs.size += q.bytes()
	if len(qs.list) >= maxQuestions || qs.size > maxQuestionBytes {
		qs.over = true
		return
	}
	if qs.at == nil {
		qs.at, qs.ids = map[string]int{}, map[string]bool{}
	}
	q.copyTexts()
	qs.at[asks], qs.ids[q.id] = len(qs.list), true
	qs.list = append(qs.list, q)
}

// fill copies from the parameter more, a repetition of the question, those members that q lacks.
func (q *question) fill(more question) {
	if q.callID == "" {
		q.callID, q.tool, q.input = more.callID, more.tool, more.input
	}
	q.node = cmp.Or(q.node, more.node)
	q.source = cmp.Or(q.source, more.source)
	q.copyTexts()
}

// copyTexts replaces the texts of a question by copies, because the originals would keep their
// whole frame in memory.
func (q *question) copyTexts() {
	for _, s := range []*string{&q.id, &q.name, &q.source, &q.node, &q.callID, &q.tool} {
		*s = strings.Clone(*s)
	}
}

// asksFor handles a list of interrupts. Each interrupt is an object, or a repr if the server
// serialises with default=str. use is the call that the interrupts are about, if the frame has it.
func (run *run) asksFor(use, list gjson.Result, node string) {
	list.ForEach(func(_, v gjson.Result) bool {
		q, err := question{}, errNoInterrupt
		switch {
		case v.IsObject():
			q, err = readObject(v)
		case v.Type == gjson.String:
			q, err = readInterrupt(v.String())
		}
		if err == nil {
			run.ask(q, use, node)
		}
		return true
	})
}

// ask notes a question. If the last frame of the run repeats a question, ask ignores it, because
// the reason may have another form there.
func (run *run) ask(q question, use gjson.Result, node string) {
	if !use.Exists() && node == "" && run.questions.ids[q.id] {
		return
	}
	q.node = node
	if id := use.Get("toolUseId"); id.Type == gjson.String {
		q.callID, q.tool = id.String(), use.Get("name").String()
		if input := use.Get("input"); input.IsObject() {
			q.input = json.RawMessage(input.Raw)
		}
	}
	run.questions.add(q)
}

// locate handles the value v at the path that the operator's file sets for questions. It returns
// false if v contains no question.
func (run *run) locate(v gjson.Result, node string) bool {
	found := false
	for _, one := range v.Array() { // Array returns a single object as a list with one element
		q := question{name: one.Get("name").String(), node: node}
		for _, key := range []string{"id", "interrupt_id", "interruptId", "approval_id"} {
			if id := one.Get(key); id.Type == gjson.String && q.id == "" {
				q.id = id.String()
			}
		}
		for _, key := range []string{"reason", "message"} {
			if reason := one.Get(key); q.reason == nil && reason.Exists() && reason.Type != gjson.Null {
				q.reason = json.RawMessage(reason.Raw)
			}
		}
		if q.id != "" {
			found = true
			run.questions.add(q)
		}
	}
	return found
}

func readObject(v gjson.Result) (question, error) {
	q := question{id: v.Get("id").String(), name: v.Get("name").String(), source: v.Get("source").String()}
	if v.Get("id").Type != gjson.String || q.id == "" {
		return q, errNoInterrupt
	}
	if reason := v.Get("reason"); reason.Exists() && reason.Type != gjson.Null {
		q.reason = json.RawMessage(reason.Raw)
	}
	return q, nil
}
