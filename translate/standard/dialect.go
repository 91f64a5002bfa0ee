// Package standard is the dialect agui. It is for backends that already send the interrupt outcome
// and read the resume array. For them, Holdpoint adds only the contract: unique ids, claims,
// replays and refusals.
//
// The dialect changes only what it must: the ids, null members (@ag-ui/client from 0.0.54 on fails
// at them), and a reason that is missing or not a text. Any other malformed value stays unchanged,
// so that the client reports it. profiles.go has the peculiarities of single backends. The dialect
// also translates Mastra's own announcement, because Mastra sends it together with the outcome, and
// a client may answer it.
//
// The dialect follows AG-UI 1.0, basic/patterns/interrupt-resume, and AG-UI's page on interrupts.
package standard

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// Name is the dialect's name in HOLDPOINT_DIALECT.
const Name = "agui"

// reasonDefault is the reason that Holdpoint gives to an interrupt without a reason. Clients fail
// at an interrupt without one.
const reasonDefault = "agui:interrupt"

var (
	_ translate.Signer        = (*Dialect)(nil)
	_ translate.Freer         = (*Dialect)(nil)
	_ translate.Stateless     = (*Dialect)(nil)
	_ translate.HistoryReader = (*Dialect)(nil)
)

// A Dialect implements translate.Dialect. Its zero value is the dialect agui.
type Dialect struct {
	name string // MastraName, or "" for the dialect agui
}

// New returns the dialect agui. It has no options and never warns.
func New(struct{}, translate.Warn) (*Dialect, error) { return &Dialect{}, nil }

// General implements translate.General. It returns false for the dialect mastra, because mastra
// also treats calls as questions.
func (d *Dialect) General() bool { return d.name == "" }

// Name implements translate.Dialect.
func (d *Dialect) Name() string {
	if d.name != "" {
		return d.name
	}
	return Name
}

// Replies implements translate.HistoryReader. No message answers a question of this dialect.
// Replies yields only messages that another backend could read as a decision.
func (d *Dialect) Replies(in agui.RunInput, detectedDialect string) iter.Seq[translate.Reply] {
	return microsoft.NativeApprovals(in, detectedDialect == d.Name())
}

// AnswerIn implements translate.HistoryReader.
func (*Dialect) AnswerIn(agui.Message, translate.Reply, agui.Interrupt) (agui.Answer, bool) {
	return agui.Answer{}, false
}

// Sign implements translate.Signer. It claims these events:
//
//   - an interrupt outcome that is an object
//   - a CUSTOM on_interrupt that is not from LangGraph, because an outcome may follow it, and
//     CrewAI and Mastra also ask without an outcome (auto asks LangGraph's dialect first)
//   - a RUN_ERROR which reports that the thread waits for an answer (blockedbackends.go)
//
// If no question follows, the stream passes unchanged.
func (d *Dialect) Sign(ev agui.Event, _ *translate.Request) bool {
	if d.name != "" {
		return false // agui claims the questions of Mastra that can be detected
	}
	switch ev.Type {
	case agui.RunFinished:
		return hasInterrupts(ev)
	case agui.Custom:
		return kit.Announced(ev) != kit.NoDialect
	case agui.RunErrored:
		code := agui.Code(ev.Get("code").Str)
		for _, w := range blockedBackends {
			if code == w.refusal {
				return true
			}
		}
	}
	return false
}

// Continues implements translate.Continuer. It returns true because of the .NET host on
// AGUI.Server. When this host asks for input, its stream looks like that of any backend with the
// interrupt outcome. So the path of such a host may be on record with this dialect and without a
// known backend.
func (d *Dialect) Continues(detectedDialect, backend string) bool {
	return d.name == "" && (detectedDialect == "" || detectedDialect == Name && backend == "")
}

// AsksUnder implements translate.Stateless. It is for the .NET host on AGUI.Server, see Continues.
func (d *Dialect) AsksUnder(id, detectedDialect string) (call string, asks bool) {
	call, is := microsoft.CallOf(id)
	return call, is && d.name == "" && detectedDialect == Name
}

// KeepsNothing implements translate.Stateless. It returns false because a backend that asks by the
// outcome may store its questions.
func (*Dialect) KeepsNothing(*agui.Pause) bool { return false }

// ReadsCalls implements translate.Stateless.
func (d *Dialect) ReadsCalls(p *agui.Pause) bool {
	return p.Dialect == d.Name() && slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return profileOfInterrupt(&i).readsCalls })
}

// Begin implements translate.Dialect. In most cases an ordinary run passes unchanged.
func (d *Dialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	if r.Pause.ID == "" {
		var out translate.Out
		in := withoutAbandoned(r)
		if len(in.Raw) != len(r.Input.Raw) {
			out.Body = in.Raw
		}
		if d.name == MastraName || r.Backend == mastra || r.SharedRunID {
			out.Body = kit.OwnRunID(r, in.Raw)
		}
		ordinary := newRun()
		ordinary.plain, ordinary.suspends, ordinary.calls = r, waitingCall(r, out.Body), d.watchCalls(r)
		return out, ordinary, nil
	}
	for n, a := range r.Answers {
		if forgesCall(r.Pause.Interrupts[n], a.Payload) {
			return translate.Out{}, nil, agui.Errorf(agui.InvalidPayload, textToolCall, a.ID)
		}
	}
	if err := kit.OneForEachID(r.Pause, r.Answers); err != nil {
		return translate.Out{}, nil, err
	}
	answers := slices.Clone(r.Answers)
	for n := range answers {
		profile := profileOfInterrupt(&r.Pause.Interrupts[n])
		if profile.anyID {
			if err := kit.RefuseContested(r.Pause, answers[n]); err != nil {
				return translate.Out{}, nil, err
			}
		}
		said, err := profile.outgoingAnswer(answers[n])
		if err != nil {
			return translate.Out{}, nil, err
		}
		answers[n] = said
	}
	if goesByCommand(r.Pause) {
		if err := takesCommand(r.Input); err != nil {
			return translate.Out{}, nil, err
		}
	}
	in := r.Input
	if _, sent := in.CommandResume(); sent {
		// The command was the answer or repeats it. This backend reads no command.
		in = in.WithoutCommand()
	}
	resume := kit.ResumeArray(r.Input, r.Pause, answers)
	question, isLost := lostStateOf(&r.Pause.Interrupts[0])
	if isLost {
		resume = giveUp(question, r)
	}
	body := agui.SetKey(in.Raw, "resume", withProofs(resume, r))
	cut, later := extraMessages(r)
	ifEnded := onlyCancels(r) && profileOfInterrupt(&r.Pause.Interrupts[0]).ends
	if ifEnded {
		cut = nil // if nothing waits any more, this is an ordinary run with all messages
	}
	messages, moved := gatherCalls(r.Pause, kit.WithoutMessages(in.Messages, cut))
	if len(cut) > 0 || moved {
		body = agui.SetKey(body, "messages", agui.MessageList(messages))
	}
	next := newRun()
	next.d, next.resume, next.ifEnded, next.awaits = d, r.With(r.Input, later), ifEnded, approvedCalls(r)
	out := translate.Out{Body: body, Resumes: true}
	if next.chain = firstOfChain(r, body); next.chain != nil {
		out = next.chain.request()
	} else if keepsByRunID(r) {
		if goesByCommand(r.Pause) {
			body = putEntry(body, gjson.GetBytes(body, "resume.0"), &r.Pause.Interrupts[0])
			out.Silence = silence
		}
		out.Body = kit.OwnRunID(r, body)
	}
	next.suspends, next.calls = resumedCall(r.Pause, out.Body), d.watchCalls(r)
	out.TakesNew, out.UnsentMessages = true, later
	if ifEnded {
		out.UnsentMessages = nil
	}
	return out, next, nil
}

// extraExchange returns the exchange that sends the messages which were not sent with the answers.
// It has the state as it is after the resumed run, because the state of the request would undo the
// changes that the resumed run made.
func (d *Dialect) extraExchange(r *translate.Request) *translate.Exchange {
	body := kit.BodyWithoutCommand(r.Input, agui.DeleteKey(r.Input.Raw, "resume"))
	messages := r.NewMessages
	if !r.Sessions {
		messages = kit.WithNewMessages(r)
	}
	body = agui.SetKey(body, "messages", agui.MessageList(messages))
	if state, known := r.Transcript.State(); known && state != nil {
		body = agui.SetKey(body, "state", state)
	}
	if keepsByRunID(r) {
		body = kit.OwnRunID(r, body) // a new id: the resumed run may still wait under the old id
	}
	next := newRun()
	next.suspends, next.calls = waitingCall(r, body), d.watchCalls(r)
	return &translate.Exchange{Out: translate.Out{Body: body, TakesNew: true}, Run: next}
}

// mastra is the value of translate.Result.Backend for Mastra. If a path or thread has this backend,
// Holdpoint sends its runs with run ids of its own.
const mastra = "mastra"

// keepsByRunID reports whether the backend of the pause stores a paused run under its run id alone,
// without the thread id.
func keepsByRunID(r *translate.Request) bool {
	return slices.ContainsFunc(r.Pause.Interrupts, func(i agui.Interrupt) bool { return profileOfInterrupt(&i).ownRuns })
}

// forgesCall reports whether an answer names a tool call although its question does not.
// AGUI.Server approves any call that an answer names (RunAgentInputExtensions), and its questions
// without a call look like those of any backend. If the question's schema has the key toolCall, the
// key belongs to the backend's own payload, so forgesCall returns false. For a question about a
// call, the contract checks the call in the answer (agui.Interrupt.ReadCall).
func forgesCall(i agui.Interrupt, payload json.RawMessage) bool {
	if i.ToolCallID() != "" || gjson.GetBytes(i.Schema(), "properties.toolCall").Exists() {
		return false
	}
	return slices.ContainsFunc(kit.Members(agui.View(payload), "toolCall"), gjson.Result.IsObject)
}
