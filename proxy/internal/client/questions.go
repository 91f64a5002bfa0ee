package client

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/clients"
	"holdpoint/internal/tanstack"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A form is the way in which a client is shown a pause.
type form int

// byOutcome is the interrupt outcome, possibly with a CUSTOM event. byOwnForm is the backend's own
// form. byText is a text message. It is for clients that can answer neither of the other forms. For
// example, LangGraph asks by a CUSTOM event, at which the in-tree client of .NET throws, and
// AGUI.Server sends no question in a run with declared tools.
const (
	byOutcome form = iota
	byOwnForm
	byText
)

// formOf returns the form in which the client is shown the pause.
func (l Listener) formOf(p *agui.Pause) form {
	// NativeFinish is nil if the pause was raised in another form
	own := l.showsNativeForm() && p.NativeFinish != nil
	reads := l.Line == nil && !own || l.Line.ReadsOutcome()
	switch {
	case own && (asksByOutcome(p) && (l.Line == nil || reads) || asksByEvent(p) && l.Line.Reads(agui.Custom) || asksByCalls(p, l.Line)):
		return byOwnForm
	case reads || !own && l.Line.Reads(agui.Custom):
		return byOutcome
	}
	return byText
}

// AsksByText reports whether the client is shown the pause as a text.
func (l Listener) AsksByText(p *agui.Pause) bool { return l.formOf(p) == byText }

// asksByOutcome reports whether the backend's own terminal event contains the questions.
func asksByOutcome(p *agui.Pause) bool {
	finish := agui.View(p.NativeFinish)
	outcome := finish.Get("outcome")
	return outcome.Str == "interrupt" || outcome.Get("type").Str == "interrupt" || finish.Get("interrupt").Exists() || finish.Get("interrupts").Exists()
}

// asksByEvent reports whether the backend itself has announced the pause by a CUSTOM event.
func asksByEvent(p *agui.Pause) bool {
	return slices.ContainsFunc(p.Native, func(own json.RawMessage) bool { return agui.PeekType(own) == agui.Custom })
}

// asksByCalls reports whether the backend asks each question by a call to a tool, and the client's
// applications answer such calls by messages.
func asksByCalls(p *agui.Pause, line *clients.Line) bool {
	calls := false
	for _, own := range p.Native {
		tool := "" // the tool of the call that this event begins
		switch agui.PeekType(own) {
		case agui.CallStart, agui.CallChunk:
			tool = agui.View(own).Get("toolCallName").Str
		}
		if tool == "" {
			continue
		}
		calls = true
		if !line.AnswersCalls(tool) {
			return false
		}
	}
	return calls && !slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return len(i.Keys) == 0 })
}

// A Question is an open pause that is shown to the client, with the other events that its stream
// needs.
type Question struct {
	Pause *agui.Pause
	// Announced are the events by which the backend itself announced the pause. They are nil if the
	// stream already contains them.
	Announced []agui.Event
	// MoreEvents are further events before the end of the run. They end what is open, or are
	// snapshots.
	MoreEvents []agui.Event
	// ClosingEvents are the events that close the stream's open messages and calls. They are needed
	// for a question that is shown as a text.
	ClosingEvents []agui.Event
	// NotTaken is true if messages of the request were not sent to the backend. Then the outcome
	// has the code MESSAGES_NOT_TAKEN.
	NotTaken bool
}

// Question returns the events that show an open pause to the client, in the form for this client.
// The last event ends the run. The forms that Holdpoint itself makes omit questions that are
// already decided.
func (l Listener) Question(q Question) []agui.Event {
	p := q.Pause.Undecided()
	events := make([]agui.Event, 0, len(q.Announced)+len(q.MoreEvents)+2)
	if l.Show != translate.ShowOutcome {
		events = append(events, q.Announced...)
	}
	if l.Show == translate.ShowBoth && len(p.Native) == 0 {
		events = append(events, customInterrupt(p))
	}
	events = append(events, q.MoreEvents...)
	how := l.formOf(p)
	if how == byText {
		events = append(append(events, q.ClosingEvents...), questionText(p)...)
	}
	if l.showsNativeForm() && p.NativeFinish != nil && how != byOutcome {
		return append(events, l.WithIDs(agui.NewEvent(tanstack.FinishForRun(p.NativeFinish, l.In.RunID))))
	}
	return append(events, l.outcome(p, q.NotTaken))
}

// Announcement returns the events by which the backend itself announced the pause. It omits calls
// that the client's history already contains, because the client would append the arguments to
// those of the call that it has.
func (l Listener) Announcement(p *agui.Pause) []agui.Event {
	var events []agui.Event
	var known map[string]bool
	for _, own := range p.Native {
		ev := agui.NewEvent(own)
		switch ev.Type {
		case agui.CallStart, agui.CallArgs, agui.CallEnd, agui.CallChunk:
			if known == nil {
				known = callsIn(l.ClientMessages)
			}
			if known[ev.Get("toolCallId").Str] {
				continue
			}
		}
		events = append(events, ev)
	}
	return events
}

const outcomeStart = `{"type":"interrupt","interrupts":[`

// outcome returns the RUN_FINISHED with the interrupt outcome. notTaken is as in Question.NotTaken.
func (l Listener) outcome(p *agui.Pause, notTaken bool) agui.Event {
	size := len(outcomeStart)
	for _, i := range p.Interrupts {
		size += len(i.Object) + 1
	}
	outcome := append(make([]byte, 0, size+2), outcomeStart...)
	var binder *tanstack.Binder
	if !l.showsNativeForm() {
		binder = tanstack.NewBinder(l.In.Raw, l.In.RunID)
	}
	for n, i := range p.Interrupts {
		if n > 0 {
			outcome = append(outcome, ',')
		}
		told, bound := tanstack.ForRun(i.ForClient(), l.In.RunID)
		if !bound {
			told = binder.Bind(told, i)
		}
		outcome = agui.AppendCompact(outcome, told)
	}
	outcome = append(outcome, "]}"...)
	finish := p.Finish
	if agui.View(p.NativeFinish).Get("outcome").IsObject() {
		finish = p.NativeFinish // so that outcome stays at its position among the keys
	}
	var few [3]agui.Edit
	edits := append(l.appendIDs(few[:0], agui.NewEvent(finish)), agui.Edit{Key: "outcome", JSON: outcome})
	finish = agui.SetKeys(finish, edits...)
	if notTaken {
		finish = agui.SetString(finish, "metadata.holdpoint.code", string(agui.MessagesNotTaken))
	}
	return agui.NewEvent(finish)
}

// customInterrupt returns a CUSTOM event named on_interrupt. It is for clients that read only this
// event, if the backend sends none. Its value is JSON text, as in LangGraph's event. It contains
// the ids of the questions. So if a client returns the event (command.interruptEvent), it names the
// question that it answers. One event contains all questions, because such clients store only the
// last event.
func customInterrupt(p *agui.Pause) agui.Event {
	value := p.Interrupts[0].ForClient()
	if len(p.Interrupts) > 1 {
		objects := make([]json.RawMessage, len(p.Interrupts))
		for n, i := range p.Interrupts {
			objects[n] = i.ForClient()
		}
		value = agui.MustMarshal(map[string]any{"interrupts": objects})
	}
	return agui.MakeEvent(agui.Custom, "name", agui.OnInterrupt, "value", agui.View(value).Raw)
}

// Applications with .NET's client remember each question that they got, and the client throws if
// two questions have the same id. So a question that is sent again gets another id each time: the
// published id, with a suffix for the run.

// retoldID matches the id of a question that was sent again to such a client.
var retoldID = regexp.MustCompile(`^(.+~[A-Za-z0-9_-]+)\+[0-9a-f]{8}$`)

// WithRetoldIDs returns a pause that is to be sent again. For a client in .NET its questions get
// other ids. For any other client it is unchanged.
func (l Listener) WithRetoldIDs(p *agui.Pause) *agui.Pause {
	if !l.Line.OmitsQuestions() || l.Show == translate.ShowNative {
		return p
	}
	sum := sha256.Sum256([]byte(l.In.RunID))
	retold := *p
	retold.Interrupts = slices.Clone(p.Interrupts)
	for n := range retold.Interrupts {
		i := &retold.Interrupts[n]
		if id := i.ID + "+" + hex.EncodeToString(sum[:4]); retoldID.MatchString(id) {
			i.Object = agui.WithID(i.Object, id)
		}
	}
	return &retold
}

// WithPublishedIDs returns the input of a request with the published ids in resume. It replaces the
// ids that WithRetoldIDs has made.
func WithPublishedIDs(in *agui.RunInput) *agui.RunInput {
	if !slices.ContainsFunc(in.Resume, func(e agui.ResumeEntry) bool { return retoldID.MatchString(e.InterruptID) }) {
		return in
	}
	out := *in
	out.Resume = slices.Clone(in.Resume)
	entries := agui.View(in.Raw).Get("resume").Array()
	list := make([]json.RawMessage, len(entries))
	for n, e := range entries {
		list[n] = json.RawMessage(e.Raw)
		if id := retoldID.FindStringSubmatch(e.Get("interruptId").Str); id != nil && n < len(out.Resume) {
			list[n] = agui.SetString(list[n], "interruptId", id[1])
			out.Resume[n].InterruptID = id[1]
		}
	}
	out.Raw = agui.SetKey(in.Raw, "resume", agui.List(list))
	return &out
}

// PublishID writes the id with which clients answer into the object of a question. It also writes
// the time of expiry if the backend has set none. The zero time means no expiry.
func PublishID(i *agui.Interrupt, expires time.Time) {
	i.Object = tanstack.Rename(agui.WithID(i.Object, i.ID), i.Native, i.ID)
	if _, says := i.Expires(); !says && !expires.IsZero() && !gjson.GetBytes(i.Object, "expiresAt").Exists() {
		i.Object = agui.SetString(i.Object, "expiresAt", expires.UTC().Format(time.RFC3339))
	}
}

// WithPublishedID puts the published id into an event by which the backend announced the pause.
// Some of these events contain the id of their interrupt (CrewAI, Mastra), and clients answer with
// the id that they read there.
func WithPublishedID(own json.RawMessage, p *agui.Pause) json.RawMessage {
	ev := agui.View(own)
	value := ev.Get("value")
	object := kit.ParseText(value)
	if ev.Get("name").Str != agui.OnInterrupt || !object.IsObject() {
		return own
	}
	native := object.Get("id").Str
	for _, i := range p.Interrupts {
		switch {
		case i.Native == "" || i.Native != native || i.ID == i.Native:
		case value.IsObject():
			return agui.SetString(own, "value.id", i.ID)
		default:
			return agui.SetString(own, "value", string(agui.SetString([]byte(object.Raw), "id", i.ID)))
		}
	}
	return own
}
