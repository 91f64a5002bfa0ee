package agui

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/tidwall/gjson"
)

// An Interrupt is one open question of a pause.
type Interrupt struct {
	// ID is the id that the client sees. A dialect leaves it empty: proxy mints it from Native.
	ID string `json:"id,omitempty"`
	// Native is the backend's own id, which goes back to it; "" where it gave none. It need not be
	// unique.
	Native string `json:"native,omitempty"`
	// Object is the AG-UI Interrupt as the client sees it. A dialect may leave its `id` out; proxy
	// sets it.
	Object json.RawMessage `json:"object"`
	// Private is what the dialect wants back at the resume; nobody else reads it.
	Private json.RawMessage `json:"private,omitempty"`
	// Question is equal for the same question asked again. A dialect may set it; else proxy makes
	// it of Native and Object.
	Question string `json:"question,omitempty"`
	// Keys are what a reply in a message may name to answer this question, beside ID. nil: no
	// message answers it. Only a dialect that reads answers in messages sets them.
	Keys []string `json:"keys,omitempty"`
	// Yes and No are the payloads of a plain approval and of a plain denial. They are nil for a free
	// question, and where the backend has no such word. A dialect sets them where the published
	// schema does not tell; else proxy reads them from that.
	Yes json.RawMessage `json:"yes,omitempty"`
	No  json.RawMessage `json:"no,omitempty"`
	// Because is the member of No in which a denial says why, for the agent; "" if there is no place
	// for that. A dialect sets it where the published schema does not tell; else proxy reads it from
	// that.
	Because string `json:"because,omitempty"`
	// Calls are the tool calls that a yes lets run, as the person was shown them. A dialect sets
	// them where they are not the one that Object names: a question about several calls, or a call
	// that is not in the stream. Else proxy takes that one from the transcript. Empty: not known,
	// as in a record of before.
	Calls []AskedCall `json:"calls,omitempty"`
	// CallUnseen says that the call that Object names is not in the stream of such a question, as a
	// subagent's is not. proxy clears it if the client has seen the call all the same. Told leaves
	// the call out.
	CallUnseen bool `json:"callUnseen,omitempty"`
	// YesNo are the backend's own values for a yes and a no, if the backend takes any value and the
	// operator has said them. nil: there are none.
	YesNo *YesNo `json:"yesNo,omitempty"`
	// CancelOnly says that the question takes no answer but a cancel: nobody knows any more what it
	// asked, or it was answered and nobody knows what became of that. New input counts as the
	// cancel, as it does for an expired question.
	CancelOnly bool `json:"cancelOnly,omitempty"`
	// Secret reports that what answers the question is a secret, such as a credential. The payload
	// goes to the backend only: no event, no list and no result has it or its digest. A dialect sets
	// it where the published schema does not tell; else proxy reads it from that.
	Secret bool `json:"secret,omitempty"`
}

// Shown returns what may be shown of an answer's payload: nothing if it is a secret.
func (i *Interrupt) Shown(payload json.RawMessage) json.RawMessage {
	if i.Secret {
		return nil
	}
	return payload
}

// ShownDigest returns the digest that may be shown of an answer: "" if it is a secret, because a
// short secret can be guessed by its digest.
func (i *Interrupt) ShownDigest(a *Answer) string {
	if i.Secret {
		return ""
	}
	return a.AnsweredDigest()
}

// A YesNo is what the operator has said of a question whose backend takes any value. Yes and No are
// templates (package yesno). They are kept with the question, because the setting may change before
// the answer comes.
type YesNo struct {
	Yes       json.RawMessage `json:"yes"`
	No        json.RawMessage `json:"no"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // that were asked about
}

// Told returns the interrupt as a client is told it. Its reason is not tool_call if it names no
// call: AG-UI's page asks for the toolCallId then.
func (i Interrupt) Told() json.RawMessage {
	if !i.CallUnseen {
		return i.Object
	}
	told := DeleteKey(i.Object, "toolCallId")
	if i.Reason() == "tool_call" {
		told = SetString(told, "reason", "confirmation")
	}
	return told
}

// An AskedCall is a tool call as a person was asked about it.
type AskedCall struct {
	ID   string `json:"id,omitempty"` // "" where the backend tells none
	Name string `json:"name,omitempty"`
	Args string `json:"args,omitempty"` // the arguments' JSON text as it came
	// Unknown says that its arguments, and maybe its name, are not known in full: nobody can say
	// what a yes would run.
	Unknown bool `json:"unknown,omitempty"`
}

// Reason of the interrupt.
func (i Interrupt) Reason() string { return gjson.GetBytes(i.Object, "reason").Str }

// ToolCallID returns the call that the interrupt is about, "" if none.
func (i Interrupt) ToolCallID() string { return gjson.GetBytes(i.Object, "toolCallId").Str }

// Schema returns the interrupt's responseSchema, nil if it has none.
func (i Interrupt) Schema() json.RawMessage {
	if s := gjson.GetBytes(i.Object, "responseSchema"); s.IsObject() {
		return json.RawMessage(s.Raw)
	}
	return nil
}

// Expires returns the interrupt's expiresAt. A value that is not an RFC 3339 time never expires, as
// in the official client.
func (i Interrupt) Expires() (time.Time, bool) {
	text := View(i.Object).Get("expiresAt").Str
	if text == "" { // of which the error would be made for nothing
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, text)
	return t, err == nil
}

// A Pause is the open interrupts of one thread and what is needed to go on with them.
type Pause struct {
	// ID is 128 random bits in hex, made by proxy. "" is not a pause; Dialect may be set all the same:
	// the dialect that the route was seen to speak.
	ID         string          `json:"id,omitempty"`
	Dialect    string          `json:"dialect,omitempty"`
	Interrupts []Interrupt     `json:"interrupts,omitempty"`
	Private    json.RawMessage `json:"private,omitempty"` // what the dialect wants back for the pause as a whole
	// Native are the events by which the backend itself announced the pause beside its terminal
	// event (CUSTOM on_interrupt), in order; nil where the outcome was all. NativeFinish is its own
	// terminal event.
	Native       []json.RawMessage `json:"nativeEvents,omitempty"`
	NativeFinish json.RawMessage   `json:"nativeFinish,omitempty"`

	// Backend is which backend of its dialect asked, "" if that does not matter.
	Backend string `json:"backend,omitempty"`

	// Sticky says that the backend keeps the first answer to a question and replays it whenever the
	// question comes back after a resume that failed: another answer, a denial too, would carry out
	// the first one again. The contract lets only the same answer through then.
	Sticky bool `json:"sticky,omitempty"`
	// FirstAsked says that the backend keeps no answer to these questions yet, although it was asked
	// the same in the same words before.
	FirstAsked bool `json:"firstAsked,omitempty"`
	// CancelEnds says that a cancel of every question ends what waits at the backend. The questions
	// get no answer, so an answer that the backend keeps is not replayed.
	CancelEnds bool `json:"cancelEnds,omitempty"`
	// Stripped: the store had no room for Messages and State, or not any more.
	Stripped bool `json:"stripped,omitempty"`
	// Kept is how many bytes of Messages and State the store keeps. A loaded pause has neither:
	// store.Snapshots fetches them.
	Kept int `json:"kept,omitempty"`

	// What follows is proxy's to fill.

	Origin   *Origin         `json:"origin,omitempty"`   // nil in a record of before; nobody writes into it
	Digest   string          `json:"digest,omitempty"`   // of the interrupts as the dialect gave them
	Finish   json.RawMessage `json:"finish,omitempty"`   // RUN_FINISHED without outcome and with the ids of the run that paused
	Messages json.RawMessage `json:"messages,omitempty"` // what a MESSAGES_SNAPSHOT holds; nil if not known
	State    json.RawMessage `json:"state,omitempty"`    // what a STATE_SNAPSHOT holds; nil if not known
	Seen     []SeenMessage   `json:"seen,omitempty"`     // every message of the paused run, also where Messages was too large
	Opened   time.Time       `json:"opened,omitzero"`    // by the store's clock
	// Stood are the replies that were there before the run asked: they answer nothing of this
	// pause.
	Stood []EarlierReply `json:"stood,omitempty"`
	// Contested: another run of the thread came to another question while this one was open. The
	// backend may wait for that one now, so an answer without an id may meet it.
	Contested bool `json:"contested,omitempty"`
	// Decisions are those that stand, in the order in which they were given, at most one for each
	// question. The store sets them, see store.Decide.
	Decisions []Decision `json:"decisions,omitempty"`
	// Going is what it takes to go on without the client, nil where nobody decides elsewhere.
	Going *Continuation `json:"going,omitempty"`
	// ByText reports that the client that was asked can answer in no form, and was told the questions
	// as a text. Its person's next message cancels them.
	ByText bool `json:"byText,omitempty"`
	// NewOnly reports that the client was seen to send new messages only, before it was asked. So its
	// backend keeps the conversation, and gets an answer without the messages of the record.
	NewOnly bool `json:"newOnly,omitempty"`
	// From is a hash of the client's address, where the store deals out shares by that; else 0.
	From uint64 `json:"from,omitempty"`

	index *index // nil: there is none, see Indexed
}

// An EarlierReply is a reply in a message by what it names and what it says, and how often it was
// there. Ids of messages do not tell: a tool message and the assistant's message of its call may
// have one id, and clients rename messages.
type EarlierReply struct {
	Key   string `json:"key"`
	Says  string `json:"says"` // a digest of the answer
	Times int    `json:"times"`
}

// A SeenMessage is what is kept of a message to tell a new one from an old one.
type SeenMessage struct {
	ID     string `json:"id"`
	Digest string `json:"digest,omitempty"` // of the content, for a user message
}

// Interrupt with the published id, nil if the pause has none.
func (p *Pause) Interrupt(id string) *Interrupt {
	if x := p.index; x != nil {
		return p.at(x.ids(p), id)
	}
	for i := range p.Interrupts {
		if p.Interrupts[i].ID == id {
			return &p.Interrupts[i]
		}
	}
	return nil
}

// Named returns the interrupt with a published id, or with a native one that no two interrupts
// share; nil if there is none.
func (p *Pause) Named(id string) *Interrupt {
	if i := p.Interrupt(id); i != nil || id == "" {
		return i
	}
	if x := p.index; x != nil {
		return p.at(x.natives(p), id)
	}
	return p.at(natives(p.Interrupts), id)
}

// About returns the interrupts about a call, by their places.
func (p *Pause) About(call string) []int {
	if x := p.index; x != nil {
		return x.calls(p)[call]
	}
	return about(p.Interrupts)[call]
}

// Knows reports whether the message was there already when the pause was opened.
func (p *Pause) Knows(m SeenMessage) bool {
	if x := p.index; x != nil {
		return x.messages(p)[m]
	}
	return slices.Contains(p.Seen, m)
}

// Indexed returns the pause as it is asked often: Interrupt and what follows it do not go through
// all of it then. Nothing of it is changed from then on, and it is for one goroutine.
func (p Pause) Indexed() Pause {
	p.index = &index{}
	return p
}

// An index of a pause; what nobody asked for is nil. Equal ids lead to the first.
type index struct {
	byID, byNative map[string]int
	byCall         map[string][]int
	seen           map[SeenMessage]bool
}

func (p *Pause) at(places map[string]int, id string) *Interrupt {
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

// natives returns the places of native ids, -1 of those that several interrupts have.
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
		x.byCall = about(p.Interrupts)
	}
	return x.byCall
}

func about(list []Interrupt) map[string][]int {
	places := make(map[string][]int, len(list))
	for n, i := range list {
		call := i.ToolCallID()
		places[call] = append(places[call], n)
	}
	return places
}

func (x *index) messages(p *Pause) map[SeenMessage]bool {
	if x.seen == nil {
		x.seen = seenSet(p.Seen)
	}
	return x.seen
}

// Status of an answer.
type Status string

// The two that AG-UI has.
const (
	Resolved  Status = "resolved"
	Cancelled Status = "cancelled"
)

// A Reading is what those who hear of an answer are told that it says. Nothing is decided by it.
type Reading struct {
	Says   Meaning
	Edited bool // a yes to other arguments than those that were asked about
}

// What an answer says, in events, records and the log.
const (
	SaysApproved = "approved"
	SaysDenied   = "denied"
)

// SaysOf returns SaysApproved or SaysDenied, and "" if the dialect does not know.
func SaysOf(a *Answer, read Reading) string {
	switch {
	case a.Status != Resolved:
	case read.Says == Approves:
		return SaysApproved
	case read.Says == Denies:
		return SaysDenied
	}
	return ""
}

// An Answer is one resume entry, in whatever form it came.
type Answer struct {
	// ID is the published id of the interrupt; what no interrupt of the pause has, is refused as
	// unknown.
	ID     string `json:"id"`
	Status Status `json:"status"`
	// Payload is the answer's value with the dialect's aliases applied; nil for absent and for
	// null, which AG-UI does not tell apart.
	Payload json.RawMessage `json:"payload,omitempty"`
	// Own marks a form of the dialect's own that the interrupt's schema cannot say: Begin judges
	// it, not the schema.
	Own bool `json:"own,omitempty"`
	// Native says that it came in the backend's own form (command.resume, a tool message), not in
	// resume.
	Native bool `json:"native,omitempty"`
	// Message is the message of the request that carries the answer, the zero value if none does.
	// It is not new input, and Request.Input comes without it.
	Message SeenMessage `json:"-"`
	// Decided says that it was given at another door, by somebody who saw the question as the record
	// has it.
	Decided bool `json:"-"`
	// Says is what the answer means. It is not stored, for the question tells it anew.
	Says Meaning `json:"-"`
}

// A Meaning is what an answer says to a question.
type Meaning int

// Unclear counts as a yes wherever something is refused to a yes: only a clear no is free. Approves
// is a plain yes of the question's own. Denies is a clear no: no backend carries anything out for
// it.
const (
	Unclear Meaning = iota
	Approves
	Denies
)
