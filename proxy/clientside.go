package proxy

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/history"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/tell"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/store"
)

// A clientSide contains what the client of a run knows: its messages, and what this run has sent to
// it.
type clientSide struct {
	judge *judge
	preparedRun
	stream    client.Stream
	openCalls history.StreamCalls
	ownPause  string      // the id of the pause that this run raised
	paused    *agui.Pause // the pause whose questions the client was sent
	laterRuns int         // how many further runs this stream has had after the first
}

// wholeTranscript returns a transcript of the client's messages that also contains the calls that
// Holdpoint has withheld. It is for a run that the backend refused because the backend still waits
// for an answer. That backend runs no calls by itself, and may need the call for which it waits.
func (c *clientSide) wholeTranscript() *transcript.Transcript {
	return transcript.New(c.judge.opts.TranscriptBytes, c.withheldFrom, c.judge.in.State)
}

// withdraw closes the pause that an earlier run of this stream raised, if it is still open. The
// backend continues without an answer, so there is nothing to answer any more.
func (c *clientSide) withdraw() {
	if c.paused == nil || c.paused.ID != c.ownPause {
		return
	}
	if rec, err := c.judge.ledger.Load(); err == nil && rec.State != store.Open {
		return // the pause was answered, and the run with that answer records its end
	}
	err := c.judge.ledger.Close(c.paused.ID, store.Result{EndKind: store.Withdrawn, SeenMessages: c.paused.SeenMessages}, ledger.WithdrawnPause(c.paused))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		c.judge.log.Warn(logLaterRunNotWithdrawn, "err", err)
	}
	c.paused = nil
}

// tellListener returns the client of the run as a tell.Listener. It adds the facts that the package
// tell needs besides the end of the run.
func (c *clientSide) tellListener() tell.Listener {
	l := tell.Listener{
		Listener: c.listener(), Calls: &c.knownCalls, Answers: c.answersSomething(),
		HiddenSnapshots: client.HiddenSnapshots{State: c.hidden.state, Messages: c.hidden.messages},
		ClientLeft:      errors.Is(context.Cause(c.judge.ctx), context.Canceled),
	}
	if c.transcript != nil {
		l.Stream = c.transcript
	}
	if c.notTaken != nil {
		l.NotTaken = c.refusal(c.notTaken, c.standing)
	}
	return l
}

// answersSomething reports whether the request answers a question, as far as that is known, or its
// thread waits for answers. It is false for later runs of the same stream, because they have no
// answers.
func (c *clientSide) answersSomething() bool {
	if c.laterRuns > 0 {
		return false
	}
	in := c.judge.request.input
	_, sent := in.CommandResume()
	return in.HasResume || sent || c.judge.request.answers
}

// refusal returns the refusal of the request's answers in the form for the client. standing is the
// answer that counts in place of the refused ones, or nil.
func (c *clientSide) refusal(runError *agui.RunError, standing *contract.Standing) *client.Refusal {
	answers := make([]tell.Answer, len(c.judge.answers.list))
	read := c.judge.readings(c.judge.answers.list)
	for n := range c.judge.answers.list {
		a := &c.judge.answers.list[n]
		answers[n] = tell.Answer{Status: a.Status, Verdict: agui.VerdictOf(a, read[n])}
	}
	return tell.RefusalFor(runError, standing, answers, c.judge.record.Now, c.judge.opts.ShowPrincipal)
}

// fetchSnapshots loads snapshots from the store. If a snapshot cannot be loaded, the client gets
// nothing in its place.
func (c *clientSide) fetchSnapshots(refs []settle.Ref) tell.NamedSnapshots {
	kept := make(tell.NamedSnapshots, len(refs))
	for _, ref := range refs {
		shown := c.judge.fetch(ref)
		var list []json.RawMessage
		for _, m := range gjson.ParseBytes(shown.Messages).Array() {
			list = append(list, json.RawMessage(m.Raw))
		}
		list, whole := history.WithAnswers(list, c.judge.in.Messages, c.judge.onlyAnswers())
		if !whole {
			list = nil
		}
		kept[ref] = &tell.Snapshots{List: list, Kept: shown.Messages, State: shown.State}
	}
	return kept
}

// listener returns the client of the run as the package client needs it.
func (c *clientSide) listener() client.Listener {
	l := c.judge.listener()
	l.FollowsRun = c.laterRuns > 0
	return l
}

// callOf returns the events of the call to which a result belongs. It returns nil if the client
// already has the call, or the stream has begun it.
func (c *clientSide) callOf(result agui.Event) []agui.Event {
	events, isNew := c.knownCalls.CallOf(result)
	if isNew {
		for _, ev := range events {
			c.transcript.Add(ev)
		}
	}
	return events
}

// withCalls returns the events that end an exchange. Before each result whose call the client
// lacks, it adds the events of that call. It also adds all of them to the transcript, except the
// calls that callOf has already added.
func (c *clientSide) withCalls(events []agui.Event) []agui.Event {
	with, lacks := events, c.knownCalls.AnyLacking()
	if lacks {
		with = nil
	}
	for _, ev := range events {
		if ev.Type == agui.CallResult {
			with = append(with, c.callOf(ev)...) // no events if the client has the call
			c.knownCalls.NoteResult(ev)
		}
		if lacks {
			with = append(with, ev)
		}
		c.noteCall(ev)
		c.transcript.Add(ev)
	}
	return with
}

// endSubagents returns the SUBAGENT_FINISHED events that were held back until it was known whether
// the run asks a question. p is the pause with the question, or nil.
func (c *clientSide) endSubagents(p *agui.Pause) []agui.Event {
	list := c.stream.Take(p)
	for _, ev := range list {
		c.transcript.Add(ev)
	}
	return list
}

// logOmission logs that a snapshot was not sent to the client.
func (c *clientSide) logOmission(o client.Omission) {
	switch o {
	case client.StateWithheld:
		c.judge.log.Debug("STATE_SNAPSHOT left out: the answer came without a message of the thread")
	case client.StateUnknown:
		c.judge.log.Warn(logStateOmitted, "limit", c.judge.opts.TranscriptBytes)
	case client.MessagesWithheld:
		c.judge.log.Debug("MESSAGES_SNAPSHOT left out: the answer came without a message of the thread")
	case client.MessagesUnknown:
		c.judge.log.Warn(logMessagesOmitted, "limit", c.judge.opts.TranscriptBytes)
	case client.MessagesShareID:
		c.judge.log.Warn(logMessagesShareID)
	}
}
