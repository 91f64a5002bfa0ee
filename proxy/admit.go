package proxy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// skew is how long after its expiry an interrupt is still taken: the clocks of client, proxy and store differ.
const skew = 5 * time.Second

// An action is what is to be done with a request.
type action int

const (
	actPass   action = iota // an ordinary run: it goes to the backend
	actResume               // the answers are complete: claim and send
	actAgain                // the open pause is told again
	actQuiet                // RUN_STARTED and RUN_FINISHED: there was nothing to answer and nothing new
	actReplay               // the recorded end of the pause that these answers ended
	actWait                 // the same answers are on their way: wait for their end and judge again
	actRefuse               // RUN_ERROR, with the open pause told again if there is one
)

// A decision is admit's word on a request.
type decision struct {
	do      action
	err     *agui.RunError // with actRefuse
	reask   bool           // with actRefuse: the open pause may be told again
	doubt   bool           // with actRefuse: this tells the doubt, so the pause is closed
	answers []agui.Answer  // with actResume: one for each interrupt, in the pause's order
	fresh   []agui.Message // with actResume: the messages beside the answers that the record lacks
	result  *store.Result  // with actReplay
	strip   bool           // with actPass: the resume array does not go to the backend
	command bool           // with actPass: nor does an answer in forwardedProps.command
	gone    []agui.Answer  // answers that are not taken: nor do the messages that carry them
	// withdraw: the open pause is closed first, for nothing that may be said to it can be handed on.
	withdraw bool
}

func refuse(code agui.Code, format string, args ...any) decision {
	return decision{do: actRefuse, err: agui.Errorf(code, format, args...)}
}

// refuseUnknown: an answer in the backend's own form may name no interrupt at all.
func refuseUnknown(id string) decision {
	if id == "" {
		return refuse(agui.UnknownInterruptID, "the request answers no open interrupt of this thread")
	}
	return refuse(agui.UnknownInterruptID, "resume names %q, which is no open interrupt of this thread", agui.Cut(id))
}

// A question is all that admit judges by.
type question struct {
	in        agui.RunInput
	answers   []agui.Answer                                   // what Dialect.Answers read; nil if the request has none
	readFor   string                                          // id of the pause that they were read for, "" if none was known
	unread    *agui.RunError                                  // Dialect.Answers could not read them
	settled   []agui.SeenMessage                              // messages by which ended pauses were answered
	approvals func(in *agui.RunInput, open *agui.Pause) []int // see run.approvals; nil: there are none
	record    store.Record
	unasked   string                                      // see run.unasked
	stranger  bool                                        // the record is another principal's
	valid     func(schema, payload json.RawMessage) error // payload nil is null
}

// admit is the interrupt contract (https://docs.ag-ui.com/concepts/interrupts, docs/contract.md). It is pure: the
// same question has the same answer, and nothing happens by asking. The order of the rules is that of design
// section 5: the first hit decides.
func admit(q *question) decision {
	answering := len(q.answers) > 0 || q.unread != nil
	if q.stranger {
		// A stranger is told nothing, not even that the thread waits for something.
		if answering || q.in.HasResume {
			return refuse(agui.UnknownInterruptID, "resume names no open interrupt of this thread")
		}
		return refuse(agui.ThreadForbidden, "the thread belongs to somebody else")
	}
	switch q.record.State {
	case store.Claimed:
		return q.whileClaimed()
	case store.InDoubt:
		d := refuse(agui.ResumeInDoubt, "the answers were sent, but their end was not seen: the action may or may not have run")
		d.doubt = true
		return d
	}
	if q.unread != nil {
		return decision{do: actRefuse, err: q.unread, reask: q.record.Pause != nil}
	}
	if d, stray := q.refuseStray(); stray {
		return d
	}
	if !answering {
		if q.unasked != "" {
			return refuse(agui.UnknownInterruptID, "a message answers call %q, which nobody knows to have asked (Holdpoint was started anew, perhaps): nothing was handed on; say it in a new message, and the backend can ask again", agui.Cut(q.unasked))
		}
		return q.withoutAnswers()
	}
	if !q.namesOpen() {
		return q.noneOpen()
	}
	return q.forOpen()
}

// whileClaimed: one resume is on its way to the backend; nothing else may go there.
func (q *question) whileClaimed() decision {
	p := q.record.Pause
	for _, a := range q.answers {
		if p.Interrupt(a.ID) == nil || !q.meant(p.ID) {
			continue
		}
		if digestAnswers(q.answers) == q.record.Digest {
			return decision{do: actWait}
		}
		return refuse(agui.ResumeConflict, "interrupt %q is being resumed with other answers", agui.Cut(a.ID))
	}
	return refuse(agui.ResumeInProgress, "a resume of this thread is running")
}

// withoutAnswers: the request brings none, or an empty resume array, which answers nothing.
func (q *question) withoutAnswers() decision {
	p := q.record.Pause
	switch {
	case p == nil:
		return decision{do: actPass, strip: q.in.HasResume}
	case q.in.HasResume:
		d := refuse(agui.PartialResume, "resume leaves interrupt %q open (answered 0 of %d)", p.Interrupts[0].ID, len(p.Interrupts))
		d.reask = true
		return d
	case q.allExpired():
		// Nobody can approve any of them any more, so new input counts as cancelling them. This is no silence taken
		// for a yes: every answer is "cancelled".
		answers := cancelAll(p)
		if _, stuck := q.stuck(answers); stuck {
			return q.giveUp()
		}
		return decision{do: actResume, answers: answers, fresh: q.fresh(p.Seen, p)}
	case len(q.fresh(p.Seen, p)) == 0:
		return decision{do: actAgain}
	default:
		d := refuse(agui.PendingInterrupts, "interrupt %q is open: answer it with resume before sending new input (%d open)", p.Interrupts[0].ID, len(p.Interrupts))
		d.reask = true
		return d
	}
}

// giveUp: every question is cancelled, and that cannot be handed on: the backend would carry out the approval that it
// keeps, or knows no value that means no. Nothing is sent to it; the pause is closed, and if the backend insists it asks
// again at its next run.
func (q *question) giveUp() decision {
	p := q.record.Pause
	if len(q.fresh(p.Seen, p)) == 0 {
		return decision{do: actQuiet, withdraw: true}
	}
	return decision{do: actPass, withdraw: true, strip: true, command: true}
}

// stripped judges the request as if it had no answers.
func (q *question) stripped() decision {
	as := *q
	as.answers, as.unread, as.in.HasResume = nil, nil, false
	d := as.withoutAnswers()
	if d.do == actPass {
		d.strip, d.command = true, true
	}
	d.gone = q.answers
	return d
}

// noneOpen: the answers name no open interrupt. Either they repeat what ended, or they come too late, or they are the
// way on of a client that keeps its list of open interrupts after a RUN_ERROR and may then send nothing but a resume.
func (q *question) noneOpen() decision {
	result := q.ended()
	ended := result != nil && !result.Tombstone
	fresh := q.freshAfter(result)
	failed := ended && (result.How != store.Finished || isError(result.Finish))

	if fresh && q.inHistory() {
		// What became of the question was told; it must not be told for ever.
		return q.stripped()
	}
	if ended && result.Digest != "" && result.Digest == digestAnswers(q.answers) && !(failed && allCancelled(q.answers)) {
		switch {
		case fresh:
			return q.stripped()
		case result.How == store.Finished, result.How == store.Lost:
			return decision{do: actReplay, result: result}
		}
	}
	if allCancelled(q.answers) && (!ended || failed || fresh) {
		d := q.stripped()
		if d.do == actPass && !fresh {
			d = decision{do: actQuiet}
		}
		return d
	}
	d := refuseUnknown(q.answers[0].ID)
	if ended {
		switch result.How {
		case store.Finished:
			d = refuse(agui.ResumeConflict, "interrupt %q was resumed with other answers", agui.Cut(q.answers[0].ID))
		case store.Doubtful:
			d = refuse(agui.ResumeInDoubt, "interrupt %q was answered, but the end of it was not seen: the action may or may not have run", q.answers[0].ID)
		case store.Lost:
			d = refuse(agui.BackendLostInterrupt, "the backend does not know interrupt %q any more", q.answers[0].ID)
		}
	}
	d.reask = q.record.Pause != nil
	return d
}

// forOpen: at least one answer is for an open interrupt.
func (q *question) forOpen() decision {
	p := q.record.Pause
	byID := make(map[string]*agui.Answer, len(q.answers))
	for n, a := range q.answers {
		if p.Interrupt(a.ID) == nil {
			d := refuseUnknown(a.ID)
			d.reask = true
			return d
		}
		old, twice := byID[a.ID]
		if twice && digestAnswer(*old) != digestAnswer(a) && (old.Message == agui.SeenMessage{} || a.Message == agui.SeenMessage{}) {
			// Of messages the last one holds: they stay in a history, where an answer may have been refused before.
			d := refuse(agui.ResumeConflict, "interrupt %q is answered twice, and not the same", agui.Cut(a.ID))
			d.reask = true
			return d
		}
		byID[a.ID] = &q.answers[n]
	}
	ordered := make([]agui.Answer, 0, min(len(p.Interrupts), len(byID)))
	for _, i := range p.Interrupts {
		a, ok := byID[i.ID]
		if !ok {
			d := refuse(agui.PartialResume, "resume leaves interrupt %q open (answered %d of %d)", i.ID, len(byID), len(p.Interrupts))
			d.reask = true
			return d
		}
		ordered = append(ordered, *a)
	}
	for n, i := range p.Interrupts {
		if ordered[n].Status == agui.Resolved && q.expired(i) {
			if q.inHistory() && q.allExpired() && len(q.fresh(p.Seen, p)) > 0 {
				// Said too late, and told so; it comes again with every message that follows.
				return q.stripped()
			}
			d := refuse(agui.InterruptExpired, "interrupt %q has expired: it can only be cancelled", i.ID)
			d.reask = true
			return d
		}
	}
	for n, i := range p.Interrupts {
		a := ordered[n]
		if a.Status != agui.Resolved || a.Own || i.Schema() == nil {
			continue
		}
		if err := q.valid(i.Schema(), a.Payload); err != nil {
			d := refuse(agui.InvalidPayload, "payload for interrupt %q does not fit its responseSchema: %v", i.ID, err)
			if unjudged := (*unjudgedError)(nil); errors.As(err, &unjudged) {
				d = refuse(agui.InvalidPayload, "payload for interrupt %q cannot be judged by its responseSchema: %v; send a smaller one, or cancelled", i.ID, unjudged.why)
			}
			d.reask = true
			return d
		}
	}
	if i, stuck := q.stuck(ordered); stuck {
		if allCancelled(ordered) {
			return q.giveUp()
		}
		return q.refuseStuck(i)
	}
	return decision{do: actResume, answers: ordered, fresh: q.fresh(p.Seen, p)}
}

// inHistory says whether messages carry all of the answers: they come again with every run.
func (q *question) inHistory() bool {
	return !slices.ContainsFunc(q.answers, func(a agui.Answer) bool { return a.Message == (agui.SeenMessage{}) })
}

// meant says whether the answers were read for that pause. Ids alone do not tell: a request that has waited may find
// another question open, and an answer in the backend's own form names none.
func (q *question) meant(pauseID string) bool { return q.readFor == "" || q.readFor == pauseID }

func (q *question) namesOpen() bool {
	return q.record.Pause != nil && q.meant(q.record.Pause.ID) && slices.ContainsFunc(q.answers, func(a agui.Answer) bool {
		return q.record.Pause.Interrupt(a.ID) != nil
	})
}

// ended is how the pause ended that the answers name.
func (q *question) ended() *store.Result {
	ids := make([]string, len(q.answers))
	for n, a := range q.answers {
		ids[n] = a.ID
	}
	for _, r := range q.record.Results { // with kept ids, two pauses may have the same
		if q.readFor != "" && r.PauseID == q.readFor {
			if only := (store.Record{Results: []*store.Result{r}}); only.ResultOf(ids...) != nil {
				return r
			}
		}
	}
	return q.record.ResultOf(ids...)
}

func (q *question) expired(i agui.Interrupt) bool {
	t, ok := i.Expires()
	return ok && q.record.Now.After(t.Add(skew))
}

func (q *question) allExpired() bool {
	return !slices.ContainsFunc(q.record.Pause.Interrupts, func(i agui.Interrupt) bool { return !q.expired(i) })
}

// fresh are the messages that are new input: what seen lacks and a person, a tool or an operator said. A message of
// the assistant is none: clients rename those.
func (q *question) fresh(seen []agui.SeenMessage, p *agui.Pause) []agui.Message {
	list := slices.Clone(agui.NewMessages(q.in.Messages, seen))
	repeats, said := repeatsOf(p, q.in.Resume), q.said()
	return slices.DeleteFunc(list, func(m agui.Message) bool {
		return !isInput(m) || repeats.has(m) || said.only(m)
	})
}

func isInput(m agui.Message) bool {
	switch m.Role {
	case "assistant", "reasoning", "activity":
		return false
	}
	return true
}

// freshAfter says whether the request brings a message beside answers that are for no open interrupt. Where the
// record knows the messages of that time, it is asked; a history that ends in the assistant's words brings nothing,
// for ordinary runs after the pause are not in the record.
func (q *question) freshAfter(r *store.Result) bool {
	list := slices.DeleteFunc(slices.Clone(q.in.Messages), q.said().only)
	if r == nil && len(q.record.Results) > 0 {
		r = q.record.Results[0]
	}
	if len(list) == 0 || !isInput(list[len(list)-1]) {
		return false
	}
	var p *agui.Pause
	var seen []agui.SeenMessage
	if r != nil && !r.Tombstone { // of whose pause only the questions are left
		p, seen = r.Pause, r.Seen
	}
	if len(seen) == 0 {
		return !repeatsOf(p, q.in.Resume).has(list[len(list)-1])
	}
	return len(q.fresh(seen, p)) > 0
}

func allCancelled(answers []agui.Answer) bool {
	return !slices.ContainsFunc(answers, func(a agui.Answer) bool { return a.Status != agui.Cancelled })
}

func cancelAll(p *agui.Pause) []agui.Answer {
	answers := make([]agui.Answer, len(p.Interrupts))
	for n, i := range p.Interrupts {
		answers[n] = agui.Answer{ID: i.ID, Status: agui.Cancelled}
	}
	return answers
}

func isError(event json.RawMessage) bool {
	return len(event) > 0 && agui.PeekType(event) == agui.RunErrored
}

// digestAnswers is the same for answers that say the same: the order of entries and of keys does not count, and a
// payload of null is none. It is a list of `<id> <hash>`, so that what one interrupt was answered can be compared later.
func digestAnswers(answers []agui.Answer) string {
	lines := make([]string, len(answers))
	for n, a := range answers {
		lines[n] = a.ID + " " + digestAnswer(a)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func digestAnswer(a agui.Answer) string {
	line := []byte(a.Status)
	if len(a.Payload) > 0 {
		line = append(append(line, ' '), agui.Canonical(a.Payload)...)
	}
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:16])
}

// stuck finds an answer that the backend would replace by the one that it keeps, see agui.Pause.Sticky. The newest
// resume of the same question decides; one that ended well is over.
func (q *question) stuck(answers []agui.Answer) (agui.Interrupt, bool) {
	p := q.record.Pause
	if !p.Sticky {
		return agui.Interrupt{}, false
	}
	kept := q.keptAnswers()
	for n, i := range p.Interrupts {
		if digest := kept[asked{i.Native, i.Question}]; digest != "" && digest != digestAnswer(answers[n]) {
			return i, true
		}
	}
	return agui.Interrupt{}, false
}

// asked is what makes two questions the same.
type asked struct{ native, question string }

// keptAnswers are the digests of the answers with which questions were resumed last, if that failed; "" if it did not.
func (q *question) keptAnswers() map[asked]string {
	kept := map[asked]string{}
	for _, r := range q.record.Results {
		if r.Pause == nil || r.Digest == "" {
			continue
		}
		digests := map[string]string{}
		if r.Failed || r.How == store.Doubtful || isError(r.Finish) {
			for line := range strings.SplitSeq(r.Digest, "\n") {
				id, digest, _ := strings.Cut(line, " ")
				if _, twice := digests[id]; !twice {
					digests[id] = digest
				}
			}
		}
		for _, old := range r.Pause.Interrupts {
			key := asked{old.Native, old.Question}
			digest, answered := digests[old.ID]
			if _, newer := kept[key]; !newer && (answered || len(digests) == 0) {
				kept[key] = digest
			}
		}
	}
	return kept
}

func (q *question) refuseStuck(i agui.Interrupt) decision {
	d := refuse(agui.ResumeConflict, "interrupt %q was answered before and that resume failed: the backend keeps the first answer and would carry it out again, so only the same answer can be given", i.ID)
	d.reask = true
	return d
}
