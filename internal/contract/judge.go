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

// skew is how long an interrupt is still accepted after its expiry, because the clocks of client,
// proxy and store differ.
const skew = 5 * time.Second

// Judge rules on a request. The rules are tried in the order of docs/contract.md, and the first
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

// GiveUp rules on a pause whose questions are all cancelled although the cancels cannot be sent,
// because the backend would carry out an approval that it has stored, or has no value that means
// no. Nothing is sent to the backend. The pause is closed. If the backend still waits, it asks
// again in its next run.
func GiveUp(c *Case) Ruling {
	p := c.Record.Pause
	if len(c.newInput(p.SeenMessages, p)) == 0 || c.Carry != "" {
		return Ruling{Do: EmptyRun, EndKind: store.Withdrawn}
	}
	return Ruling{Do: Pass, EndKind: store.Withdrawn, OmittedParts: OmitArray | OmitCommand}
}

// AllCancelled reports whether every answer is a cancel.
func AllCancelled(answers []agui.Answer) bool {
	return !slices.ContainsFunc(answers, func(a agui.Answer) bool { return a.Status != agui.Cancelled })
}

// EndedBadly reports whether a pause was answered, and the run with the answers ended in an error
// or in doubt. The backend may still have the answers.
func EndedBadly(r *store.Result) bool { return r.EndKind == store.Doubtful || isError(r.Finish) }

func isError(event json.RawMessage) bool {
	return len(event) > 0 && agui.PeekType(event) == agui.RunErrored
}

func refuse(code agui.Code, format string, args ...any) Ruling {
	return Ruling{Do: Refuse, Refusal: agui.Errorf(code, format, args...)}
}

// reask returns a refusal after which the open question is sent again.
func reask(code agui.Code, format string, args ...any) Ruling {
	r := refuse(code, format, args...)
	r.AsksAgain = true
	return r
}

// refuseUnknown returns the refusal of an answer to an unknown question. id is "" if the answer is
// in the backend's own form and names no interrupt.
func (c *Case) refuseUnknown(id string) Ruling {
	r := refuse(agui.UnknownInterruptID, textAnswersNothing)
	if id != "" {
		r = refuse(agui.UnknownInterruptID, textUnknownID, agui.Shorten(id), c.whyUnknown(id))
	}
	r.Refusal.Message += c.howToKeep()
	r.AsksAgain = c.Record.Pause != nil
	return r
}

// mintedIDSuffix matches the end of the ids that Holdpoint makes: the backend's own id, a tilde and
// 72 random bits.
var mintedIDSuffix = regexp.MustCompile(`~[A-Za-z0-9_-]{12}$`)

// howToKeep tells an application of .NET how to keep its thread, which its client does not do by
// itself. It returns "" for other clients.
func (c *Case) howToKeep() string {
	if !c.NewThreads {
		return ""
	}
	return textKeepThread
}

// IsMinted reports whether an id has the form of those that Holdpoint makes.
func IsMinted(id string) bool { return mintedIDSuffix.MatchString(id) }

// whyUnknown returns why an id that Holdpoint made may not be on record. It returns "" for other
// ids, and for an id that is on record.
func (c *Case) whyUnknown(id string) string {
	switch {
	case !mintedIDSuffix.MatchString(id) || c.Record.ResultOf(id) != nil || c.Record.Pause != nil && c.Record.Pause.Interrupt(id) != nil:
		return ""
	case c.InMemory:
		return textLostWithMemory
	}
	return textNotHere
}

// firstNamed returns the id that the first answer names, or "".
func (c *Case) firstNamed() string {
	if len(c.Answers) == 0 {
		return ""
	}
	return c.Answers[0].ID
}

// carriesPause reports whether the pause that the request is to carry is open or claimed. A pause
// in doubt is not carried, because only a client can be told of the doubt.
func (c *Case) carriesPause() bool {
	p := c.Record.Pause
	return p != nil && p.ID == c.Carry && c.Record.State != store.InDoubt
}

// whileClaimed rules on a request while a resume of the thread is running. Nothing else may be sent
// to the backend.
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
			return Ruling{Do: EmptyRun} // another request carries it
		}
		return Ruling{Do: Wait} // the request has no answer; it waits for the end of the run that began without it
	}
	return refuse(agui.ResumeInProgress, textResumeRunning)
}

// withoutAnswers rules on a request without answers, or with an empty resume array.
func (c *Case) withoutAnswers() Ruling {
	if p := c.Record.Pause; c.OtherThread && p != nil && !p.Decided() && len(c.newInput(p.SeenMessages, p)) == 0 {
		return Ruling{Do: TellAgain} // it repeats an answer that is older than the question
	}
	if c.OtherThread && c.givesUp() {
		return c.resume(c.decisionsAndCancels())
	}
	if c.OtherThread && c.Carry == "" {
		r := Ruling{Do: Pass} // PassesHere judges it by the record of its own thread
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
		// All questions are decided, so any request becomes the resume: it brings the history and the
		// tools of the chat, and its client sees the run.
		return c.resume(c.decisionsAndCancels())
	case c.Input.HasResume:
		return reask(agui.PartialResume, textPartial, c.firstOpen(), len(p.Decisions), len(p.Interrupts))
	case c.Carry != "":
		return Ruling{Do: EmptyRun} // the questions are not decided
	case c.onlyCancels() && (len(c.newInput(p.SeenMessages, p)) > 0 || !c.asksForCancel()):
		// No question can be approved any more, so new input counts as cancelling them. Silence does not
		// become an approval: every answer is "cancelled".
		return c.resume(c.decisionsAndCancels())
	case len(c.newInput(p.SeenMessages, p)) == 0:
		return Ruling{Do: TellAgain}
	case c.givesUp():
		return c.resume(c.decisionsAndCancels())
	}
	return reask(agui.PendingInterrupts, textOpen, c.firstOpen(), len(p.Interrupts)-len(p.Decisions))
}

// givesUp reports whether the request has a new message of the user, which cancels the open pause.
// Tool messages do not count, because a client sends the results of its own tools without the user.
func (c *Case) givesUp() bool {
	p := c.Record.Pause
	return c.GivesUp && p != nil && slices.ContainsFunc(c.newInput(p.SeenMessages, p), func(m agui.Message) bool { return m.Role == "user" })
}

// judgeWithoutAnswers rules on the request as if it had no answers.
func (c *Case) judgeWithoutAnswers() Ruling {
	as := *c
	as.Answers, as.ReadError, as.Input.HasResume = nil, nil, false
	r := as.withoutAnswers()
	if r.Do == Pass {
		r.OmittedParts = OmitArray | OmitCommand
	}
	return r
}

// PassesHere rules on a request that passes according to the record of another thread. It uses the
// record of the request's own thread, without the answers, which were for the other thread. there
// is the ruling by the other record.
func PassesHere(c *Case, there Ruling) Ruling {
	r := c.judgeWithoutAnswers()
	switch r.Do {
	case Pass:
	case Resume:
		r.AnswersUnused, r.Standing = there.AnswersUnused, there.Standing
		return r
	default:
		return r
	}
	there.MissedEnd, there.NewMessages = r.MissedEnd, r.NewMessages
	return there
}

// judgeNoneOpen rules on answers that name no open interrupt. Either they repeat the answers to an
// ended pause, or they are too late, or the client keeps its list of open interrupts after a
// RUN_ERROR and can send nothing but a resume.
func (c *Case) judgeNoneOpen() Ruling {
	result := c.namedResult()
	ended := result != nil && !result.Tombstone
	bringsNew := c.bringsNewSince(result)
	failed := ended && (result.EndKind != store.Finished || isError(result.Finish))

	if bringsNew && c.inHistory() {
		// The client was already told how the question ended, and must not be told at every request.
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
			case Refuse, Reopen: // the thread is opened again, and its question can only be cancelled
			default:
				return late // otherwise the client would not learn that the question failed
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

// reopenNamed reopens a pause of questions that only clients know, so that it can be cancelled.
func reopenNamed(p *agui.Pause) Ruling {
	return Ruling{Do: Reopen, Replay: &store.Result{EndKind: store.Doubtful, Pause: p, SeenMessages: p.SeenMessages}}
}

// cancelsNamed returns a pause of the questions that the answers cancel, if only clients know them.
// It returns nil if any answer is not such a cancel.
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

// whyNotCancelled returns why a cancel is not sent to the backend, although the backend may still
// wait for it. result is the result of the question, or nil if unknown. Some backends read a cancel
// as the choice of their first option, so it is sent only if it is known to be a denial.
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
// thread forever if the backend still waits. Then the pause is cancelled before the message is
// sent.
func (c *Case) isLocked() bool {
	if len(c.Record.Results) == 0 || c.LocksThread == nil || c.Carry != "" {
		return false
	}
	newest := c.Record.Results[0]
	return newest.EndKind == store.Doubtful && !newest.Tombstone && newest.Pause != nil && c.LocksThread(newest.Pause)
}

// forwardsCancel reports whether the answers cancel an ended pause that the backend may still wait
// for, and are to be sent: its outcome is unknown, or its run failed and a cancel can end it.
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

// refuseLate returns the refusal of an answer to a question that has ended. result is its result,
// or nil if unknown.
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

// judgeOpen rules on answers of which at least one is for an open interrupt.
func (c *Case) judgeOpen() Ruling {
	answers, refused := c.coverQuestions()
	if refused != nil {
		return *refused
	}
	p := c.Record.Pause
	for n, i := range p.Interrupts {
		if r := c.refuseCancelOnly(i, answers[n]); r != nil && p.Decision(i.ID) == nil {
			if c.inHistory() && c.onlyCancels() && len(c.newInput(p.SeenMessages, p)) > 0 {
				// The answer was refused as too late before, and stays in the history of all later requests.
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

// resume returns the ruling for a complete set of valid answers.
func (c *Case) resume(answers []agui.Answer) Ruling {
	p := c.Record.Pause
	if i, stuck := c.findIgnoredAnswer(answers); stuck {
		switch {
		case AllCancelled(answers) && p.CancelEnds:
			return Ruling{Do: Resume, Answers: answers, EndOnly: true, NewMessages: c.newInput(p.SeenMessages, p)}
		case AllCancelled(answers):
			return GiveUp(c)
		}
		return refuseOtherAnswer(i)
	}
	return Ruling{Do: Resume, Answers: answers, NewMessages: c.newInput(p.SeenMessages, p)}
}

func refuseOtherAnswer(i agui.Interrupt) Ruling {
	r := reask(agui.ResumeConflict, textKeptByBackend, i.ID)
	r.Standing = &Standing{State: KeptByBackend}
	return r
}

// refuseCancelOnly refuses an answer to a question that can only be cancelled. It returns nil if
// the question accepts other answers, or if the answer is a cancel.
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

// refuseUnfitPayload refuses a payload that does not fit its question, because of the schema,
// because of the call that it names, or because it has edits that the question does not offer. It
// returns nil if the payload fits. Of a payload in the dialect's own form it checks only the call;
// the dialect checks the rest.
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

// coverQuestions returns one answer for each question of the open pause, in order, or a refusal if
// some are missing. If a question was decided outside of the chat, for example at the desk, the
// decision is its answer. A different answer of the request is then refused, or ignored if it is a
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
			// The last message with an answer counts, because a history may also have an answer that was
			// refused.
			r := reask(agui.ResumeConflict, textAnsweredTwice, agui.Shorten(a.ID))
			return nil, &r
		}
		if d := p.Decision(a.ID); d != nil && d.Digest != DigestOf(a) {
			if (a.Message != agui.SeenMessage{}) && len(c.newInput(p.SeenMessages, p)) > 0 {
				continue // it stays in the history, so refusing it would block the chat
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

// inHistory reports whether all answers are in messages, which the client sends again with every
// run.
func (c *Case) inHistory() bool {
	return !slices.ContainsFunc(c.Answers, func(a agui.Answer) bool { return a.Message == (agui.SeenMessage{}) })
}

// readForPause reports whether the answers were read for the pause. Ids are not enough: while a
// request waits, another question may open, and an answer in the backend's own form names no id.
func (c *Case) readForPause(pauseID string) bool { return c.ReadFor == "" || c.ReadFor == pauseID }

func (c *Case) namesOpen() bool {
	p := c.Record.Pause
	return p != nil && c.readForPause(p.ID) && slices.ContainsFunc(c.Answers, func(a agui.Answer) bool {
		return p.Interrupt(a.ID) != nil
	})
}

// namedResult returns the result of the pause that the answers name.
func (c *Case) namedResult() *store.Result {
	ids := make([]string, len(c.Answers))
	for n, a := range c.Answers {
		ids[n] = a.ID
	}
	for _, r := range c.Record.Results { // two pauses may have the same ids if the backend's ids are kept
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

// onlyCancel reports whether an interrupt can only be cancelled.
func (c *Case) onlyCancel(i agui.Interrupt) bool { return i.CancelOnly || c.isExpired(i) }

// asksForCancel reports whether an open question asks for a cancel. Such a question is sent again
// to a page that is reloaded.
func (c *Case) asksForCancel() bool {
	return slices.ContainsFunc(c.Record.Pause.Interrupts, func(i agui.Interrupt) bool { return i.CancelOnly })
}

// onlyCancels reports whether every open question can only be cancelled.
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
