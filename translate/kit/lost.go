package kit

import (
	"encoding/json"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// Some backends refuse every run of a thread while their question is open. If Holdpoint lost the
// question, because of a restart or because the end of its run was in doubt, nobody could continue
// the thread. So the dialect turns the refusal of an ordinary run into a question of Holdpoint's
// own. This lost question tells the person that the thread waits for something unknown, and it can
// only be cancelled. The cancel is sent to the backend under the backend's own ids. A lost question
// cannot be approved, because nobody was shown what would run.

// ReasonLost is the reason of a lost question.
const ReasonLost = "holdpoint:lost_question"

// schemaLost is the schema of a lost question. It accepts only a denial, from a client that has no
// cancel.
const schemaLost = `{"type":"object","properties":{"approved":{"type":"boolean","const":false}},"required":["approved"],"additionalProperties":false}`

// MaxLost is the maximum number of ids that a lost question may have.
const MaxLost = 16

// A LostQuestion is the state that an interrupt keeps for a lost question.
type LostQuestion struct {
	// Backend identifies the backend that waits, in a word of the dialect's own.
	Backend string `json:"of"`
	// Natives are the ids that the question may have at the backend. A backend does nothing for an id
	// that it does not wait for.
	Natives []string `json:"natives"`
}

// AskLost returns the result of an ordinary run that the backend refused because its thread waits.
// The result asks the lost question. The user's last messages are marked as untaken, because the
// backend did not read them.
func AskLost(r *translate.Request, question LostQuestion) translate.Result {
	object := agui.MustMarshal(map[string]any{"reason": ReasonLost, "message": askLost, "responseSchema": json.RawMessage(schemaLost)})
	asked := agui.Interrupt{Native: question.Natives[0], Object: object, Private: agui.MustMarshal(question), CancelOnly: true}
	finish := agui.FinishedEvent(r.Input.ThreadID, r.Input.RunID)
	return translate.Result{
		Finish: finish, Asked: translate.AskedPause{Interrupts: []agui.Interrupt{asked}, NativeFinish: slices.Clone(finish.JSON)},
		UnacceptedMessages: lastWords(r.Input.Messages),
	}
}

// NamedQuestion returns the interrupt of a question that is known only because a client named it.
// id is the id that the client used.
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

// CancelsLost returns the answers with each denial of a lost question replaced by a cancel.
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

// LostIDs returns the ids that a lost question may have at its backend. First, newest first, come
// the ended questions on record for which asked returns true; then the ids that a client named;
// then more. A published id is the backend's id, a tilde and a random part. LostIDs leaves out an
// id that was already cancelled as a lost question, so that nobody is asked about it again.
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

// NativeID returns the backend's own id of a question. published reports that the given id has the
// form of Holdpoint's ids: the backend's id, which may be empty, a tilde and a random part.
func NativeID(id string) (native string, published bool) {
	if at := strings.LastIndexByte(id, '~'); at >= 0 {
		return id[:at], true
	}
	return id, false
}

// CancelArray returns the resume array that cancels each of the ids. metadata is the JSON value of
// the member metadata of each entry, or "" for none.
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

// Cancels are the ids by which a lost question is cancelled at a backend that checks all ids of a
// resume array before it acts. Such a backend refuses the array if it has an id too many or lacks
// one, and names that id. So the caller corrects and sends the array until the backend accepts it.
// The backend acts once.
type Cancels struct {
	open  []string
	tried map[string]bool
	tries int
}

// NewCancels returns the cancels of a pause that can only be cancelled, because its question is
// lost or its answer is in doubt.
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

// Open returns the ids that the backend may wait for, or none if no candidate remains.
func (c *Cancels) Open() []string { return c.open }

// Drop removes an id that the backend does not wait for. It reports whether to send the array
// again.
func (c *Cancels) Drop(id string) bool {
	before := len(c.open)
	c.open = slices.DeleteFunc(c.open, func(one string) bool { return one == id })
	return len(c.open) < before && len(c.open) > 0 && c.shouldRepeat()
}

// Keep removes all ids except the given ones. A removed id can be added again if the backend asks
// for it. Keep reports whether to send the array again.
func (c *Cancels) Keep(ids []string) bool {
	for _, id := range c.open {
		c.tried[id] = slices.Contains(ids, id)
	}
	c.open = slices.Clone(ids)
	return len(c.open) > 0 && c.shouldRepeat()
}

// Add adds ids that the backend waits for. It reports whether to send the array again.
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

// CancelsOnly reports whether every question of a pause can only be cancelled.
func CancelsOnly(p agui.Pause) bool {
	return len(p.Interrupts) > 0 && !slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return !i.CancelOnly })
}
