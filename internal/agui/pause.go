package agui

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/tidwall/gjson"
)

// An Interrupt is one open question of a pause.
type Interrupt struct {
	// ID is the published id, which the client sees. A dialect leaves it empty, and proxy makes it
	// from Native.
	ID string `json:"id,omitempty"`
	// Native is the backend's own id of the question, which it gets back with the answer. It is "" if
	// the backend gave none, and may occur twice.
	Native string `json:"native,omitempty"`
	// Object is the AG-UI Interrupt for the client. proxy sets its `id`.
	Object json.RawMessage `json:"object"`
	// Private is state of the dialect for the resume. Only the dialect reads it.
	Private json.RawMessage `json:"private,omitempty"`
	// Question identifies the question: it is equal if the same question is asked again. If a dialect
	// does not set it, proxy makes it from Native and Object.
	Question string `json:"question,omitempty"`
	// Keys are the ids, in addition to ID, by which a reply in a message may name the question.
	// Without keys no message answers it. Only a dialect that reads answers in messages sets them.
	Keys []string `json:"keys,omitempty"`
	// Yes and No are the payloads of a plain approval and denial. They are nil for an open question,
	// and if the backend has no such payload. If a dialect does not set them, proxy derives them from
	// the published schema.
	Yes json.RawMessage `json:"yes,omitempty"`
	No  json.RawMessage `json:"no,omitempty"`
	// ReasonMember is the name of the member of No that has the reason of a denial for the agent, or
	// "" if there is none. If a dialect does not set it, proxy derives it from the published schema.
	ReasonMember string `json:"because,omitempty"`
	// Calls are the tool calls that an approval lets run, as the person was shown them. A dialect sets
	// them if they are not simply the call that Object names: for several calls, or a call that is not
	// in the stream. Otherwise proxy takes the call from the transcript. They are empty if unknown, as
	// in records of earlier versions.
	Calls []AskedCall `json:"calls,omitempty"`
	// CallUnseen reports that the stream lacks the call that Object names, as with a call of a
	// subagent. ForClient then leaves the call's id out. proxy clears it if the client has the call
	// anyway.
	CallUnseen bool `json:"callUnseen,omitempty"`
	// YesNo has the values for yes and no that the operator set for a backend that accepts any value.
	// It is nil if there are none.
	YesNo *YesNo `json:"yesNo,omitempty"`
	// CancelOnly reports that the question can only be cancelled, because its content was lost, or the
	// outcome of its answer is unknown. A new message counts as the cancel, as for an expired
	// question.
	CancelOnly bool `json:"cancelOnly,omitempty"`
	// Secret reports that the answer is a secret, such as a credential. Only the backend gets its
	// payload: no event, list or result has it or its digest. If a dialect does not set it, proxy
	// derives it from the published schema.
	Secret bool `json:"secret,omitempty"`
}

// PayloadToShow returns the payload of an answer if it may be shown, or nil if it is a secret.
func (i *Interrupt) PayloadToShow(payload json.RawMessage) json.RawMessage {
	if i.Secret {
		return nil
	}
	return payload
}

// ShownDigest returns the digest of an answer if it may be shown. It returns "" for a secret,
// because a short secret can be guessed from its digest.
func (i *Interrupt) ShownDigest(a *Answer) string {
	if i.Secret {
		return ""
	}
	return a.AnsweredDigest()
}

// A YesNo is the operator's setting for a question whose backend accepts any value. Yes and No are
// templates (package yesno). They are stored with the question, because the setting may change
// before the answer.
type YesNo struct {
	Yes       json.RawMessage `json:"yes"`
	No        json.RawMessage `json:"no"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // the arguments of the question
}

// ForClient returns the interrupt as a client gets it. If it names no call, its reason is not
// tool_call, because AG-UI requires a toolCallId with that reason.
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
	ID   string `json:"id,omitempty"` // "" if the backend sends none
	Name string `json:"name,omitempty"`
	Args string `json:"args,omitempty"` // the JSON text of the arguments, unchanged
	// ArgumentsUnknown reports that the arguments, and maybe the name, are not completely known, so it
	// is unclear what an approval would run.
	ArgumentsUnknown bool `json:"unknown,omitempty"`
}

// Reason returns the reason of the interrupt.
func (i Interrupt) Reason() string { return gjson.GetBytes(i.Object, "reason").Str }

// ToolCallID returns the id of the call that the interrupt is about, or "".
func (i Interrupt) ToolCallID() string { return gjson.GetBytes(i.Object, "toolCallId").Str }

// Schema returns the interrupt's responseSchema, or nil if it has none.
func (i Interrupt) Schema() json.RawMessage {
	if s := gjson.GetBytes(i.Object, "responseSchema"); s.IsObject() {
		return json.RawMessage(s.Raw)
	}
	return nil
}

// Expires returns the interrupt's expiresAt. It returns false if that is not an RFC 3339 time: as
// in the official client, such an interrupt never expires.
func (i Interrupt) Expires() (time.Time, bool) {
	text := View(i.Object).Get("expiresAt").Str
	if text == "" { // avoids the allocation of an error
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, text)
	return t, err == nil
}

// A Pause is the open interrupts of a thread, with all that is needed to resume them.
type Pause struct {
	// ID is 128 random bits in hex, made by proxy. If it is "", there is no pause, but Dialect may
	// still be the known dialect of the route.
	ID         string          `json:"id,omitempty"`
	Dialect    string          `json:"dialect,omitempty"`
	Interrupts []Interrupt     `json:"interrupts,omitempty"`
	Private    json.RawMessage `json:"private,omitempty"` // state of the dialect for the whole pause
	// Native are the backend's own events that announced the pause (CUSTOM on_interrupt), in order. It
	// is nil if only the outcome did. NativeFinish is the backend's terminal event.
	Native       []json.RawMessage `json:"nativeEvents,omitempty"`
	NativeFinish json.RawMessage   `json:"nativeFinish,omitempty"`

	// Backend is the kind of backend within the dialect that asked, or "" if it does not matter.
	Backend string `json:"backend,omitempty"`

	// KeepsFirstAnswer reports that the backend keeps the first answer to a question. If the question
	// is repeated after a failed resume, the backend replays that answer for any other one, even a
	// denial. So only the same answer is accepted then.
	KeepsFirstAnswer bool `json:"sticky,omitempty"`
	// FirstAsked reports that the backend has no kept answer to these questions, although equal
	// questions were asked before.
	FirstAsked bool `json:"firstAsked,omitempty"`
	// CancelEnds reports that a cancel of all questions ends what waits at the backend without
	// answering it, so that no kept answer is replayed.
	CancelEnds bool `json:"cancelEnds,omitempty"`
	// LacksSnapshots reports that the store has no room for Messages and State.
	LacksSnapshots bool `json:"stripped,omitempty"`
	// SnapshotBytes is the size of Messages and State in the store in bytes. A loaded pause has
	// neither; store.Snapshots loads them.
	SnapshotBytes int `json:"kept,omitempty"`

	// The fields below are set by proxy.

	Origin       *Origin         `json:"origin,omitempty"`   // nil in records of earlier versions; read-only
	Digest       string          `json:"digest,omitempty"`   // of the interrupts as the dialect made them
	Finish       json.RawMessage `json:"finish,omitempty"`   // RUN_FINISHED without outcome, with the ids of the paused run
	Messages     json.RawMessage `json:"messages,omitempty"` // content of a MESSAGES_SNAPSHOT; nil if unknown
	State        json.RawMessage `json:"state,omitempty"`    // content of a STATE_SNAPSHOT; nil if unknown
	SeenMessages []SeenMessage   `json:"seen,omitempty"`     // every message of the paused run, even if Messages was too large
	Opened       time.Time       `json:"opened,omitzero"`    // by the store's clock
	// EarlierReplies are the replies in messages from before the pause. They answer none of its
	// questions.
	EarlierReplies []EarlierReply `json:"stood,omitempty"`
	// Contested reports that another run of the thread raised another question while this pause was
	// open. The backend may wait for that one, so an answer without an id could reach it.
	Contested bool `json:"contested,omitempty"`
	// Decisions are the valid decisions in the order in which they were made, at most one for each
	// question. The store sets them, see store.Decide.
	Decisions []Decision `json:"decisions,omitempty"`
	// Continuation has what is needed to continue without the client. It is nil if decisions are made
	// only in the chat.
	Continuation *Continuation `json:"going,omitempty"`
	// ByText reports that the client supports no form of answers and was shown the questions as a
	// text. Its person's next message cancels them.
	ByText bool `json:"byText,omitempty"`
	// NewOnly reports that the client sent only new messages before it was asked. So its backend keeps
	// the conversation, and gets the answer without the messages of the record.
	NewOnly bool `json:"newOnly,omitempty"`
	// AddressHash is a hash of the client's address if the store limits how much of it one address may
	// fill, else 0.
	AddressHash uint64 `json:"from,omitempty"`

	index *index // nil unless Indexed
}

// An EarlierReply is the content of a reply in a message, and how often it occurs. It has no id of
// a message, because a tool message and the assistant message of its call may have the same id, and
// clients change ids.
type EarlierReply struct {
	Key          string `json:"key"`
	AnswerDigest string `json:"says"` // a digest of the answer
	Times        int    `json:"times"`
}

// A SeenMessage identifies a message, to recognize it in a later request.
type SeenMessage struct {
	ID     string `json:"id"`
	Digest string `json:"digest,omitempty"` // of the content, for a user message
}

// Interrupt returns the interrupt with the published id, or nil if the pause has none.
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

// InterruptNamed returns the interrupt with the published id, or with a native id that is unique in
// the pause. It returns nil if there is none.
func (p *Pause) InterruptNamed(id string) *Interrupt {
	if i := p.Interrupt(id); i != nil || id == "" {
		return i
	}
	if x := p.index; x != nil {
		return p.interruptAt(x.natives(p), id)
	}
	return p.interruptAt(natives(p.Interrupts), id)
}

// InterruptsAbout returns the indexes of the interrupts about a call.
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

// Indexed returns the pause with an index, for many calls of Interrupt, InterruptNamed,
// InterruptsAbout and HasMessage. The pause must not be changed afterwards, and is for use by one
// goroutine.
func (p Pause) Indexed() Pause {
	p.index = &index{}
	return p
}

// An index has the indexes of interrupts by their ids. Its maps are made when first needed. Of
// equal ids the first counts.
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

// natives returns the indexes of interrupts by native id, or -1 for an id that several interrupts
// have.
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

// A Reading is the meaning of an answer, for events, records and the log. It never influences a
// run.
type Reading struct {
	Meaning Meaning
	Edited  bool // an approval with other arguments than the question's
}

// The meanings of an answer in events, records and the log.
const (
	VerdictApproved = "approved"
	VerdictDenied   = "denied"
)

// VerdictOf returns VerdictApproved or VerdictDenied, or "" if the meaning is unclear.
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

// An Answer is an answer to one question, in any form.
type Answer struct {
	// ID is the published id of the interrupt. An unknown id is refused.
	ID     string `json:"id"`
	Status Status `json:"status"`
	// Payload is the answer's value with the dialect's aliases applied. It is nil if absent or null,
	// which are the same in AG-UI.
	Payload json.RawMessage `json:"payload,omitempty"`
	// OwnForm marks an answer in a form of the dialect's own that does not fit the interrupt's schema.
	// Begin checks it, and not the schema.
	OwnForm bool `json:"own,omitempty"`
	// Native reports that the answer was not in resume but in the backend's own form (command.resume,
	// a tool message).
	Native bool `json:"native,omitempty"`
	// Message identifies the message of the request that is the answer; the zero value if none is. It
	// is not new input, and Request.Input lacks it.
	Message SeenMessage `json:"-"`
	// Decided reports that the answer was not given in the chat, by somebody who saw the question in
	// the record.
	Decided bool `json:"-"`
	// Meaning is the meaning of the answer. It is not stored, because it can be derived from the
	// question.
	Meaning Meaning `json:"-"`
}

// A Meaning is the meaning of an answer to a question.
type Meaning int

// Approves is a plain yes to the question. Denies is a clear no, after which no backend runs
// anything. All other answers are Unclear, and count as a yes wherever a yes is refused.
const (
	Unclear Meaning = iota
	Approves
	Denies
)
