package proxy

import (
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Backends of Microsoft's take a yes or no out of the history (kit.Approvals), and believe what it says was asked.
// A client behind Holdpoint never holds such a pair, unless it is shown the backend's own form (HOLDPOINT_CLIENT=native).

// strayApprovals are those of a request's native approvals, by their places, that are neither among the answers nor
// settled.
func strayApprovals(in *agui.RunInput, approvals []int, answers []agui.Answer, settled []agui.SeenMessage) []int {
	if len(approvals) == 0 {
		return nil
	}
	said := carriersOf(answers, settled)
	return slices.DeleteFunc(slices.Clone(approvals), func(at int) bool { return said.has(in.Messages[at]) })
}

// approvals are the places of a request's native approvals, in order. Of those by tools that an option names, one that the
// record knows is none: a client that was told of it has it in its history. Nor is one that only repeats an answer to open,
// which may be nil; a resume drops those.
func (r *run) approvals(in *agui.RunInput, open *agui.Pause) []int {
	if len(in.Messages) == 0 {
		return nil
	}
	var list []int
	if !r.harmless {
		list = kit.Approvals(in.Raw)
	}
	decider, ok := r.h.opts.Dialect.(translate.Decider)
	if !ok {
		return list
	}
	decisions := decider.Decisions(*in)
	if len(decisions) == 0 {
		return list
	}
	known := r.given()
	var repeats contract.Repeats // of none
	if open != nil && in.HasResume {
		repeats = contract.RepeatsOf(open, in.Resume)
	}
	for _, d := range decisions {
		m := in.Messages[d.At]
		if !repeats.Has(m) && !known.has(m, d) {
			list = append(list, d.At)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// given is what the record knows as answered to calls that asked.
type given struct {
	answers map[string]bool // the call and the digest of its answer
	told    map[string]bool // tool messages on such calls that the client was told, canonical
}

func (r *run) given() given {
	g := given{map[string]bool{}, map[string]bool{}}
	for _, result := range r.record.Results {
		if result.Pause == nil || result.How != store.Finished {
			continue
		}
		digests := map[string]string{}
		for line := range strings.SplitSeq(result.Digest, "\n") {
			id, digest, _ := strings.Cut(line, " ")
			digests[id] = digest
		}
		calls := map[string]bool{}
		for _, i := range result.Pause.Interrupts {
			calls[i.ToolCallID()] = true
			g.answers[i.ToolCallID()+" "+digests[i.ID]] = true
		}
		agui.View(result.Messages).ForEach(func(_, m gjson.Result) bool {
			if calls[m.Get("toolCallId").Str] {
				g.told[string(agui.Canonical([]byte(m.Raw)))] = true
			}
			return true
		})
	}
	return g
}

func (g given) has(m agui.Message, d translate.Decision) bool {
	return d.Call != "" && (g.answers[d.Call+" "+contract.DigestOf(agui.Answer{Status: agui.Resolved, Payload: d.Payload})] || g.told[string(agui.Canonical(m.JSON))])
}

// oldAnswers are the messages of a request by which ended pauses of its thread were answered, and those of them that are
// settled: the pause ended well with just these answers, the record knows their digest. A yes beside a question that was
// denied is not settled.
func (r *run) oldAnswers() (all, settled []agui.SeenMessage, err error) {
	defer caught("Answers", &err)
	if len(r.in.Messages) == 0 {
		return nil, nil, nil
	}
	fields, _ := r.h.opts.Dialect.(translate.FieldReader)
	for _, result := range r.record.Results {
		if result.Pause == nil || fields != nil && fields.FieldsOnly(result.Pause.Dialect) {
			continue
		}
		p := result.Pause.Indexed()
		p.Ended = true
		answers, err := r.h.opts.Dialect.Answers(r.in, p)
		if unread := (*agui.RunError)(nil); err != nil && !errors.As(err, &unread) {
			return nil, nil, asBug("Answers", err) // an old yes may be among the messages
		}
		if err != nil {
			continue
		}
		settles := result.How == store.Finished && result.Digest != "" && contract.Digest(answers) == result.Digest
		for _, a := range answers {
			if a.Message == (agui.SeenMessage{}) {
				continue
			}
			all = append(all, a.Message)
			if settles {
				settled = append(settled, a.Message)
			}
		}
	}
	return all, settled, nil
}

// A messageSet is a set of messages, by what is kept of them.
type messageSet map[agui.SeenMessage]bool

// carriersOf are the messages that carry some answers, and others that are known.
func carriersOf(answers []agui.Answer, others ...[]agui.SeenMessage) messageSet {
	var set messageSet
	add := func(s agui.SeenMessage) {
		if s == (agui.SeenMessage{}) {
			return
		}
		if set == nil {
			set = messageSet{}
		}
		set[s] = true
	}
	for _, a := range answers {
		add(a.Message)
	}
	for _, list := range others {
		for _, s := range list {
			add(s)
		}
	}
	return set
}

// has says whether the message is one of them. See hashes a message's content, and most requests have no answer in a message
// at all.
func (c messageSet) has(m agui.Message) bool { return len(c) > 0 && c[agui.See(m)] }

// mixed are those messages with an answer, to this pause or to one before, that say something else too.
func (r *run) mixed() []agui.SeenMessage {
	said := r.said()
	var list []agui.SeenMessage
	for _, m := range r.in.Messages {
		if !said.has(m) {
			continue
		}
		if _, says := kit.WithoutFunctionApprovals(m); says {
			list = append(list, agui.See(m))
		}
	}
	return list
}

// said are the messages that answer this pause or one before.
func (r *run) said() messageSet { return carriersOf(r.answers, r.settled) }

// endsInStray says whether the request ends in an approval of what nobody asked. One that a person's words follow, or an
// answer to what was asked, is of another day: it is taken out, see dropStray.
func (r *run) endsInStray() bool {
	all := r.approvals(&r.in, r.record.Pause)
	stray := strayApprovals(&r.in, all, r.answers, r.settled)
	return len(stray) > 0 && stray[len(stray)-1] > r.lastSaid(all)
}

// lastSaid is the place of the last message in which a person says something or answers what was asked, -1 if there is
// none. approvals are the places of all native approvals, in order.
func (r *run) lastSaid(approvals []int) int {
	said := r.said()
	for at := len(r.in.Messages) - 1; at >= 0; at-- {
		m := r.in.Messages[at]
		if said.has(m) {
			return at
		}
		if m.Role != "user" {
			continue
		}
		if _, says := kit.WithoutFunctionApprovals(m); says {
			return at
		}
		if _, approves := slices.BinarySearch(approvals, at); !approves {
			return at
		}
	}
	return -1
}

// dropStray takes out of the input the approvals that answer no open question. answers are what the run hands on. Of
// those that are settled a pair of request_approval stays, for its dialect makes an ordinary exchange of it. Any other goes:
// agent-framework-ag-ui before 1.0.0b260319 keeps nothing, and would run what was approved once more.
func (r *run) dropStray(answers []agui.Answer) {
	all := r.approvals(&r.in, nil)
	if len(all) == 0 && len(r.old) == 0 {
		return
	}
	if unknown := strayApprovals(&r.in, all, answers, r.settled); len(unknown) > 0 {
		r.log.Warn("approvals in the history taken out: no question of this thread is open for them", "approvals", len(unknown))
	}
	pairs := map[agui.SeenMessage]bool{}
	for _, at := range kit.RequestApprovals(r.in.Raw) {
		pairs[agui.See(r.in.Messages[at])] = true
	}
	stays := slices.DeleteFunc(slices.Clone(r.settled), func(s agui.SeenMessage) bool { return !pairs[s] })
	r.in = kit.WithoutApprovals(r.in, strayApprovals(&r.in, all, answers, stays))
	old, kept := carriersOf(nil, r.old), carriersOf(answers, stays)
	drop(&r.in, func(m *agui.Message) bool { return m.Role == "tool" && old.has(*m) && !kept.has(*m) })
}

// unsettled are the answers that did not end the pause that they answer.
func (r *run) unsettled(answers []agui.Answer) []agui.Answer {
	settled := carriersOf(nil, r.settled)
	return slices.DeleteFunc(slices.Clone(answers), func(a agui.Answer) bool { return settled[a.Message] })
}

// dropCarriers takes out of the input of a resume the messages that carry its answers. What else such a message says is
// left of it.
func dropCarriers(in *agui.RunInput, answers []agui.Answer) {
	gone := carriersOf(answers)
	if len(gone) == 0 {
		return
	}
	var kept []agui.Message
	changed := false
	for _, m := range in.Messages {
		if !gone.has(m) {
			kept = append(kept, m)
			continue
		}
		changed = true
		if rest, says := kit.WithoutFunctionApprovals(m); says {
			kept = append(kept, rest)
		}
	}
	if changed {
		*in = in.WithMessages(kept)
	}
}

// stillIn are those of some messages that are left in list, in the form that they have there.
func stillIn(list, some []agui.Message) []agui.Message {
	if len(some) == 0 {
		return nil
	}
	wanted := make(map[agui.SeenMessage]bool, len(some))
	for _, m := range some {
		wanted[agui.See(m)] = true
	}
	var left []agui.Message
	for _, m := range list {
		if wanted[agui.See(m)] {
			left = append(left, m)
		}
	}
	return left
}
