package awsstrands

import (
	"crypto/fips140"
	"crypto/sha1" //nolint:gosec // what a UUID by name is made of
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/strandsapi"
	"holdpoint/translate/kit"
)

// While a question of a thread is open, ag_ui_strands refuses every run of that thread. If
// Holdpoint does not know the question, it turns this refusal into a lost question
// (kit.LostQuestion). It cancels only ids of the Python SDK, because Python's adapter turns a
// cancel into {"approved":false} or {"cancelled":true}, and runs nothing (RAN 0.3.0, 1.0.2). In
// TypeScript a cancel would make the hook run the call (RAN 0.2.3), and after a new message that
// adapter does not repeat its question.

var (
	_ translate.Freer  = (*Dialect)(nil)
	_ translate.Locker = (*Dialect)(nil)

	_ translate.Reviver = (*Dialect)(nil)
)

// refusalWaiting is the message of the RUN_ERROR with which ag_ui_strands refuses an ordinary run
// of a thread that waits for an answer. It is the only event of the stream.
const refusalWaiting = "Thread has pending interrupts. Include resume[] to address them."

// saysClosed begins the message with which the adapter refuses a resume array. The first id that is
// not open follows it.
const saysClosed = "Resume references an interrupt that is not open: "

// refusesWaiting reports whether the RUN_ERROR means that a thread of ag_ui_strands waits for an
// answer. It compares the message too, because every server that follows AG-UI sends this code.
func refusesWaiting(ev agui.Event) bool {
	return agui.Code(ev.Get("code").Str) == agui.PendingInterrupts && ev.Get("message").Str == refusalWaiting
}

// Frees implements translate.Freer. A cancel is sent as for an open question: as the word that the
// hook or tool reads as no.
func (*Dialect) Frees(*agui.Pause) bool { return true }

// Locks implements translate.Locker. It returns true for questions of TypeScript's adapter, which
// forgets its question after a new message. The thread then accepts no further input (RAN 0.2.3).
func (*Dialect) Locks(p *agui.Pause) bool {
	return slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return !isPython(i.Native) })
}

// Revive implements translate.Reviver. An id of TypeScript's SDK contains the name of the
// interrupt, so the rule of that name defines the word for no. If an id is not open, an adapter
// does nothing (RAN 0.2.3, 1.0.2).
func (*Dialect) Revive(ids []string, _ string) agui.Pause {
	p := agui.Pause{Dialect: Name}
	var kept pausePrivate
	for _, id := range ids {
		native, _ := kit.NativeID(id)
		read, known := strandsapi.ParseID(native)
		if !known {
			continue
		}
		own := private{Name: read.Name, Own: read.Python, Python: read.Python, FromTool: read.Kind == strandsapi.FromTool}
		p.Interrupts = append(p.Interrupts, kit.NamedQuestion(id, native, agui.MustMarshal(own)))
		if read.ToolUseID != "" {
			kept.Held = append(kept.Held, read.ToolUseID)
		}
	}
	slices.Sort(kept.Held)
	p.Private = agui.MustMarshal(kept)
	return p
}

// lostQuestion returns the result of an ordinary run that the adapter refused because the thread
// waits for an answer. The result asks the client a lost question, or sends an exchange that
// guesses the question's id. lostQuestion returns false if the event ev is not such a refusal, or
// if no id is known.
func (run *run) lostQuestion(ev agui.Event) (translate.Result, bool) {
	r := run.r
	if run.isFollowUp || run.hasEvents || r.Show == translate.ShowNative || !ev.Valid() || !refusesWaiting(ev) {
		return translate.Result{}, false
	}
	var held, gates []string
	kit.WithoutDangling(kit.SentInput(r), func(c kit.DanglingCall) bool {
		if c.ID != "" && !r.Input.Declares(c.Name) {
			held, gates = append(held, c.ID), append(gates, gateID(c))
		}
		return false
	})
	asked := func(p *agui.Pause, _ *agui.Interrupt) bool { return p.Dialect == Name }
	python := func(ids []string) []string {
		return slices.DeleteFunc(ids, func(id string) bool { return !ofPython(id) })
	}
	natives := python(kit.LostIDs(r, asked, gates...))
	switch {
	case len(natives) == 0:
		return translate.Result{}, false
	case len(python(kit.LostIDs(r, asked))) == 0:
		g := guessExchange{run: run.d.plainRun(r, run.withheld), refusal: translate.Result{Finish: agui.NewEvent(slices.Clone(ev.JSON))}, ids: natives, held: held}
		return g.try(), true
	}
	return askLost(r, natives, held), true
}

func askLost(r *translate.Request, natives, held []string) translate.Result {
	res := kit.AskLost(r, kit.LostQuestion{Backend: Name, Natives: natives})
	res.Asked.Private = agui.MustMarshal(pausePrivate{Held: held})
	return res
}

// A guessExchange is an exchange that finds out whether the gate asked about the calls in the
// history. It must not guess wrongly: if a hook asked under an unknown id, a lost question would
// hide the question that the client has.
//
// The adapter checks a resume array before it acts on an entry, and names the first id that is not
// open (RAN 0.3.0, 1.0.2). The exchange sends an array whose last id does not exist. If the adapter
// names that id, all other ids in the array are open.
type guessExchange struct {
	*run
	refusal translate.Result // the result of the refused ordinary run
	ids     []string
	held    []string
}

// unknownInterrupt is an id for which no question exists.
const unknownInterrupt = "v1:before_tool_call:holdpoint:00000000-0000-5000-8000-000000000000"

// try returns a result with the next exchange. If no id is left to guess, it returns the refusal of
// the ordinary run.
func (g guessExchange) try() translate.Result {
	if len(g.ids) == 0 {
		return g.refusal
	}
	in := g.r.Input
	words := len(in.Messages)
	for words > 0 && in.Messages[words-1].Role == "user" {
		words--
	}
	body := agui.DeleteKey(kit.WithoutAnswers(in, in.Messages[:words]), "protocolVersion")
	out := translate.Out{Body: agui.SetKey(body, "resume", kit.CancelArray(append(slices.Clone(g.ids), unknownInterrupt), ""))}
	return translate.Result{Next: &translate.Exchange{Out: out, Run: g}}
}

// End implements translate.Run.
func (g guessExchange) End(e translate.End) (translate.Result, error) {
	if e.Event.Type != agui.RunErrored || !e.Event.Valid() {
		return translate.Result{Finish: e.Event}, nil
	}
	unknown, named := strings.CutPrefix(e.Event.Get("message").Str, saysClosed)
	switch {
	case named && unknown == unknownInterrupt:
		return askLost(g.r, g.ids, g.held), nil
	case named && slices.Contains(g.ids, unknown):
		g.ids = slices.DeleteFunc(g.ids, func(id string) bool { return id == unknown })
		g.run = g.d.plainRun(g.r, g.withheld)
		return g.try(), nil
	}
	return g.refusal, nil
}

// ofPython reports whether the Python SDK makes such an id, and its kind is known.
func ofPython(id string) bool {
	read, known := strandsapi.ParseID(id)
	return known && read.Python
}

// gateID returns the id under which the gate of ag_ui_strands would ask about the call. It contains
// a UUID made from the gate's name. If the gate did not ask about the call, the adapter refuses the
// id.
func gateID(c kit.DanglingCall) string {
	// the namespace for object ids (OID) of RFC 9562
	object := []byte{0x6b, 0xa7, 0xb8, 0x12, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}
	var sum [sha1.Size]byte
	fips140.WithoutEnforcement(func() { // the hash is not used for security
		sum = sha1.Sum(append(object, gateName+c.Name...)) //nolint:gosec // as above
	})
	sum[6], sum[8] = sum[6]&0x0f|0x50, sum[8]&0x3f|0x80
	return fmt.Sprintf("v1:before_tool_call:%s:%x-%x-%x-%x-%x", c.ID, sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// endFreed returns the result of a cancel that the adapter refused. It returns false if the pause
// accepts other answers than a cancel. The adapter checks the whole array before it acts on an
// entry, so a refused cancel had no effect.
func (run *run) endFreed(ev agui.Event) (res translate.Result, ok bool) {
	if !kit.CancelsOnly(run.r.Pause) {
		return translate.Result{}, false
	}
	const (
		none    = "Cannot resume without an active native interrupt checkpoint"
		missing = "missing interrupt IDs"
	)
	message := ev.Get("message").Str
	switch code := agui.Code(ev.Get("code").Str); {
	case code == unknownTS && run.dropNamed(message):
		return run.cancelAgain(), true
	case code == unknownTS, code == agui.UnknownInterruptID, code == "INTERRUPT_RESUME_ERROR" && message == none:
		// no question is open any more
		res = translate.Result{Finish: agui.FinishedEvent(run.r.Input.ThreadID, run.r.Input.RunID)}
		if len(run.r.NewMessages) > 0 {
			res.Next = run.d.next(run.r)
		}
		return res, true
	// only Python's adapter sends the errors below
	case run.cancels == nil, run.d.Locks(&run.r.Pause):
	case code == "INTERRUPT_RESUME_ERROR" && strings.HasPrefix(message, saysClosed):
		if run.cancels.Drop(strings.TrimPrefix(message, saysClosed)) {
			return run.cancelAgain(), true
		}
		// Holdpoint does not know the question's id
		return translate.Result{Fate: translate.Lost}, true
	case code == agui.PartialResume && strings.Contains(message, missing):
		_, list, _ := strings.Cut(message, missing)
		if run.cancels.Add(missingIDs(list)...) {
			return run.cancelAgain(), true
		}
	}
	return translate.Result{}, false
}

// unknownTS is the code with which TypeScript's adapter refuses a resume array that contains ids of
// questions that are not open. The message names up to four of these ids.
const unknownTS = "UNKNOWN_INTERRUPT"

// dropNamed removes the ids that the message of TypeScript's adapter names from the ids to cancel.
// It reports whether another attempt makes sense.
func (run *run) dropNamed(message string) bool {
	again := false
	if run.cancels != nil {
		for _, id := range slices.Clone(run.cancels.Open()) {
			if strings.Contains(message, id) {
				again = run.cancels.Drop(id)
			}
		}
	}
	return again
}

// missingIDs returns the ids in the text that follows "missing interrupt IDs". That text is "['a',
// 'b']. All" in 0.3.0, and ": a, b. All" in 1.0.2.
func missingIDs(list string) []string {
	list, _, _ = strings.Cut(list, ". All")
	var ids []string
	for part := range strings.SplitSeq(strings.Trim(list, ":[] "), ", ") {
		if id := strings.Trim(part, `'"`); ofPython(id) && len(ids) < kit.MaxLost {
			ids = append(ids, id)
		}
	}
	return ids
}

// cancelAgain returns the result after the adapter refused a cancel because of its ids. The result
// sends a further exchange, which cancels the ids that run.cancels has now.
func (run *run) cancelAgain() translate.Result {
	list, err := run.d.cancelsOf(run.r, run.cancels.Open())
	if err != nil {
		return translate.Result{Fate: translate.Lost}
	}
	out, left := run.d.resumeRequest(run.r, list, nil)
	next := run.d.resumedRun(left, out)
	next.cancels = run.cancels
	return translate.Result{Next: &translate.Exchange{Out: out, Run: next}}
}

// cancelsOf returns the resume array that cancels the questions with these ids. If the record has
// the question, it is cancelled by the word that its hook or tool reads as no.
func (d *Dialect) cancelsOf(r *translate.Request, ids []string) (json.RawMessage, error) {
	rest := slices.Clone(ids)
	list := []json.RawMessage{}
	for _, i := range r.Pause.Interrupts {
		at := slices.Index(rest, i.Native)
		if _, isLost := kit.LostOf(&i); isLost || at < 0 {
			continue
		}
		rest = slices.Delete(rest, at, at+1)
		said, err := d.answer(i, agui.Answer{ID: i.ID, Status: agui.Cancelled})
		if err != nil {
			return nil, err
		}
		list = append(list, entry("", i.Native, said))
	}
	for _, id := range rest {
		list = append(list, entry("", id, agui.Answer{Status: agui.Cancelled}))
	}
	return agui.MustMarshal(list), nil
}
