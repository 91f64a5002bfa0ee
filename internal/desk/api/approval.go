package api

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/desk/fields"
	"holdpoint/internal/desk/marks"
	"holdpoint/internal/event"
	"holdpoint/store"
)

// The states of an approval in the API.
const (
	stateWaiting  = "waiting"
	stateDecided  = "decided"
	stateCarrying = "carrying"
	stateInDoubt  = "doubt"
	stateEnded    = "ended"
)

// The processes that send an answer to the agent: this process, another process on the same store,
// or none, so that only the chat's next request sends it.
const (
	carrierHere  = "here"
	carrierOther = "other"
	carrierChat  = "chat"
)

// stateOf returns the API's name for the state of a record that has a pause.
func stateOf(rec *store.Record) string {
	switch {
	case rec.State == store.Claimed:
		return stateCarrying
	case rec.State == store.InDoubt:
		return stateInDoubt
	case rec.Pause.Decided():
		return stateDecided
	}
	return stateWaiting
}

// An approval is a pause as the API shows it. An empty field means unknown.
type approval struct {
	ID    string `json:"id"`
	State string `json:"state"`
	// Opened is the time by the store's clock. Age is the time since then, in whole seconds, by the
	// same clock.
	Opened  time.Time `json:"opened,omitzero"`
	Age     int64     `json:"age"`
	Expires time.Time `json:"expires,omitzero"` // the earliest expiry of all questions
	// end of the lease of the process that sends the answer; the process renews it
	CarriedUntil  time.Time `json:"carriedUntil,omitzero"`
	Agent         string    `json:"agent,omitempty"`
	Tenant        string    `json:"tenant,omitempty"`
	Path          string    `json:"path,omitempty"`
	Thread        string    `json:"thread,omitempty"`
	Run           string    `json:"run,omitempty"`
	Dialect       string    `json:"dialect,omitempty"`
	Requester     string    `json:"requester,omitempty"`
	RequesterHash string    `json:"requesterHash,omitempty"`
	ShownAs       string    `json:"shown,omitempty"`
	Contested     bool      `json:"contested,omitempty"`

	Questions []question `json:"questions"`
	// QuestionsLeft is how many questions of the pause are left out, if the approval is in a list.
	QuestionsLeft int `json:"questionsLeft,omitempty"`
	size          int // size of the questions that were not cut, in bytes
	pause         *agui.Pause

	// Carrier says who sends the answer to the agent when every question is decided, unless the
	// chat does so earlier: carrierHere, carrierOther or carrierChat.
	Carrier string `json:"carrier,omitempty"`
	// WaitsForChat has the reasons why only the chat can send the answer when every question is
	// decided. If it is empty, Holdpoint sends the answer, provided that this process serves the
	// agent.
	WaitsForChat []agui.ChatOnlyReason `json:"waitsForChat,omitempty"`

	// Permissions says what the caller may do. Withheld means that the caller may see that the
	// approval exists, but may not read it.
	Permissions *permissions `json:"may,omitempty"`
	Withheld    bool         `json:"withheld,omitempty"`

	// These fields are set only in the response for one approval.
	End     *end  `json:"end,omitempty"`
	History []end `json:"history,omitempty"`
	// Conversation has the last messages, for a caller with the right to read them.
	Conversation []turn `json:"conversation,omitempty"`
}

// A question is one interrupt of a pause, as the API shows it.
type question struct {
	ID           string       `json:"id"`
	Kind         kind         `json:"kind"`
	Reason       string       `json:"reason,omitempty"`
	Message      string       `json:"message,omitempty"` // the agent's text
	MessageMarks []marks.Mark `json:"messageMarks,omitempty"`
	// Grave means that something in the question is invisible or looks like something else. For
	// such a question, the page lets a person approve only after a moment.
	Grave bool   `json:"grave,omitempty"`
	Calls []call `json:"calls,omitempty"`
	// Statements has what the agent sent in the interrupt's metadata, besides the message.
	Statements     []sentItem      `json:"statements,omitempty"`
	Choices        []choice        `json:"choices,omitempty"`
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty"`
	SchemaRaw      string          `json:"responseSchemaRaw,omitempty"`
	// why only the raw text is shown
	SchemaNote     string       `json:"responseSchemaNote,omitempty"`
	SchemaNoteCode string       `json:"responseSchemaNoteCode,omitempty"`
	Expires        time.Time    `json:"expires,omitzero"`
	YesKnown       bool         `json:"yesKnown"`
	NoKnown        bool         `json:"noKnown"`
	TakesReason    bool         `json:"takesReason,omitempty"`
	CancelOnly     bool         `json:"cancelOnly,omitempty"`
	Digest         string       `json:"digest,omitempty"`
	Decision       *decision    `json:"decision,omitempty"` // the valid decision
	Permissions    *permissions `json:"may,omitempty"`
	// Similar has the last decisions on calls of the same tool of the agent. It is set only in the
	// response for one approval. Compared says which fields equal the fields of calls that were
	// approved. In a list it has only the fields that differ.
	Similar     []*earlierDecision `json:"similar,omitempty"`
	Comparisons []comparedField    `json:"compared,omitempty"`
	// IsShortened means that message, schema and arguments are left out, because they are too large
	// for a list.
	IsShortened bool `json:"cut,omitempty"`

	index int // its index in the pause
}

// A payload is the value of an answer. If the value cannot be shown as JSON, Raw has its text, and
// Note explains why.
type payload struct {
	Payload  json.RawMessage `json:"payload,omitempty"`
	Raw      string          `json:"payloadRaw,omitempty"`
	Note     string          `json:"payloadNote,omitempty"`
	NoteCode string          `json:"payloadNoteCode,omitempty"`
}

// payloadOf returns the payload of an answer as the API shows it. A secret is not shown.
func payloadOf(i *agui.Interrupt, value json.RawMessage) (p payload) {
	if i != nil && i.Secret {
		return payload{Note: secretNote, NoteCode: noteCodes[secretNote]}
	}
	p.Payload, p.Raw, p.Note = valueOrRaw(value)
	p.NoteCode = noteCodes[p.Note]
	return p
}

// A decision is a decision on one question that was made at the desk, as the API shows it.
type decision struct {
	Status  string `json:"status"`
	Verdict string `json:"says,omitempty"`
	// approved with arguments that differ from those in the question
	Edited bool `json:"edited,omitempty"`
	payload
	edit
	By      string    `json:"by,omitempty"`
	At      time.Time `json:"at"`
	Comment string    `json:"comment,omitempty"`

	CommentMarks []marks.Mark `json:"commentMarks,omitempty"`
}

// A call is a tool call that runs if the question is approved. If its arguments cannot be shown as
// JSON, Raw has their text, and Note explains why.
type call struct {
	Name      string          `json:"name,omitempty"`
	NameMarks []marks.Mark    `json:"nameMarks,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Raw       string          `json:"raw,omitempty"`
	Note      string          `json:"note,omitempty"`
	NoteCode  string          `json:"noteCode,omitempty"`
	// Fields has the parsed arguments. Rest means that there are more fields than are shown. Size
	// is the size of the recorded arguments in bytes.
	Fields        []fields.Field `json:"fields,omitempty"`
	HasMoreFields bool           `json:"rest,omitempty"`
	Size          int            `json:"size"`
}

// An end describes how a pause ended.
type end struct {
	ID      string    `json:"id"`
	EndKind string    `json:"how"`
	Door    string    `json:"door"`
	By      string    `json:"by,omitempty"`
	At      time.Time `json:"at"`
	// code of the RUN_ERROR with which the run that sent the answers ended
	Error string `json:"error,omitempty"`
	// id of the approval for the next question of that run
	NextApproval string             `json:"next,omitempty"`
	Questions    []answeredQuestion `json:"questions"`
	// QuestionsLeft is how many questions are left out, if the end is in a list.
	QuestionsLeft int  `json:"questionsLeft,omitempty"`
	Forgotten     bool `json:"forgotten,omitempty"` // the record no longer has the questions and the answers
}

// An answeredQuestion is one question of an ended pause, with its answer.
type answeredQuestion struct {
	ID      string   `json:"id"`
	Tools   []string `json:"tools,omitempty"`
	Status  string   `json:"status,omitempty"`
	Verdict string   `json:"says,omitempty"`
	// approved with arguments that differ from those in the question
	Edited bool `json:"edited,omitempty"`
	payload
	edit
	Digest string `json:"digest,omitempty"`
}

// idOf returns the id that a pause has in the API.
func idOf(key store.Key, pauseID string) string { return event.ApprovalOf(string(key), pauseID) }

// maxListed is the largest size of an approval in a list, in bytes. A question that exceeds it,
// alone or together with the questions before it, is cut.
const maxListed = 32 << 10

// maxListedQuestions is the largest number of questions of an approval in a list. One pause may
// have thousands of questions.
const maxListedQuestions = 50

// approvalOf returns the open pause of a record as an approval. listed says that the approval is
// for a list.
func (d *Desk) approvalOf(key store.Key, rec *store.Record, forList bool) *approval {
	p := rec.Pause
	a := approvalOf(key, p, stateOf(rec), rec.Now, forList)
	if a.State == stateWaiting || a.State == stateDecided {
		agent, served := d.agentOf(p)
		if agent != nil {
			a.WaitsForChat = agent.ChatOnlyReasons(p)
		}
		switch {
		case agent == nil || len(a.WaitsForChat) > 0:
			a.Carrier = carrierChat
		case served:
			a.Carrier = carrierHere
		default:
			a.Carrier = carrierOther
		}
	}
	return a
}

// approvalOf returns the pause p of a record as an approval. listed says that the approval is for a
// list.
func approvalOf(key store.Key, p *agui.Pause, state string, now time.Time, forList bool) *approval {
	a := &approval{
		ID: idOf(key, p.ID), State: state, Opened: p.Opened, Dialect: p.Dialect, Contested: p.Contested,
	}
	if !p.Opened.IsZero() {
		a.Age = max(0, int64(now.Sub(p.Opened)/time.Second))
	}
	a.Thread, a.Run = threadOf(p)
	if o := p.Origin; o != nil {
		a.Agent, a.Tenant, a.Path, a.ShownAs = o.Agent, o.Tenant, o.Path, o.ShownAs
		a.Requester, a.RequesterHash = o.Requester, o.RequesterHash
	}
	for n := range p.Interrupts {
		if at, expires := p.Interrupts[n].Expires(); expires && (a.Expires.IsZero() || at.Before(a.Expires)) {
			a.Expires = at
		}
	}
	r, places := spaceFor(forList), shownQuestions(p, forList)
	a.Questions, a.QuestionsLeft = make([]question, len(places)), len(p.Interrupts)-len(places)
	for n, at := range places {
		i := &p.Interrupts[at]
		size := sizeOf(i)
		cut := forList && a.size+size > maxListed
		if !cut {
			a.size += size
		}
		q := questionOf(p, i, cut)
		q.index = at
		layOutQuestion(&q, i, r)
		a.Questions[n] = q
	}
	return a
}

// shownQuestions returns the indexes of those questions of a pause that are shown. If the pause is
// large and the approval is for a list, the undecided questions come first.
func shownQuestions(p *agui.Pause, forList bool) []int {
	var places, decided []int
	few := !forList || len(p.Interrupts) <= maxListedQuestions
	for n := range p.Interrupts {
		if few || p.Decision(p.Interrupts[n].ID) == nil {
			places = append(places, n)
		} else {
			decided = append(decided, n)
		}
	}
	if few {
		return places
	}
	places = append(places, decided...)[:maxListedQuestions]
	slices.Sort(places)
	return places
}

// threadOf returns the ids that the client used for the thread and the run of a pause. In records
// of older versions they are in the terminal event of the run.
func threadOf(p *agui.Pause) (thread, run string) {
	if p.Origin != nil {
		return p.Origin.Thread, p.Origin.Run
	}
	return gjson.GetBytes(p.Finish, "threadId").Str, gjson.GetBytes(p.Finish, "runId").Str
}

// sizeOf returns the size of a question in bytes.
func sizeOf(i *agui.Interrupt) int {
	size := len(i.Object)
	for _, c := range i.Calls {
		size += len(c.Args)
	}
	return size
}

func questionOf(p *agui.Pause, i *agui.Interrupt, cut bool) question {
	q := question{
		ID: i.ID, Reason: i.Reason(), YesKnown: i.Yes != nil, NoKnown: i.No != nil, TakesReason: i.ReasonMember != "", CancelOnly: i.CancelOnly, IsShortened: cut,
	}
	q.Expires, _ = i.Expires()
	if p.Origin != nil {
		q.Digest = p.Origin.AskedDigest(i)
	}
	if d := p.Decision(i.ID); d != nil {
		q.Decision = &decision{Status: string(d.Status), Verdict: d.Verdict, Edited: d.Edited, payload: payloadOf(i, d.Payload), By: d.By, At: d.At, Comment: d.Comment}
	}
	if !cut {
		q.Message = gjson.GetBytes(i.Object, "message").Str
		q.ResponseSchema, q.SchemaRaw, q.SchemaNote = valueOrRaw(i.Schema())
		q.SchemaNoteCode = noteCodes[q.SchemaNote]
	}
	for n := range i.Calls {
		c := call{Name: i.Calls[n].Name}
		if !cut {
			c = callOf(&i.Calls[n])
		}
		q.Calls = append(q.Calls, c)
	}
	return q
}

func callOf(c *agui.AskedCall) call {
	shown := call{Name: c.Name}
	switch {
	case c.ArgumentsUnknown:
		shown.Raw, shown.Note = c.Args, noteUnknown
	case c.Args == "":
		shown.Note = noteNoJSON
	case !agui.ValidJSON([]byte(c.Args)) || !agui.View([]byte(c.Args)).IsObject():
		shown.Raw, shown.Note = c.Args, noteNoJSON
	case agui.CheckKeysIn(c.Args, agui.KeysOfData) != nil:
		shown.Raw, shown.Note = c.Args, noteTwice
	default:
		shown.Arguments, shown.Raw, shown.Note = valueOrRaw(json.RawMessage(c.Args))
	}
	shown.NoteCode = noteCodes[shown.Note]
	return shown
}

// endOf returns the result of a pause as the API shows it.
func endOf(key store.Key, r *store.Result) *end {
	e := &end{
		ID: idOf(key, r.PauseID), EndKind: string(r.EndKind), Door: r.Door, By: r.By, At: r.At, Forgotten: r.Tombstone,
		Questions: make([]answeredQuestion, len(r.IDs)),
	}
	switch {
	case e.Door != "":
	case r.EndKind == store.Retired:
		e.Door = string(event.Retention)
	default:
		e.Door = string(event.Chat)
	}
	if r.Next != "" {
		e.NextApproval = idOf(key, r.Next)
	}
	if agui.PeekType(r.Finish) == agui.RunErrored {
		e.Error = gjson.GetBytes(r.Finish, "code").Str
	}
	room := spaceForEnd()
	given := make(map[string]*store.GivenAnswer, len(r.GivenAnswers))
	for n := range r.GivenAnswers {
		given[r.GivenAnswers[n].ID] = &r.GivenAnswers[n]
	}
	for n, id := range r.IDs {
		q := answeredQuestion{ID: id}
		var i *agui.Interrupt
		if r.Pause != nil && n < len(r.Pause.Interrupts) {
			i = &r.Pause.Interrupts[n]
			q.Tools = tools(i)
		}
		if g := given[id]; g != nil {
			q.Status, q.Verdict, q.Edited, q.payload, q.Digest = string(g.Status), g.Verdict, g.Edited, payloadOf(i, g.Payload), g.Digest
		}
		q.edit = editOf(q.Edited, q.Payload, q.Tools, room)
		e.Questions[n] = q
	}
	return e
}

// forList cuts the end to the part that a list shows, and returns it.
func (e *end) forList() *end {
	if left := len(e.Questions) - maxListedQuestions; left > 0 {
		e.Questions, e.QuestionsLeft = e.Questions[:maxListedQuestions], left
	}
	for n := range e.Questions {
		e.Questions[n].Arguments = nil
	}
	return e
}

// tools returns the names of the calls that run if the question is approved.
func tools(i *agui.Interrupt) []string {
	var names []string
	for _, c := range i.Calls {
		if c.Name != "" {
			names = append(names, c.Name)
		}
	}
	return names
}

// approvalInRecord returns the pause with the id pauseID as an approval, with its end and the ends
// of the thread's earlier pauses. It returns nil if the record does not have the pause.
func (d *Desk) approvalInRecord(key store.Key, rec *store.Record, pauseID string) *approval {
	if p := rec.Pause; p != nil && p.ID == pauseID {
		a := d.approvalOf(key, rec, false)
		if rec.State == store.Claimed {
			a.CarriedUntil = rec.Lease
		}
		if rec.Doubt != nil {
			// rec.Doubt has the answers, and the time when the doubt began.
			a.End = endOf(key, rec.Doubt)
		}
		a.History = history(key, rec.Results)
		return a
	}
	for n, r := range rec.Results {
		if r.PauseID != pauseID {
			continue
		}
		p := r.Pause
		if p == nil || r.Tombstone {
			p = &agui.Pause{ID: r.PauseID}
			for _, id := range r.IDs {
				p.Interrupts = append(p.Interrupts, agui.Interrupt{ID: id})
			}
		}
		a := approvalOf(key, p, stateEnded, rec.Now, false)
		a.End = endOf(key, r)
		a.History = history(key, rec.Results[n+1:])
		return a
	}
	return nil
}

func history(key store.Key, results []*store.Result) []end {
	var list []end
	for _, r := range results {
		list = append(list, *endOf(key, r))
	}
	return list
}
