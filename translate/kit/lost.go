package kit

import (
	"encoding/json"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// While their question is open, some backends refuse every run of the thread. Holdpoint may have
// lost the question, because of a restart or because the end of its run was in doubt. Then nobody
// could continue the thread. So the dialect turns the refusal of an ordinary run into a question
// that Holdpoint itself asks. This lost question tells the person that the thread waits for an
// unknown answer. It can only be cancelled. The backend gets the cancel under its own ids. A lost
// question cannot be approved, because nobody has seen what would run.

// ReasonLost is the reason of a lost question.
const ReasonLost = "holdpoint:lost_question"

// schemaLost is the responseSchema of a lost question. It accepts only a denial, for clients that
// cannot cancel.
const schemaLost = `{"type":"object","properties":{"approved":{"type":"boolean","const":false}},"required":["approved"],"additionalProperties":false}`

// MaxLost is the maximum number of ids in a lost question.
const MaxLost = 16

// A LostQuestion is the state that is stored, as JSON, in the Interrupt.Private of a lost question.
type LostQuestion struct {
	// Backend names the kind of backend that waits. The dialect chooses the word.
	Backend string `json:"of"`
	// Natives are the ids that the question may have at the backend. If the backend does not wait
	// for one of these ids, it does nothing for that id.
	Natives []string `json:"natives"`
}

// AskLost returns the result of an ordinary run that the backend refused because its thread waits
// for an answer. The result asks the lost question. It has the user's last messages as
// UnacceptedMessages, because the backend did not read them.
func AskLost(r *translate.Request, question LostQuestion) translate.Result {
	object := agui.MustMarshal(map[string]any{"reason": ReasonLost, "message": askLost, "responseSchema": json.RawMessage(schemaLost)})
	asked := agui.Interrupt{Native: question.Natives[0], Object: object, Private: agui.MustMarshal(question), CancelOnly: true}
	finish := agui.FinishedEvent(r.Input.ThreadID, r.Input.RunID)
	return translate.Result{
		Finish: finish, Asked: translate.AskedPause{Interrupts: []agui.Interrupt{asked}, NativeFinish: slices.Clone(finish.JSON)},
		UnacceptedMessages: lastWords(r.Input.Messages),
	}
}

// NamedQuestion returns the interrupt of a question that Holdpoint knows only because a client
// named it. The parameter id is the id that the client used.
func NamedQuestion(id, native string, private json.RawMessage) agui.Interrupt {
	object := agui.MustMarshal(map[string]any{"id": id, "reason": ReasonLost, "message": askLost})
	return agui.Interrupt{ID: id, Native: native, Object: object, Private: private, CancelOnly: true}
}

// lastWords returns the user messages at the end of the list.
func lastWords(list []agui.Message) []agui.Message {
	from := len(list)
	for from > 0 && list[from-1].Role == "user" {
		from--
	}
	return list[from:]
}

// LostOf returns the state of a lost question. isLost is false for any other question.
func LostOf(i *agui.Interrupt) (question LostQuestion, isLost bool) {
	if !i.CancelOnly || len(i.Private) == 0 || json.Unmarshal(i.Private, &question) != nil || len(question.Natives) == 0 {
		return LostQuestion{}, false
	}
	return question, true
}

// CancelsLost returns the answers. Each denial of a lost question is replaced by a cancel.
func CancelsLost(p agui.Pause, answers []agui.Answer) []agui.Answer {
	for n, a := range answers {
		i := p.Interrupt(a.ID)
		if i == nil {
			continue
		}
		if _, isLost := LostOf(i); isLost && Denies(a) {
			answers[n].Status, answers[n].Payload = agui.Cancelled, nil
		}
	}
	return answers
}

// LostIDs returns the ids that a lost question may have at its backend, in this order: the ids of
// ended questions on record for which asked returns true, the newest first; then the ids that a
// client named; then the ids in more. A published id is the backend's id, a tilde and a random
// part. LostIDs leaves out an id that was already cancelled as a lost question, so that Holdpoint
// does not ask about it again.
func LostIDs(r *translate.Request, asked func(p *agui.Pause, i *agui.Interrupt) bool, more ...string) []string {
	var ids []string
	past := map[string]bool{}
	add := func(id string) {
		if strings.TrimSpace(id) != "" && !past[id] && len(ids) < MaxLost {
			past[id] = true
			ids = append(ids, id)
		}
	}
	for at := range r.EndedPauses {
		p := &r.EndedPauses[at].Pause
		for n := range p.Interrupts {
			i := &p.Interrupts[n]
			if question, isLost := LostOf(i); isLost {
				for _, id := range question.Natives {
					past[id] = true
				}
			} else if asked(p, i) {
				add(i.Native)
			}
		}
	}
	for _, id := range r.NamedInterrupts {
		if native, published := NativeID(id); published {
			add(native)
		}
		add(id)
	}
	for _, id := range more {
		add(id)
	}
	return ids
}

// NativeID returns the backend's own id of a question. published is true if the parameter id has
// the form of Holdpoint's ids: the backend's id, which may be empty, a tilde and a random part.
func NativeID(id string) (native string, published bool) {
	if at := strings.LastIndexByte(id, '~'); at >= 0 {
		return id[:at], true
	}
	return id, false
}

// CancelArray returns a resume array that cancels each of the ids. The parameter metadata is the
// JSON of the member metadata of each entry. If it is "", the entries have no metadata.
func CancelArray(natives []string, metadata string) json.RawMessage {
	list := []byte{'['}
	for _, id := range natives {
		entry := AppendText([]byte{'{'}, "interruptId", id)
		entry = AppendText(entry, "status", string(agui.Cancelled))
		if metadata != "" {
			entry = AppendMember(entry, `"metadata"`, metadata)
		}
		list = AppendElement(list, append(entry, '}'))
	}
	return append(list, ']')
}

// Cancels has the ids by which a lost question is cancelled. It is for a backend that checks all
// ids of a resume array before it acts. If the array has a wrong id or lacks one, such a backend
// refuses the array and names that id. So the caller corrects the array and sends it again, until
// the backend accepts it. The backend acts only once.
type Cancels struct {
	open  []string
	tried map[string]bool
	tries int
}

// NewCancels returns the ids to cancel for a pause that can only be cancelled, because its question
// is lost or its answer is in doubt.
func NewCancels(p agui.Pause) *Cancels {
	c := &Cancels{tried: map[string]bool{}}
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		if question, isLost := LostOf(i); isLost {
			c.Add(question.Natives...)
		} else {
			c.Add(i.Native)
		}
	}
	return c
}

// Open returns the ids that the backend may wait for. It is empty if none of them is left to try.
func (c *Cancels) Open() []string { return c.open }

// Drop removes an id that the backend does not wait for. It reports whether the caller should send
// the array again.
func (c *Cancels) Drop(id string) bool {
	before := len(c.open)
	c.open = slices.DeleteFunc(c.open, func(one string) bool { return one == id })
	return len(c.open) < before && len(c.open) > 0 && c.shouldRepeat()
}

// Keep removes all ids except the given ones. A removed id can be added again if the backend names
// it. Keep reports whether the caller should send the array again.
func (c *Cancels) Keep(ids []string) bool {
	for _, id := range c.open {
		c.tried[id] = slices.Contains(ids, id)
	}
	c.open = slices.Clone(ids)
	return len(c.open) > 0 && c.shouldRepeat()
}

// Add adds ids that the backend waits for. It reports whether the caller should send the array
// again.
func (c *Cancels) Add(ids ...string) bool {
	added := false
	for _, id := range ids {
		if id != "" && !c.tried[id] {
			c.tried[id], added = true, true
			c.open = append(c.open, id)
		}
	}
	return added && c.shouldRepeat()
}

func (c *Cancels) shouldRepeat() bool {
	c.tries++
	return c.tries <= 4*MaxLost
}

// CancelsOnly reports whether every question of the pause can only be cancelled.
func CancelsOnly(p agui.Pause) bool {
	return len(p.Interrupts) > 0 && !slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return !i.CancelOnly })
}
