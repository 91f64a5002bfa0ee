package strands

import (
	"encoding/json"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/strandsapi"
	"holdpoint/translate/kit"
)

// An agent may wait for the answer to a question that Holdpoint has lost: by a restart, or because
// nobody knows what became of an answer. Python is asked (askWhat). TypeScript cannot be asked, so
// its refusal of a prompt becomes a lost question (kit.LostQuestion). Its ids hold the name of the
// interrupt, so a cancel goes out in the word that the hook or tool takes for a no. The refusal
// changes nothing at the agent, and the no is taken after it (RAN @strands-agents/sdk 1.19.0).

// askLost returns the result of a prompt that TypeScript refused because its agent waits: a lost
// question. It is false if nothing is known that could be cancelled.
func (run *run) askLost() (translate.Result, bool) {
	if run.resumed != nil || run.r.Show == translate.ShowNative {
		return translate.Result{}, false
	}
	ids := kit.LostIDs(run.r, func(p *agui.Pause, _ *agui.Interrupt) bool { return p.Dialect == Name })
	natives := sdkIDs(ids, func(id strandsapi.ID) bool { return !id.Python })
	if len(natives) == 0 {
		return translate.Result{}, false
	}
	return kit.AskLost(run.r, kit.LostQuestion{Of: Name, Natives: natives}), true
}

// sdkIDs returns those of the ids that an SDK makes and that are wanted. A published id is such
// an id with a tilde and more behind it, and is left out.
func sdkIDs(ids []string, wanted func(strandsapi.ID) bool) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		read, known := strandsapi.ParseID(id)
		return !known || !wanted(read) || slices.ContainsFunc(ids, func(other string) bool { return strings.HasPrefix(id, other+"~") })
	})
}

// sayNo returns the word that a hook or tool of TypeScript takes for a no, by the id of its
// question.
func (d *Dialect) sayNo(native string) json.RawMessage {
	id, _ := strandsapi.ParseID(native)
	rule, _ := d.rules.Answer(id.Name)
	return rule.Cancelled()
}

// cancel returns the exchange that says no to what the agent may wait for.
func (d *Dialect) cancel(r *translate.Request, cancels *kit.Cancels) *translate.Exchange {
	list := []byte{'['}
	for _, id := range cancels.Open() {
		list = appendResponse(list, id, d.sayNo(id))
	}
	run := newRun(d, r, newIDs(r))
	run.resumed, run.listed, run.cancels = &r.Pause, true, cancels
	out := d.out(r, append(list, ']'))
	out.Resumes = true
	return &translate.Exchange{Out: out, Run: run}
}

// dropExchange returns the exchange that says no without the id which the agent does not know. It
// is nil if no other id is left.
func (run *run) dropExchange(text string) *translate.Exchange {
	id, named := unknownID(text)
	if run.cancels == nil || !named || !run.cancels.Drop(id) {
		return nil
	}
	return run.d.cancel(run.r, run.cancels)
}

// unknownID returns the id that an error names as unknown: "interrupt_id=<id> | no interrupt
// found".
func unknownID(text string) (id string, named bool) {
	_, id, began := strings.Cut(text, "interrupt_id=<")
	id, _, ended := strings.Cut(id, "> | "+saysUnknown)
	return id, began && ended
}

// askBroken returns the exchange that asks a Python agent whether it waits, because its answer to a
// prompt broke off before the agent said anything. A server that catches no errors breaks off so
// while its agent waits. The agent gets null for the questions that it may have: it takes that for
// no answer yet, and asks. If it does not wait, that is an error. It refuses a list with an id that
// it does not wait for, and breaks off again (RAN 1.40 and 1.62). Then the next of mayWait is
// tried. The result is nil if none is left.
func (run *run) askBroken() *translate.Exchange {
	refused, lists := run, run.untried
	switch {
	case run.broken && run.idle():
		refused = run.refused
	case run.refused != nil || run.insists:
		return nil
	default:
		lists = run.mayWait()
	}
	if len(lists) == 0 {
		return nil
	}
	next := newRun(run.d, run.r, run.ids)
	next.broken, next.untried = true, lists[1:]
	return refused.askAnew(next, lists[0])
}

// mayWait returns the ids that a Python agent may wait for, as at most kit.MaxLost lists. They are
// sent one after the other. First come the questions of each ended pause, newest first. Then come
// those that clients named. Nobody knows which of those belong together, so the longest lists come
// first. A question left out would keep an older answer, and the agent would act on it.
func (run *run) mayWait() [][]string {
	var lists [][]string
	add := func(list []string) {
		known := slices.ContainsFunc(lists, func(other []string) bool { return slices.Equal(other, list) })
		if len(list) > 0 && !known && len(lists) < kit.MaxLost {
			lists = append(lists, list)
		}
	}
	python := func(id strandsapi.ID) bool { return id.Python }
	for at := range run.r.Ended {
		var asked []string
		if p := &run.r.Ended[at].Pause; p.Dialect == Name {
			for n := range p.Interrupts {
				asked = append(asked, p.Interrupts[n].Native)
			}
		}
		add(sdkIDs(asked, python))
	}
	named := sdkIDs(kit.LostIDs(run.r, func(*agui.Pause, *agui.Interrupt) bool { return false }), python)
	for from := range named {
		for to := len(named); to > from; to-- {
			add(named[from:to])
		}
	}
	return lists
}
