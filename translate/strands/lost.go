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

// An agent may wait for the answer to a question that Holdpoint has lost by a restart, or whose
// answer is in doubt. A Python agent can be asked for its questions (askWhat). A TypeScript agent
// cannot. So if it refuses a prompt because it waits, Holdpoint asks the client a lost question
// (kit.LostQuestion), which the client can only cancel. The ids of TypeScript contain the name of
// the interrupt, so a cancel can be sent as the word that the hook or tool reads as no. The refusal
// does not change the agent, and the agent accepts the no after it (RAN @strands-agents/sdk
// 1.19.0).

// askLost returns a result with a lost question. It is called if a TypeScript agent refused a
// prompt because it waits. It returns false if no id is known that could be cancelled.
func (run *run) askLost() (translate.Result, bool) {
	if run.resumed != nil || run.r.Show == translate.ShowNative {
		return translate.Result{}, false
	}
	ids := kit.LostIDs(run.r, func(p *agui.Pause, _ *agui.Interrupt) bool { return p.Dialect == Name })
	natives := sdkIDs(ids, func(id strandsapi.ID) bool { return !id.Python })
	if len(natives) == 0 {
		return translate.Result{}, false
	}
	return kit.AskLost(run.r, kit.LostQuestion{Backend: Name, Natives: natives}), true
}

// sdkIDs returns those ids that an SDK made and for which the function isWanted returns true. It
// leaves out published ids, which are an SDK's id with a tilde and a suffix.
func sdkIDs(ids []string, isWanted func(strandsapi.ID) bool) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		read, known := strandsapi.ParseID(id)
		return !known || !isWanted(read) || slices.ContainsFunc(ids, func(other string) bool { return strings.HasPrefix(id, other+"~") })
	})
}

// sayNo returns the answer to the question native that the hook or tool of a TypeScript agent reads
// as a no.
func (d *Dialect) sayNo(native string) json.RawMessage {
	id, _ := strandsapi.ParseID(native)
	rule, _ := d.rules.Answer(id.Name)
	return rule.Cancelled()
}

// cancel returns the exchange that sends a no to each open question in cancels.
func (d *Dialect) cancel(r *translate.Request, cancels *kit.Cancels) *translate.Exchange {
	list := []byte{'['}
	for _, id := range cancels.Open() {
		list = appendResponse(list, id, d.sayNo(id))
	}
	run := newRun(d, r, newIDs(r))
	run.resumed, run.sentList, run.cancels = &r.Pause, true, cancels
	out := d.out(r, append(list, ']'))
	out.Resumes = true
	return &translate.Exchange{Out: out, Run: run}
}

// dropExchange returns the exchange that sends the cancels again, without the id that the agent
// does not know. text is the agent's error, which names that id. dropExchange returns nil if the
// error names no id, or if no other id is left.
func (run *run) dropExchange(text string) *translate.Exchange {
	id, named := unknownID(text)
	if run.cancels == nil || !named || !run.cancels.Drop(id) {
		return nil
	}
	return run.d.cancel(run.r, run.cancels)
}

// unknownID returns the id that an error reports as unknown. The error contains "interrupt_id=<id>
// | no interrupt found".
func unknownID(text string) (id string, named bool) {
	_, id, began := strings.Cut(text, "interrupt_id=<")
	id, _, ended := strings.Cut(id, "> | "+saysUnknown)
	return id, began && ended
}

// askBroken returns the exchange that asks a Python agent whether it waits. It is used if the
// response to the prompt broke off before any text, because a server that catches no errors breaks
// off while its agent waits. The exchange sends null for each question that may be open. A waiting
// agent does not read null as an answer, and repeats its questions. An agent that does not wait, or
// does not know one of the ids, breaks off again (RAN 1.40 and 1.62). The next list of mayWait is
// then tried. askBroken returns nil if no list is left.
func (run *run) askBroken() *translate.Exchange {
	refused, lists := run, run.untried
	switch {
	case run.brokeOff && run.idle():
		refused = run.refused
	case run.refused != nil || run.repeatsPrompt:
		return nil
	default:
		lists = run.mayWait()
	}
	if len(lists) == 0 {
		return nil
	}
	next := newRun(run.d, run.r, run.ids)
	next.brokeOff, next.untried = true, lists[1:]
	return refused.askAnew(next, lists[0])
}

// mayWait returns at most kit.MaxLost lists of ids. A Python agent may wait for the questions of
// any one of them, so the lists are tried one after the other. The first lists have the questions
// of each ended pause, newest pause first. The others have ids that the client named. It is unknown
// which of these ids belong together, so each list is a part of their sequence. For each first id,
// longer parts come first. If a question was missing from a list, its older answer would stay, and
// the agent would act on it.
func (run *run) mayWait() [][]string {
	var lists [][]string
	add := func(list []string) {
		known := slices.ContainsFunc(lists, func(other []string) bool { return slices.Equal(other, list) })
		if len(list) > 0 && !known && len(lists) < kit.MaxLost {
			lists = append(lists, list)
		}
	}
	python := func(id strandsapi.ID) bool { return id.Python }
	for at := range run.r.EndedPauses {
		var asked []string
		if p := &run.r.EndedPauses[at].Pause; p.Dialect == Name {
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
