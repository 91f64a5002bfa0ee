package proxy

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Some backends take decisions out of a request's messages, and believe what those say was asked.
// So the messages are read once for each attempt: each decision in them is related to the record
// here, and clean makes of that what the backend gets. A client behind Holdpoint holds such a
// decision only if it is shown the backend's own form (HOLDPOINT_CLIENT=native), or was told of
// one.

// readHistory relates the decisions in the request's messages to the record.
func (r *run) readHistory() []reply {
	reader, ok := r.h.opts.Dialect.(translate.HistoryReader)
	if !ok || len(r.in.Messages) == 0 {
		return nil
	}
	var list []reply
	asked := r.asked()
	known := func(key string) bool {
		return slices.ContainsFunc(asked, func(a asking) bool { return a.byKey[key] != nil })
	}
	var claims *kit.Claims   // nil until it is needed
	var left map[string]bool // nil until it is needed
	for one := range reader.Replies(r.in, r.spoken()) {
		is := known(one.Key)
		if is && len(r.record.Notes) > 0 {
			if claims == nil {
				claims = kit.ClaimsOf(r.in)
			}
			if r.isReused(claims, one.At, one.Key) {
				continue // what the client says on its own call
			}
		}
		if one.AskedUnlessLeft && left == nil {
			left = r.leftCalls()
		}
		one.Asked = one.Asked || one.AskedIfKnown && is || one.AskedUnlessResult && !isResult(asked, one) || one.AskedUnlessLeft && !r.isLeft(one.Key, left)
		if one.Asked || is {
			list = append(list, reply{Reply: one})
		}
	}
	slices.SortStableFunc(list, func(a, b reply) int { return a.At - b.At })
	if len(list) == 0 {
		return nil
	}
	var told map[string]bool // nil until it is needed
	at, seen, isTold, looked := -1, agui.SeenMessage{}, false, false
	for n := range list {
		d := &list[n]
		m := r.in.Messages[d.At]
		d.call = m.ToolCallID
		if d.At != at { // a message may hold very many
			at, seen, looked = d.At, agui.See(m), false
		}
		a := d.relate(reader, m, seen, asked)
		if a == nil || a.result == nil || a.result.How != store.Finished {
			continue
		}
		if d.wasAnswer = a.said(d.answer); !d.wasAnswer {
			if told == nil {
				told = r.told()
			}
			if !looked {
				looked, isTold = true, told[string(agui.Canonical(m.JSON))]
			}
			d.wasAnswer = isTold
		}
	}
	return list
}

// relate finds the newest pause whose question the reply answers, and how that ended.
func (d *reply) relate(reader translate.HistoryReader, m agui.Message, seen agui.SeenMessage, asked []asking) *asking {
	for n := range asked {
		a := &asked[n]
		if d.Unclear && a.byKey[d.Key] != nil { // some backend takes it for one, also where the question has ended
			d.Asked = true
			return nil
		}
		answer, past, ok := a.answer(reader, m, d.Reply)
		answer.Message = seen
		if !ok || a.stands(d.Reply, answer) {
			continue
		}
		if a.readsTwice(m, answer.ID, past) {
			d.Asked = true
			return nil
		}
		d.pause, d.answer, d.Past = a.pause, answer, past
		return a
	}
	return nil
}

// told are the tool messages, canonical, by which the client was told of answers to calls that
// asked. They need not say all that the answers said.
func (r *run) told() map[string]bool {
	set := map[string]bool{}
	for _, result := range r.record.Results {
		if result.Pause == nil || result.How != store.Finished {
			continue
		}
		calls := map[string]bool{}
		for _, i := range result.Pause.Interrupts {
			calls[i.ToolCallID()] = true
		}
		agui.View(endedSnapshots(result).fetch(r).Messages).ForEach(func(_, m gjson.Result) bool {
			if call := m.Get("toolCallId").Str; call != "" && calls[call] {
				set[string(agui.Canonical([]byte(m.Raw)))] = true
			}
			return true
		})
	}
	return set
}

// decidesOutsideRun says whether a JSON object that is no run holds a decision.
func (h *Handler) decidesOutsideRun(object []byte, path string) bool {
	reader, ok := h.opts.Dialect.(translate.HistoryReader)
	if !ok {
		return false
	}
	for one := range reader.Replies(kit.Loose(object), h.routeDialect(recordPath(path))) {
		if one.Asked || one.AskedUnlessResult || one.AskedUnlessLeft {
			return true
		}
	}
	return false
}

// isResult reports whether a question of the reply's dialect was about the call that it names.
func isResult(asked []asking, one translate.Reply) bool {
	return slices.ContainsFunc(asked, func(a asking) bool { return a.pause.Dialect == one.Dialect && a.about[one.Key] })
}
