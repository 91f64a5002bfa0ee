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

// ag_ui_strands refuses every run of a thread while its question is open. If Holdpoint does not
// know that question, the refusal becomes a lost question (kit.LostQuestion). Only ids of the
// Python SDK are cancelled so: the adapter makes {"approved":false} or {"cancelled":true} of a
// cancel, and runs nothing (RAN 0.3.0, 1.0.2). A cancel runs the call at a hook in TypeScript (RAN
// 0.2.3), and that adapter cannot be asked about anything once a new message reached it.

var (
	_ translate.Freer  = (*Dialect)(nil)
	_ translate.Locker = (*Dialect)(nil)

	_ translate.Reviver = (*Dialect)(nil)
)

// An ordinary run that ag_ui_strands refuses because its thread waits, before anything else.
const refusalWaiting = "Thread has pending interrupts. Include resume[] to address them."

// saysClosed begins the refusal of a resume array. The first id follows that the adapter does not
// wait for.
const saysClosed = "Resume references an interrupt that is not open: "

// refusesWaiting reports whether a RUN_ERROR says that a thread of ag_ui_strands waits. The code
// alone is any server's that keeps AG-UI's rules.
func refusesWaiting(ev agui.Event) bool {
	return agui.Code(ev.Get("code").Str) == agui.PendingInterrupts && ev.Get("message").Str == refusalWaiting
}

// Frees implements translate.Freer. A cancel goes as that of an open question does: in the word
// that its hook or tool takes for a no.
func (*Dialect) Frees(*agui.Pause) bool { return true }

// Locks implements translate.Locker. TypeScript's adapter forgets its question at a new message,
// and its thread takes nothing any more (RAN 0.2.3).
func (*Dialect) Locks(p *agui.Pause) bool {
	return slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return !isPython(i.Native) })
}

// Revive implements translate.Reviver. An id of TypeScript's SDK has the name of the interrupt, so
// its no is the hook's or tool's own word. An adapter does nothing for an id that it does not wait
// for (RAN 0.2.3, 1.0.2).
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

// waits returns the result of an ordinary run that was refused because its thread waits: a lost
// question. It is false if nothing is known that could be cancelled.
func (run *run) waits(ev agui.Event) (translate.Result, bool) {
	r := run.r
	if run.further || run.worked || r.Show == translate.ShowNative || !ev.Valid() || !refusesWaiting(ev) {
		return translate.Result{}, false
	}
	var held, gates []string
	kit.WithoutDangling(kit.AsSent(r), func(c kit.DanglingCall) bool {
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
		g := guessExchange{run: run.d.plainRun(r, run.cuts), refusal: translate.Result{Finish: agui.NewEvent(slices.Clone(ev.JSON))}, ids: natives, held: held}
		return g.try(), true
	}
	return askLost(r, natives, held), true
}

func askLost(r *translate.Request, natives, held []string) translate.Result {
	res := kit.AskLost(r, kit.LostQuestion{Of: Name, Natives: natives})
	res.Asked.Private = agui.MustMarshal(pausePrivate{Held: held})
	return res
}

// A guessExchange is an exchange that finds out whether the gate asked about the calls of the
// history. A hook may have asked about them under an id that nobody knows, and a lost question in
// its place would take the client's own away. The adapter refuses a resume array before it acts on
// an entry, and names the first id that it does not wait for (RAN 0.3.0, 1.0.2). The last id of
// this array is nobody's. If the adapter names it, all others are right.
type guessExchange struct {
	*run
	refusal translate.Result // of the ordinary run before it
	ids     []string
	held    []string
}

// nobodys is the id of a question that no agent asks.
const nobodys = "v1:before_tool_call:holdpoint:00000000-0000-5000-8000-000000000000"

// try returns the result of the refused run: the next exchange, or its own end if no id is left.
func (g guessExchange) try() translate.Result {
	if len(g.ids) == 0 {
		return g.refusal
	}
	in := g.r.Input
	words := len(in.Messages)
	for words > 0 && in.Messages[words-1].Role == "user" {
		words--
	}
	body := agui.DeleteKey(kit.Unanswered(in, in.Messages[:words]), "protocolVersion")
	out := translate.Out{Body: agui.SetKey(body, "resume", kit.CancelArray(append(slices.Clone(g.ids), nobodys), ""))}
	return translate.Result{Next: &translate.Exchange{Out: out, Run: g}}
}

// End implements translate.Run.
func (g guessExchange) End(e translate.End) (translate.Result, error) {
	if e.Event.Type != agui.RunErrored || !e.Event.Valid() {
		return translate.Result{Finish: e.Event}, nil
	}
	unknown, named := strings.CutPrefix(e.Event.Get("message").Str, saysClosed)
	switch {
	case named && unknown == nobodys:
		return askLost(g.r, g.ids, g.held), nil
	case named && slices.Contains(g.ids, unknown):
		g.ids = slices.DeleteFunc(g.ids, func(id string) bool { return id == unknown })
		g.run = g.d.plainRun(g.r, g.cuts)
		return g.try(), nil
	}
	return g.refusal, nil
}

// ofPython reports whether an id is one that the Python SDK makes.
func ofPython(id string) bool {
	read, known := strandsapi.ParseID(id)
	return known && read.Python
}

// gateID returns the id under which the gate of ag_ui_strands asks about a call: a UUID by the name
// of the gate stands in it. A call that no gate held has no such question, and the adapter refuses
// its id.
func gateID(c kit.DanglingCall) string {
	object := []byte{0x6b, 0xa7, 0xb8, 0x12, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8} // RFC 9562, OID
	var sum [sha1.Size]byte
	fips140.WithoutEnforcement(func() { // it protects nothing
		sum = sha1.Sum(append(object, gateName+c.Name...)) //nolint:gosec // as above
	})
	sum[6], sum[8] = sum[6]&0x0f|0x50, sum[8]&0x3f|0x80
	return fmt.Sprintf("v1:before_tool_call:%s:%x-%x-%x-%x-%x", c.ID, sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// endFreed returns the result of a cancel that the adapter refused, if the pause takes nothing
// else. The adapter judges the whole array before it acts on an entry.
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
		res = translate.Result{Finish: agui.FinishedEvent(run.r.Input.ThreadID, run.r.Input.RunID)} // nothing waits any more
		if len(run.r.New) > 0 {
			res.Next = run.d.next(run.r)
		}
		return res, true
	case run.cancels == nil, run.d.Locks(&run.r.Pause): // what follows are words of Python's adapter
	case code == "INTERRUPT_RESUME_ERROR" && strings.HasPrefix(message, saysClosed):
		if run.cancels.Drop(strings.TrimPrefix(message, saysClosed)) {
			return run.cancelAgain(), true
		}
		return translate.Result{Fate: translate.Lost}, true // it is called otherwise, and nobody knows how
	case code == agui.PartialResume && strings.Contains(message, missing):
		_, list, _ := strings.Cut(message, missing)
		if run.cancels.Add(missingIDs(list)...) {
			return run.cancelAgain(), true
		}
	}
	return translate.Result{}, false
}

// unknownTS is the code by which TypeScript's adapter refuses a resume array with ids that it does
// not wait for. Its message has up to four of them.
const unknownTS = "UNKNOWN_INTERRUPT"

// dropNamed takes out the ids that a refusal of TypeScript's adapter has. It reports whether
// another try makes sense.
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

// missingIDs reads the ids behind the words of a partial resume: "['a', 'b']. All" of 0.3.0, and
// ": a, b. All" of 1.0.2.
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

// cancelAgain returns the result of a cancel that has to name other ids.
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

// cancelsOf returns the resume array that cancels these ids. A question of the record is cancelled
// in the word that its hook or tool takes for a no.
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
