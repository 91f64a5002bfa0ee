package contract

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// skew is how long an interrupt still accepts an answer after its expiry, because the clocks of the
// client, of Holdpoint and of the store differ.
const skew = 5 * time.Second

// Judge rules on a request. It tries the rules in the order of docs/contract.md, and the first rule
// that fits decides.
func Judge(c *Case) Ruling {
	if c.Carry != "" && !c.carriesPause() {
		return Ruling{Do: EmptyRun}
	}
	answering := len(c.Answers) > 0 || c.ReadError != nil
	if c.OtherPrincipal {
		// A stranger must not learn that the thread waits for something. So his answers are refused like
		// answers that name an unknown question.
		if answering || c.Input.HasResume {
			nobodys := *c
			nobodys.Record = store.Record{Now: c.Record.Now}
			return nobodys.refuseUnknown(c.firstNamed())
		}
		return refuse(agui.ThreadForbidden, textNotOwner)
	}
	switch c.Record.State {
	case store.Claimed:
		return c.whileClaimed()
	case store.InDoubt:
		r := refuse(agui.ResumeInDoubt, textInDoubt)
		r.EndKind = store.Doubtful
		return r
	}
	switch {
	case c.ReadError != nil:
		return Ruling{Do: Refuse, Refusal: c.ReadError, AsksAgain: c.Record.Pause != nil}
	case c.EndsInStrayDecision && c.StrayCallID != "":
		return c.refuseUnknown(c.StrayCallID)
	case c.EndsInStrayDecision:
		if c.Record.Pause != nil {
			r := refuse(agui.UnknownInterruptID, textStrayApproval)
			r.AsksAgain = true
			return r
		}
		return refuse(agui.UnknownInterruptID, textNothingOpenFor, c.howToKeep())
	case c.UnaskedCallID != "":
		r := refuse(agui.UnknownInterruptID, textUnaskedCall, agui.Shorten(c.UnaskedCallID))
		r.AsksAgain = c.Record.Pause != nil
		return r
	case !answering:
		return c.withoutAnswers()
	case !c.namesOpen():
		return c.judgeNoneOpen()
	}
	return c.judgeOpen()
}

// GiveUp rules on a pause whose questions are all cancelled, if the cancels cannot be sent: the
// backend would carry out an approval that it has stored, or it has no value that means no. GiveUp
// closes the pause without sending any answer to the backend. If the backend still waits, it asks
// the question again in its next run.
func GiveUp(c *Case) Ruling {
	p := c.Record.Pause
	if len(c.newInput(p)) == 0 || c.Carry != "" {
		return Ruling{Do: EmptyRun, EndKind: store.Withdrawn}
	}
	return Ruling{Do: Pass, EndKind: store.Withdrawn, OmittedParts: OmitArray | OmitCommand}
}

// AllCancelled reports whether every answer is a cancel.
func AllCancelled(answers []agui.Answer) bool {
	return !slices.ContainsFunc(answers, func(a agui.Answer) bool { return a.Status != agui.Cancelled })
}

// EndedBadly reports whether a pause was answered, but the run with the answers ended in an error
// or in doubt. The backend may still have the answers.
func EndedBadly(r *store.Result) bool { return r.EndKind == store.Doubtful || isError(r.Finish) }

func isError(event json.RawMessage) bool {
	return len(event) > 0 && agui.PeekType(event) == agui.RunErrored
}

func refuse(code agui.Code, format string, args ...any) Ruling {
	return Ruling{Do: Refuse, Refusal: agui.Errorf(code, format, args...)}
}

// reask returns a refusal that also allows the open question to be sent to the client again.
func reask(code agui.Code, format string, args ...any) Ruling {
	r := refuse(code, format, args...)
	r.AsksAgain = true
	return r
}

// refuseUnknown returns the refusal of an answer to an unknown question. The parameter id is "" if
// the answer is in the backend's own form and names no interrupt.
func (c *Case) refuseUnknown(id string) Ruling {
	r := refuse(agui.UnknownInterruptID, textAnswersNothing)
	if id != "" {
		r = refuse(agui.UnknownInterruptID, textUnknownID, agui.Shorten(id), c.whyUnknown(id))
	}
	r.Refusal.Message += c.howToKeep()
	r.AsksAgain = c.Record.Pause != nil
	return r
}

// mintedIDSuffix matches the end of an id that Holdpoint has made. Such an id consists of the
// backend's own id, a tilde and 72 random bits.
var mintedIDSuffix = regexp.MustCompile(`~[A-Za-z0-9_-]{12}$`)

// howToKeep returns a text that tells the developer of a .NET application how to keep its thread. A
// .NET client does not keep the thread by itself. For other clients, howToKeep returns "".
func (c *Case) howToKeep() string {
	if !c.NewThreads {
		return ""
	}
	return textKeepThread
}

// IsMinted reports whether an id has the form of the ids that Holdpoint makes.
func IsMinted(id string) bool { return mintedIDSuffix.MatchString(id) }

// whyUnknown returns the possible reason why the record does not have an id that Holdpoint made. It
// returns "" for an id that is on record, and for an id that Holdpoint did not make.
func (c *Case) whyUnknown(id string) string {
	switch {
	case !mintedIDSuffix.MatchString(id) || c.Record.ResultOf(id) != nil || c.Record.Pause != nil && c.Record.Pause.Interrupt(id) != nil:
		return ""
	case c.InMemory:
		return textLostWithMemory
	}
	return textNotHere
}

// firstNamed returns the interrupt id that the first answer names, or "" if there are no answers.
func (c *Case) firstNamed() string {
	if len(c.Answers) == 0 {
		return ""
	}
	return c.Answers[0].ID
}

// carriesPause reports whether the pause c.Carry, which the request is to send to the backend, is
// open or claimed. A pause in doubt is not carried, because only a client can be told of the doubt.
func (c *Case) carriesPause() bool {
	p := c.Record.Pause
	return p != nil && p.ID == c.Carry && c.Record.State != store.InDoubt
}

// whileClaimed rules on a request while another run resumes the pause of the thread. In this time,
// nothing else may be sent to the backend.
func (c *Case) whileClaimed() Ruling {
	p := c.Record.Pause
	for _, a := range c.Answers {
		if p.Interrupt(a.ID) == nil || !c.readForPause(p.ID) {
			continue
		}
		if c.repeatsAnswers(c.Record.Digest, p) {
			return Ruling{Do: Wait}
		}
		r := refuse(agui.ResumeConflict, textBeingResumed, agui.Shorten(a.ID))
		r.Standing = c.standingNow(BeingCarried)
		return r
	}
	if len(c.Answers) == 0 && c.ReadError == nil && p.Decided() {
		if c.Carry != "" {
			return Ruling{Do: EmptyRun} // another request sends the decisions
		}
		// every question is decided, so the request waits for the end of the run that sends the
		// decisions
		return Ruling{Do: Wait}
	}
	return refuse(agui.ResumeInProgress, textResumeRunning)
}

// withoutAnswers rules on a request that has no answers. It may have an empty resume array.
func (c *Case) withoutAnswers() Ruling {
	if p := c.Record.Pause; c.OtherThread && p != nil && !p.Decided() && len(c.newInput(p)) == 0 {
		// the request repeats an answer that is older than the question
		return Ruling{Do: TellAgain}
	}
	if c.OtherThread && c.givesUp() {
		return c.resume(c.decisionsAndCancels())
	}
	if c.OtherThread && c.Carry == "" {
		r := Ruling{Do: Pass} // PassesHere judges the request by the record of its own thread
		if c.Input.HasResume {
			r.OmittedParts = OmitArray
		}
		return r
	}
	p := c.Record.Pause
	if missed := c.unseenEnd(); missed != nil {
		return c.catchUp(missed)
	}
	switch {
	case p == nil && c.isLocked():
		return Ruling{Do: Reopen, Replay: c.Record.Results[0]}
	case p == nil && c.NamedPause != nil && c.Carry == "" && c.LocksThread != nil && c.LocksThread(c.NamedPause):
		return reopenNamed(c.NamedPause)
	case p == nil && c.Input.HasResume:
		return Ruling{Do: Pass, OmittedParts: OmitArray}
	case p == nil:
		return Ruling{Do: Pass}
	case p.Decided():
		// All questions are decided, so any request becomes the resume. A request of the chat is
		// better for this than one that Holdpoint makes: it has the chat's history and tools, and
		// its client sees the run.
		return c.resume(c.decisionsAndCancels())
	case c.Input.HasResume:
		return reask(agui.PartialResume, textPartial, c.firstOpen(), len(p.Decisions), len(p.Interrupts))
	case c.Carry != "":
		return Ruling{Do: EmptyRun} // not all questions are decided
	case c.onlyCancels() && (len(c.newInput(p)) > 0 || !c.asksForCancel()):
		// No question can be approved any more, so new input counts as a cancel of the questions.
		// Silence does not become an approval: every answer is "cancelled".
		return c.resume(c.decisionsAndCancels())
	case len(c.newInput(p)) == 0:
		return Ruling{Do: TellAgain}
	case c.givesUp():
		return c.resume(c.decisionsAndCancels())
	}
	return reask(agui.PendingInterrupts, textOpen, c.firstOpen(), len(p.Interrupts)-len(p.Decisions))
}

// givesUp reports whether the request has a new message of the user that cancels the open pause. A
// tool message does not count, because a client sends the results of its own tools without the
// user.
func (c *Case) givesUp() bool {
	p := c.Record.Pause
	return c.GivesUp && p != nil && slices.ContainsFunc(c.newInput(p), func(m agui.Message) bool { return m.Role == "user" })
}

// judgeWithoutAnswers rules on the request as if it had no answers and no resume array.
func (c *Case) judgeWithoutAnswers() Ruling {
	as := *c
	as.Answers, as.ReadError, as.Input.HasResume = nil, nil, false
	r := as.withoutAnswers()
	if r.Do == Pass {
		r.OmittedParts = OmitArray | OmitCommand
	}
	return r
}

// PassesHere rules on a request that is an ordinary run according to the record of another thread.
// It uses the record of the request's own thread, and ignores the answers, which were for the other
// thread. The parameter otherRuling is the ruling by the record of the other thread.
func PassesHere(c *Case, otherRuling Ruling) Ruling {
	r := c.judgeWithoutAnswers()
	switch r.Do {
	case Pass:
	case Resume:
		r.AnswersUnused, r.Standing = otherRuling.AnswersUnused, otherRuling.Standing
		return r
	default:
		return r
	}
	otherRuling.MissedEnd, otherRuling.NewMessages = r.MissedEnd, r.NewMessages
	return otherRuling
}

// judgeNoneOpen rules on answers that name no open interrupt. Either the answers repeat those to an
// ended pause, or they come too late. Or the client has kept its list of open interrupts after a
// RUN_ERROR, and can send nothing but a resume.
func (c *Case) judgeNoneOpen() Ruling {
	result := c.namedResult()
	ended := result != nil && !result.Tombstone
	bringsNew := c.bringsNewSince(result)
	failed := ended && (result.EndKind != store.Finished || isError(result.Finish))

	if bringsNew && c.inHistory() {
		// The client was already told how the question ended, and must not be told again at every
		// request.
		return c.judgeWithoutAnswers()
	}
	if ended && result.Digest != "" && c.repeatsAnswers(result.Digest, result.Pause) && !(failed && AllCancelled(c.Answers)) {
		switch {
		case bringsNew:
			r := c.judgeWithoutAnswers()
			if !failed {
				return r
			}
			late := c.refuseLate(result)
			if result.EndKind == store.Finished {
				late.Refusal = agui.Errorf(agui.ResumeConflict, textFailedBefore, agui.Shorten(c.Answers[0].ID))
			}
			switch r.Do {
			case Pass, Resume:
				r.AnswersUnused, r.Standing = late.Refusal, late.Standing
			// the new ruling opens the pause again for a cancel, or refuses the request
			case Refuse, Reopen:
			default:
				return late // because the client must learn that the run with its answers failed
			}
			return r
		case result.EndKind == store.Finished, result.EndKind == store.Lost:
			return Ruling{Do: Replay, Replay: result}
		}
	}
	if c.forwardsCancel(result) {
		return Ruling{Do: Reopen, Replay: result}
	}
	if p := c.cancelsNamed(); p != nil {
		return reopenNamed(p)
	}
	if AllCancelled(c.Answers) && (!ended || failed || bringsNew) {
		r := c.judgeWithoutAnswers()
		if r.Do == Pass && !bringsNew {
			r = Ruling{Do: EmptyRun, AnswersUnused: c.whyNotCancelled(result)}
		}
		return r
	}
	return c.refuseLate(result)
}

// reopenNamed returns the ruling that opens the pause p again so that it can be cancelled. p
// consists of questions that only clients know.
func reopenNamed(p *agui.Pause) Ruling {
	return Ruling{Do: Reopen, Replay: &store.Result{EndKind: store.Doubtful, Pause: p, SeenMessages: p.SeenMessages}}
}

// cancelsNamed returns a pause of the questions that the answers cancel, if only clients know these
// questions. It returns nil if any answer is not a cancel of such a question.
func (c *Case) cancelsNamed() *agui.Pause {
	if c.NamedPause == nil || c.Record.Pause != nil || !AllCancelled(c.Answers) {
		return nil
	}
	p := *c.NamedPause
	p.Interrupts = nil
	for n := range c.NamedPause.Interrupts {
		i := &c.NamedPause.Interrupts[n]
		if slices.ContainsFunc(c.Answers, func(a agui.Answer) bool { return a.ID == i.ID }) {
			p.Interrupts = append(p.Interrupts, *i)
		}
	}
	if len(p.Interrupts) != len(c.Answers) {
		return nil
	}
	return &p
}

// whyNotCancelled returns the reason why a cancel is not sent to the backend, although the backend
// may still wait. result is the result of the question, or nil if unknown. A cancel is sent only if
// the backend is known to read it as a denial, because some backends read it as the choice of their
// first option.
func (c *Case) whyNotCancelled(result *store.Result) *agui.RunError {
	id := c.firstNamed()
	switch {
	case result == nil:
		return agui.Errorf(agui.UnknownInterruptID, textCancelUnknown, agui.Shorten(id), c.whyUnknown(id))
	case !result.Tombstone && result.EndKind == store.Doubtful:
		return agui.Errorf(agui.ResumeInDoubt, textCancelInDoubt, agui.Shorten(id))
	}
	return nil
}

// isLocked reports whether the thread's newest pause ended in doubt, and a message would block the
// thread forever if the backend still waits. In this case the pause is cancelled before the message
// is sent.
func (c *Case) isLocked() bool {
	if len(c.Record.Results) == 0 || c.LocksThread == nil || c.Carry != "" {
		return false
	}
	newest := c.Record.Results[0]
	return newest.EndKind == store.Doubtful && !newest.Tombstone && newest.Pause != nil && c.LocksThread(newest.Pause)
}

// forwardsCancel reports whether the answers cancel an ended pause and must be sent, because the
// backend may still wait. This is so if the pause ended in doubt, or if its run failed and a cancel
// can end the waiting run.
func (c *Case) forwardsCancel(result *store.Result) bool {
	if c.Record.Pause != nil || result == nil || result.Tombstone || result.Pause == nil || !AllCancelled(c.Answers) || c.ForwardsCancel == nil {
		return false
	}
	if result.EndKind != store.Doubtful && !(result.Pause.CancelEnds && result.EndKind == store.Finished && isError(result.Finish)) {
		return false
	}
	for _, i := range result.Pause.Interrupts {
		if !slices.ContainsFunc(c.Answers, func(a agui.Answer) bool { return a.ID == i.ID }) {
			return false
		}
	}
	return c.ForwardsCancel(result.Pause)
}

// refuseLate returns the refusal of an answer to a question that has ended. result is the result of
// that question, or nil if unknown.
func (c *Case) refuseLate(result *store.Result) Ruling {
	id := c.Answers[0].ID
	r := c.refuseUnknown(id)
	if result != nil {
		r.Standing = c.standingOf(result)
	}
	if result != nil && !result.Tombstone {
		switch result.EndKind {
		case store.Finished:
			r.Refusal = agui.Errorf(agui.ResumeConflict, textOtherAnswers, agui.Shorten(id))
		case store.Doubtful:
			r.Refusal = agui.Errorf(agui.ResumeInDoubt, textInterruptInDoubt, id)
		case store.Lost:
			r.Refusal = agui.Errorf(agui.BackendLostInterrupt, textLost, id)
		}
	}
	r.AsksAgain = c.Record.Pause != nil
	return r
}

// judgeOpen rules on answers if at least one of them names an open interrupt.
func (c *Case) judgeOpen() Ruling {
	answers, refused := c.coverQuestions()
	if refused != nil {
		return *refused
	}
	p := c.Record.Pause
	for n, i := range p.Interrupts {
		if r := c.refuseCancelOnly(i, answers[n]); r != nil && p.Decision(i.ID) == nil {
			if c.inHistory() && c.onlyCancels() && len(c.newInput(p)) > 0 {
				// The answer came too late and was refused before. It stays in the history of all
				// later requests, so refusing it again would block the chat.
				return c.judgeWithoutAnswers()
			}
			return *r
		}
	}
	for n, i := range p.Interrupts {
		if r := c.refuseUnfitPayload(i, answers[n]); r != nil && p.Decision(i.ID) == nil {
			return *r
		}
	}
	return c.resume(answers)
}

// resume returns the ruling on a complete set of valid answers: one for each question.
func (c *Case) resume(answers []agui.Answer) Ruling {
	p := c.Record.Pause
	if i, stuck := c.findIgnoredAnswer(answers); stuck {
		switch {
		case AllCancelled(answers) && p.CancelEnds:
			return Ruling{Do: Resume, Answers: answers, EndOnly: true, NewMessages: c.newInput(p)}
		case AllCancelled(answers):
			return GiveUp(c)
		}
		return refuseOtherAnswer(i)
	}
	return Ruling{Do: Resume, Answers: answers, NewMessages: c.newInput(p)}
}

func refuseOtherAnswer(i agui.Interrupt) Ruling {
	r := reask(agui.ResumeConflict, textKeptByBackend, i.ID)
	r.Standing = &Standing{State: KeptByBackend}
	return r
}

// refuseCancelOnly returns the refusal of an answer to a question that can only be cancelled. It
// returns nil if the question accepts other answers, or if the answer is a cancel.
func (c *Case) refuseCancelOnly(i agui.Interrupt, a agui.Answer) *Ruling {
	if a.Status != agui.Resolved || !c.onlyCancel(i) {
		return nil
	}
	r := reask(agui.InterruptExpired, textExpired, i.ID)
	if i.CancelOnly {
		r = reask(agui.InvalidPayload, textCancelOnly, i.ID)
	}
	return &r
}

// refuseUnfitPayload returns the refusal of a payload that does not fit its question. The payload
// may violate the schema, name another call, or have edits that the question does not offer. It
// returns nil if the payload fits. If the payload is in the dialect's own form, only its call is
// checked here; the dialect checks the rest.
func (c *Case) refuseUnfitPayload(i agui.Interrupt, a agui.Answer) *Ruling {
	if a.Status != agui.Resolved {
		return nil
	}
	if _, wrong := i.ReadCall(a.Payload); wrong != "" {
		r := reask(agui.InvalidPayload, textWrongCall, i.ID, wrong)
		return &r
	}
	if a.OwnForm || i.Schema() == nil {
		return nil
	}
	if agui.EditsUnasked(i.Schema(), a.Payload) {
		r := reask(agui.InvalidPayload, textNoEdits, i.ID)
		return &r
	}
	if err := c.Valid(i.Schema(), a.Payload); err != nil {
		r := refusePayload(i.ID, err)
		return &r
	}
	return nil
}

// coverQuestions returns one answer for each question of the open pause, in the pause's order, or a
// refusal if an answer is missing. If a question was decided outside the chat, for example at the
// desk (the web page of approvers), the decision is its answer. If the request has a different
// answer to such a question, the request is refused. But the answer is only ignored if it is a
// message of the history and the request has new input.
func (c *Case) coverQuestions() ([]agui.Answer, *Ruling) {
	p := c.Record.Pause
	byID := make(map[string]*agui.Answer, len(c.Answers))
	for n, a := range c.Answers {
		if p.Interrupt(a.ID) == nil {
			r := c.refuseUnknown(a.ID)
			return nil, &r
		}
		old, twice := byID[a.ID]
		if twice && DigestOf(*old) != DigestOf(a) && (old.Message == agui.SeenMessage{} || a.Message == agui.SeenMessage{}) {
			// If both answers are messages, the last one counts, because the history may still have
			// an answer that was refused.
			r := reask(agui.ResumeConflict, textAnsweredTwice, agui.Shorten(a.ID))
			return nil, &r
		}
		if d := p.Decision(a.ID); d != nil && d.Digest != DigestOf(a) {
			if (a.Message != agui.SeenMessage{}) && len(c.newInput(p)) > 0 {
				continue // the message stays in the history, so refusing it would block the chat
			}
			r := reask(agui.ResumeConflict, textDecidedElsewhere, agui.Shorten(a.ID), d.Door)
			r.Standing = c.standingNow(DecidedElsewhere)
			return nil, &r
		}
		byID[a.ID] = &c.Answers[n]
	}
	ordered := make([]agui.Answer, 0, min(len(p.Interrupts), len(byID)))
	for _, i := range p.Interrupts {
		a, ok := byID[i.ID]
		if d := p.Decision(i.ID); !ok && d != nil {
			decided := d.Answer()
			a, ok = &decided, true
		}
		if !ok {
			r := reask(agui.PartialResume, textPartial, i.ID, c.answeredCount(byID), len(p.Interrupts))
			return nil, &r
		}
		ordered = append(ordered, *a)
	}
	return ordered, nil
}

func refusePayload(id string, err error) Ruling {
	if unjudged := (*unjudgedError)(nil); errors.As(err, &unjudged) {
		return reask(agui.InvalidPayload, textUnjudged, id, unjudged.reason)
	}
	return reask(agui.InvalidPayload, textUnfit, id, err)
}

// inHistory reports whether all answers are messages. A client sends these messages again with
// every run.
func (c *Case) inHistory() bool {
	return !slices.ContainsFunc(c.Answers, func(a agui.Answer) bool { return a.Message == (agui.SeenMessage{}) })
}

// readForPause reports whether the answers were read from the request as answers to this pause. To
// compare ids is not enough: while a request waits, another question may open, and an answer in the
// backend's own form names no id.
func (c *Case) readForPause(pauseID string) bool { return c.ReadFor == "" || c.ReadFor == pauseID }

func (c *Case) namesOpen() bool {
	p := c.Record.Pause
	return p != nil && c.readForPause(p.ID) && slices.ContainsFunc(c.Answers, func(a agui.Answer) bool {
		return p.Interrupt(a.ID) != nil
	})
}

// namedResult returns the result of the ended pause that the answers name, or nil if there is none.
func (c *Case) namedResult() *store.Result {
	ids := make([]string, len(c.Answers))
	for n, a := range c.Answers {
		ids[n] = a.ID
	}
	// if the backend's ids are published, two pauses may have the same ids
	for _, r := range c.Record.Results {
		if c.ReadFor != "" && r.PauseID == c.ReadFor {
			if only := (store.Record{Results: []*store.Result{r}}); only.ResultOf(ids...) != nil {
				return r
			}
		}
	}
	return c.Record.ResultOf(ids...)
}

func (c *Case) isExpired(i agui.Interrupt) bool {
	t, ok := i.Expires()
	return ok && c.Record.Now.After(t.Add(skew))
}

// onlyCancel reports whether the only possible answer to an interrupt is a cancel.
func (c *Case) onlyCancel(i agui.Interrupt) bool { return i.CancelOnly || c.isExpired(i) }

// asksForCancel reports whether CancelOnly is set for an open question. Such a question is sent
// again when the page of the chat is reloaded.
func (c *Case) asksForCancel() bool {
	return slices.ContainsFunc(c.Record.Pause.Interrupts, func(i agui.Interrupt) bool { return i.CancelOnly })
}

// onlyCancels reports whether the only possible answer to every undecided question is a cancel.
func (c *Case) onlyCancels() bool {
	p := c.Record.Pause
	return !slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return !c.onlyCancel(i) && p.Decision(i.ID) == nil })
}

// CancelAll returns a cancel for each question of the pause.
func CancelAll(p *agui.Pause) []agui.Answer {
	answers := make([]agui.Answer, len(p.Interrupts))
	for n, i := range p.Interrupts {
		answers[n] = agui.Answer{ID: i.ID, Status: agui.Cancelled}
	}
	return answers
}
