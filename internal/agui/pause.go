package agui

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/tidwall/gjson"
)

// An Interrupt is one open question of a pause.
type Interrupt struct {
	// ID is the published id, which the client sees. A dialect leaves it empty, and package proxy
	// makes it from Native.
	ID string `json:"id,omitempty"`
	// Native is the backend's own id of the question. The backend gets it back with the answer. It
	// is "" if the backend has not set an id. Two questions may have the same one.
	Native string `json:"native,omitempty"`
	// Object is the AG-UI Interrupt for the client. Package proxy sets its `id`.
	Object json.RawMessage `json:"object"`
	// Private is data that the dialect needs for the resume. Only the dialect reads it.
	Private json.RawMessage `json:"private,omitempty"`
	// Question identifies the question: if the same question is asked again, it has the same value.
	// If a dialect does not set it, package proxy makes it from Native and Object.
	Question string `json:"question,omitempty"`
	// Keys are further ids, in addition to ID, by which a message may name the question that it
	// answers. If there are no keys, a message cannot answer the question. Only a dialect that
	// reads answers in messages sets Keys.
	Keys []string `json:"keys,omitempty"`
	// Yes and No are the payloads of a plain approval and a plain denial. They are nil if the
	// question cannot be answered by yes or no, or if the backend has no such payload. If a dialect
	// does not set them, package proxy derives them from the published schema.
	Yes json.RawMessage `json:"yes,omitempty"`
	No  json.RawMessage `json:"no,omitempty"`
	// ReasonMember is the name of the member of No in which a person can tell the agent the reason
	// for a denial. It is "" if there is no such member. If a dialect does not set it, package
	// proxy derives it from the published schema.
	ReasonMember string `json:"because,omitempty"`
	// Calls are the tool calls that run if the question is approved, as the person was shown them.
	// A dialect sets Calls if they are not simply the call that Object names: if there are several
	// calls, or if the call is not in the stream. Otherwise package proxy takes the call from the
	// transcript. Calls is empty if the calls are unknown, as in records of earlier versions.
	Calls []AskedCall `json:"calls,omitempty"`
	// CallUnseen reports that the stream does not contain the call that Object names, such as a
	// call of a subagent. ForClient then leaves out the call's id. Package proxy clears CallUnseen
	// if the client has the call anyway.
	CallUnseen bool `json:"callUnseen,omitempty"`
	// YesNo has the payloads for yes and no that the operator has set for a backend that accepts
	// any value. It is nil if the operator has set none.
	YesNo *YesNo `json:"yesNo,omitempty"`
	// CancelOnly reports that the question can only be cancelled, because its content was lost, or
	// because it is unknown what the backend did with its answer. A new message counts as the
	// cancel, as for an expired question.
	CancelOnly bool `json:"cancelOnly,omitempty"`
	// Secret reports that the answer is a secret, such as a credential. Only the backend gets the
	// payload: neither the payload nor its digest is in an event, a list or a result. If a dialect
	// does not set Secret, package proxy derives it from the published schema.
	Secret bool `json:"secret,omitempty"`
}

// PayloadToShow returns the payload of an answer to the question if it may be shown, or nil if it
// is a secret.
func (i *Interrupt) PayloadToShow(payload json.RawMessage) json.RawMessage {
	if i.Secret {
		return nil
	}
	return payload
}

// ShownDigest returns the digest of an answer to the question if it may be shown. It returns "" if
// the answer is a secret, because a short secret can be guessed from its digest.
func (i *Interrupt) ShownDigest(a *Answer) string {
	if i.Secret {
		return ""
	}
	return a.AnsweredDigest()
}

// A YesNo is the operator's setting for a question whose backend accepts any value. Yes and No are
// templates of the payloads (package yesno). They are stored with the question, because the setting
// may change before the question is answered.
type YesNo struct {
	Yes       json.RawMessage `json:"yes"`
	No        json.RawMessage `json:"no"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // the arguments of the question
}

// ForClient returns the interrupt as a client gets it. If the client gets no toolCallId, the reason
// is not tool_call, because AG-UI requires a toolCallId with that reason.
func (i Interrupt) ForClient() json.RawMessage {
	if !i.CallUnseen {
		return i.Object
	}
	told := DeleteKey(i.Object, "toolCallId")
	if i.Reason() == "tool_call" {
		told = SetString(told, "reason", "confirmation")
	}
	return told
}

// An AskedCall is a tool call in a question, as the person was shown it.
type AskedCall struct {
	ID   string `json:"id,omitempty"` // "" if the backend sends no id
	Name string `json:"name,omitempty"`
	Args string `json:"args,omitempty"` // the JSON text of the arguments, unchanged
	// ArgumentsUnknown reports that the arguments, and maybe the name, are not completely known. So
	// it is unclear what would run after an approval.
	ArgumentsUnknown bool `json:"unknown,omitempty"`
}

// Reason returns the reason of the interrupt.
func (i Interrupt) Reason() string { return gjson.GetBytes(i.Object, "reason").Str }

// ToolCallID returns the id of the call that the interrupt is about, or "" if it names no call.
func (i Interrupt) ToolCallID() string { return gjson.GetBytes(i.Object, "toolCallId").Str }

// Schema returns the interrupt's responseSchema, or nil if it has none. The result shares the
// memory of Object.
func (i Interrupt) Schema() json.RawMessage {
	if s := View(i.Object).Get("responseSchema"); s.IsObject() {
		return bytesOf(s)
	}
	return nil
}

// Expires returns the interrupt's expiresAt, and whether it is set. It returns false if expiresAt
// is not an RFC 3339 time: such an interrupt never expires, as in the official client.
func (i Interrupt) Expires() (time.Time, bool) {
	text := View(i.Object).Get("expiresAt").Str
	if text == "" { // avoids the allocation of an error by time.Parse
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, false
	}
	// time.Parse accepts an offset of 24 hours, which RFC 3339 does not have. Such a time has no
	// JSON, so neither a record nor a response of the desk could contain it.
	var room [len(time.RFC3339Nano)]byte
	if _, err := t.AppendText(room[:0]); err != nil {
		return time.Time{}, false
	}
	return t, true
}

// A Pause has the open interrupts of a thread, and all that is needed to resume them.
type Pause struct {
	// ID is 128 random bits in hex, made by package proxy. If it is "", there is no pause, but
	// Dialect may still have the known dialect of the route.
	ID         string          `json:"id,omitempty"`
	Dialect    string          `json:"dialect,omitempty"`
	Interrupts []Interrupt     `json:"interrupts,omitempty"`
	Private    json.RawMessage `json:"private,omitempty"` // state of the dialect for the whole pause
	// Native has the backend's own events that announced the pause (CUSTOM on_interrupt), in order.
	// It is nil if the backend announced the pause only in the outcome. NativeFinish is the
	// backend's terminal event.
	Native       []json.RawMessage `json:"nativeEvents,omitempty"`
	NativeFinish json.RawMessage   `json:"nativeFinish,omitempty"`

	// Backend is the kind of backend that asked, for a dialect with several kinds of backends. It
	// is "" if the kind does not matter.
	Backend string `json:"backend,omitempty"`

	// KeepsFirstAnswer reports that the backend keeps the first answer to a question. If the
	// question is asked again after a failed resume, the backend uses the kept answer instead of
	// any other, even instead of a denial. So Holdpoint then accepts only the same answer.
	KeepsFirstAnswer bool `json:"sticky,omitempty"`
	// FirstAsked reports that the backend has not kept an answer to these questions, although equal
	// questions were asked before.
	FirstAsked bool `json:"firstAsked,omitempty"`
	// CancelEnds reports that cancelling all questions ends the run that waits at the backend,
	// without an answer. So the backend does not use an answer that it has kept.
	CancelEnds bool `json:"cancelEnds,omitempty"`
	// LacksSnapshots reports that Messages and State were left out, because the store has no room
	// for them.
	LacksSnapshots bool `json:"stripped,omitempty"`
	// SnapshotBytes is the size of Messages and State in the store, in bytes. A loaded pause has
	// neither of them; store.Snapshots loads them.
	SnapshotBytes int `json:"kept,omitempty"`

	// The fields below are set by package proxy.

	Origin *Origin `json:"origin,omitempty"` // nil in records of earlier versions; read-only
	// digest of the interrupts as the dialect made them
	Digest string `json:"digest,omitempty"`
	// a RUN_FINISHED without outcome, with the ids of the paused run
	Finish   json.RawMessage `json:"finish,omitempty"`
	Messages json.RawMessage `json:"messages,omitempty"` // content of a MESSAGES_SNAPSHOT; nil if unknown
	State    json.RawMessage `json:"state,omitempty"`    // content of a STATE_SNAPSHOT; nil if unknown
	// all messages of the paused run, even if Messages was too large
	SeenMessages []SeenMessage `json:"seen,omitempty"`
	Opened       time.Time     `json:"opened,omitzero"` // time by the store's clock
	// EarlierReplies are the replies in messages that are older than the pause. They do not answer
	// its questions.
	EarlierReplies []EarlierReply `json:"stood,omitempty"`
	// Contested reports that another run of the thread asked another question while this pause was
	// open. The backend may wait for an answer to that other question, so an answer without an id
	// could reach the wrong question.
	Contested bool `json:"contested,omitempty"`
	// Decisions are the valid decisions in the order in which they were made, at most one for each
	// question. The store sets them, see store.Decide.
	Decisions []Decision `json:"decisions,omitempty"`
	// Continuation has what is needed to continue the run without the client. It is nil if
	// questions can only be decided in the chat.
	Continuation *Continuation `json:"going,omitempty"`
	// ByText reports that the client cannot send an answer in any form, and was shown the questions
	// as a text. The person's next message cancels the questions.
	ByText bool `json:"byText,omitempty"`
	// NewOnly reports that the client sent only new messages in its runs before the question. This
	// shows that the backend keeps the conversation. So the backend gets the answer without the
	// messages in the record.
	NewOnly bool `json:"newOnly,omitempty"`
	// AddressHash is a hash of the client's address if the store limits how much of its room one
	// address may use, and 0 otherwise.
	AddressHash uint64 `json:"from,omitempty"`

	index *index // nil if Indexed was not called
}

// An EarlierReply is the content of a reply in a message, and how often that reply occurs. It does
// not have the id of the message, because a tool message and the assistant message with its call
// may have the same id, and because clients change ids.
type EarlierReply struct {
	Key          string `json:"key"`
	AnswerDigest string `json:"says"` // a digest of the answer
	Times        int    `json:"times"`
}

// A SeenMessage identifies a message, so that a later request with the same message is recognized.
type SeenMessage struct {
	ID     string `json:"id"`
	Digest string `json:"digest,omitempty"` // digest of the content; only for a user message
}

// Interrupt returns the interrupt with the published id, or nil if the pause has no such interrupt.
func (p *Pause) Interrupt(id string) *Interrupt {
	if x := p.index; x != nil {
		return p.interruptAt(x.ids(p), id)
	}
	for i := range p.Interrupts {
		if p.Interrupts[i].ID == id {
			return &p.Interrupts[i]
		}
	}
	return nil
}

// InterruptNamed returns the interrupt with the published id, or else the only interrupt of the
// pause with this native id. It returns nil if there is neither.
func (p *Pause) InterruptNamed(id string) *Interrupt {
	if i := p.Interrupt(id); i != nil || id == "" {
		return i
	}
	if x := p.index; x != nil {
		return p.interruptAt(x.natives(p), id)
	}
	return p.interruptAt(natives(p.Interrupts), id)
}

// InterruptsAbout returns the indexes in Interrupts of the interrupts about the call with this id.
func (p *Pause) InterruptsAbout(call string) []int {
	if x := p.index; x != nil {
		return x.calls(p)[call]
	}
	return indexByCall(p.Interrupts)[call]
}

// HasMessage reports whether the message was part of the paused run.
func (p *Pause) HasMessage(m SeenMessage) bool {
	if x := p.index; x != nil {
		return x.messages(p)[m]
	}
	return slices.Contains(p.SeenMessages, m)
}

// Indexed returns the pause with an index, for a caller that calls Interrupt, InterruptNamed,
// InterruptsAbout and HasMessage many times. The result must not be changed, and only one goroutine
// may use it.
func (p Pause) Indexed() Pause {
	p.index = &index{}
	return p
}

// An index finds interrupts by their ids. Its maps have the positions in Pause.Interrupts, and are
// made when they are first needed. If several interrupts have the same published id, the first one
// counts.
type index struct {
	byID, byNative map[string]int
	byCall         map[string][]int
	seen           map[SeenMessage]bool
}

func (p *Pause) interruptAt(places map[string]int, id string) *Interrupt {
	if at, ok := places[id]; ok && at >= 0 {
		return &p.Interrupts[at]
	}
	return nil
}

func (x *index) ids(p *Pause) map[string]int {
	if x.byID == nil {
		x.byID = make(map[string]int, len(p.Interrupts))
		for n := len(p.Interrupts) - 1; n >= 0; n-- {
			x.byID[p.Interrupts[n].ID] = n
		}
	}
	return x.byID
}

func (x *index) natives(p *Pause) map[string]int {
	if x.byNative == nil {
		x.byNative = natives(p.Interrupts)
	}
	return x.byNative
}

// natives maps each native id to the index of its interrupt, or to -1 if several interrupts have
// this native id.
func natives(list []Interrupt) map[string]int {
	places := make(map[string]int, len(list))
	for n, i := range list {
		if _, several := places[i.Native]; several {
			n = -1
		}
		places[i.Native] = n
	}
	return places
}

func (x *index) calls(p *Pause) map[string][]int {
	if x.byCall == nil {
		x.byCall = indexByCall(p.Interrupts)
	}
	return x.byCall
}

func indexByCall(list []Interrupt) map[string][]int {
	places := make(map[string][]int, len(list))
	for n, i := range list {
		call := i.ToolCallID()
		places[call] = append(places[call], n)
	}
	return places
}

func (x *index) messages(p *Pause) map[SeenMessage]bool {
	if x.seen == nil {
		x.seen = seenSet(p.SeenMessages)
	}
	return x.seen
}

// Status is the status of an answer.
type Status string

// The two statuses of AG-UI.
const (
	Resolved  Status = "resolved"
	Cancelled Status = "cancelled"
)

// A Reading says what an answer means, for events, records and the log. It never influences a run.
type Reading struct {
	Meaning Meaning
	Edited  bool // the answer approves the call with arguments that differ from the question's
}

// The meanings of an answer in events, records and the log.
const (
	VerdictApproved = "approved"
	VerdictDenied   = "denied"
)

// VerdictOf returns VerdictApproved or VerdictDenied, or "" if the meaning of the answer is
// unclear.
func VerdictOf(a *Answer, read Reading) string {
	switch {
	case a.Status != Resolved:
	case read.Meaning == Approves:
		return VerdictApproved
	case read.Meaning == Denies:
		return VerdictDenied
	}
	return ""
}

// An Answer is an answer to one question, in whatever form it was sent.
type Answer struct {
	// ID is the published id of the interrupt. An answer with an unknown id is refused.
	ID     string `json:"id"`
	Status Status `json:"status"`
	// Payload is the answer's value, after the dialect has replaced its aliases. It is nil if the
	// value is absent or null, which mean the same in AG-UI.
	Payload json.RawMessage `json:"payload,omitempty"`
	// OwnForm marks an answer in a form of the dialect's own, which does not fit the interrupt's
	// schema. The dialect's method Begin checks such an answer, and the schema is not used.
	OwnForm bool `json:"own,omitempty"`
	// Native reports that the answer was not in resume, but in the backend's own form
	// (command.resume, or a tool message).
	Native bool `json:"native,omitempty"`
	// Message identifies the message in the request that is the answer. It is the zero value if the
	// answer is not a message. The message does not count as new input, and Request.Input does not
	// contain it.
	Message SeenMessage `json:"-"`
	// Decided reports that the answer was given outside the chat, for example at the desk, by a
	// person who was shown the question from the record.
	Decided bool `json:"-"`
	// Meaning says if the answer is a yes or a no. It is not stored, because it can be derived from
	// the question.
	Meaning Meaning `json:"-"`
}

// A Meaning says if an answer to a question is a yes or a no.
type Meaning int

// Approves is a plain yes to the question. Denies is a clear no, after which no backend runs
// anything. All other answers are Unclear. Where Holdpoint refuses a yes, it refuses an Unclear
// answer too.
const (
	Unclear Meaning = iota
	Approves
	Denies
)
