package proxy

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// A yes is for the call that a person was shown. Backends that keep nothing (pydantic-ai without a
// store) take that call out of the request's messages, so that whoever writes those would decide
// what runs: other arguments, or another tool. The record has the call as it was shown, and a
// resume brings that one, in every dialect.

// asAsked is a resume's list of messages. It has the calls that the pause asks about as the record
// has them. A yes is refused if nobody can say what it would run. Then the record does not know the
// call in full, or the messages hold it more often than they did, or parsers read it in more than
// one way. A clear no is never refused.
func (r *run) asAsked(p *agui.Pause, answers []agui.Answer, list []agui.Message) ([]agui.Message, *agui.RunError) {
	calls := map[string]agui.AskedCall{} // by their ids
	approved := map[string]string{}      // the interrupt that a yes is for
	for n, i := range p.Interrupts {
		if answers[n].Says == agui.Unclear {
			answers[n].Says = kit.Says(i, answers[n])
		}
		yes := answers[n].Says != agui.Denies
		for _, c := range i.Calls {
			if yes && c.Unknown {
				return nil, agui.Errorf(agui.ApprovalUncertain, "the call that interrupt %q asks about is too large to be kept, so it cannot be said what an approval would run: it can be denied or cancelled (HOLDPOINT_TRANSCRIPT_BYTES)", i.ID)
			}
			if c.ID == "" {
				continue
			}
			calls[c.ID] = c
			if yes {
				approved[c.ID] = i.ID
			}
		}
	}
	if len(calls) == 0 {
		return list, nil
	}
	wanted := func(id string) bool { _, is := calls[id]; return is }
	var edited []agui.Message
	var differ []string
	found := map[string]int{}
	for at, m := range list {
		if m.Plain {
			continue
		}
		copies := agui.CallCopies(agui.View(m.JSON).Raw, wanted)
		for _, c := range copies {
			found[c.ID]++
			if id := approved[c.ID]; id != "" && !c.Sure {
				return nil, uncertainCopy(id)
			}
		}
		copies = slices.DeleteFunc(copies, func(c agui.CallCopy) bool { return !c.Sure || calls[c.ID].Unknown })
		text, ids := agui.WithCalls(m.JSON, copies, calls)
		if ids == nil {
			continue
		}
		if edited == nil {
			edited = slices.Clone(list)
		}
		edited[at] = agui.ParseMessage(text)
		differ = append(differ, ids...)
	}
	if id := r.moreThanOnce(p, found, approved); id != "" {
		return nil, uncertainCopy(id)
	}
	if edited != nil {
		list = edited
		r.log.Warn("calls in the messages are not as they were asked about: the backend gets them as they were", "calls", len(differ), "call_ids", cutAll(differ))
	}
	return list, nil
}

// logUnclear logs answers that nobody can judge: the question has no schema, and the payload is
// neither a clear yes nor a clear no. It goes to the backend as it came, and some backends take
// anything for a yes.
func (r *run) logUnclear(p *agui.Pause, answers []agui.Answer) {
	for n, a := range answers {
		i := p.Interrupts[n]
		if a.Status != agui.Resolved || i.Schema() != nil && !a.Own || a.Says != agui.Unclear || kit.Approves(a.Payload) {
			continue
		}
		args := []any{"interrupt", agui.Cut(i.ID), "reason", agui.Cut(i.Reason())}
		r.log.Debug("an answer to a question without a schema is neither a clear yes nor a clear no", args...)
		r.h.once("unclear answer", func() {
			r.log.Warn("an answer to a question without a schema is neither a clear yes nor a clear no: it goes to the backend as it came. This is logged once", args...)
		})
	}
}

// moreThanOnce is the interrupt of an approved call that the messages hold more often than the
// client was shown it. A backend that runs what it finds would run it twice. It is "" if no call
// stands so. Two calls may have one id, and then the client was shown two.
func (r *run) moreThanOnce(p *agui.Pause, found map[string]int, approved map[string]string) string {
	var known map[string]int
	for id, interrupt := range approved {
		if found[id] < 2 {
			continue
		}
		if known == nil {
			known = map[string]int{}
			agui.View(p.Messages).ForEach(func(_, m gjson.Result) bool {
				for _, c := range agui.CallCopies(m.Raw, func(id string) bool { return approved[id] != "" }) {
					known[c.ID]++
				}
				return true
			})
		}
		if found[id] > max(known[id], 1) {
			return interrupt
		}
	}
	return ""
}

func uncertainCopy(id string) *agui.RunError {
	return agui.Errorf(agui.ApprovalUncertain, "the messages hold the call that interrupt %q asks about more than once, or in a form that is read in more than one way: an approval needs it once, as it was shown, or not at all", id)
}

// cutAll are ids as they may stand in a log line.
func cutAll(ids []string) []string {
	const most = 20
	list := make([]string, 0, most)
	for _, id := range ids[:min(len(ids), most)] {
		list = append(list, agui.Cut(id))
	}
	return list
}
