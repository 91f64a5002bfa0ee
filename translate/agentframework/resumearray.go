package agentframework

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// byArray returns a request that sends the answers to 1.0.0rc8 and later in the resume array.
//
// 1.0.0rc8 to 1.0.1 make a message without an id of each answer. If several of these messages look
// the same, they keep only the last (agent-framework 7569), so only the call of that message runs.
// Holdpoint sends the answers that would be dropped a second time, in one function_approvals
// message with an id. The resume array must still list all answers (RAN 1.0.0rc8, 1.0.1: two and
// three calls, every mix, in one exchange, with a history that providers accept).
func byArray(res *resumption, replies []reply) ([]byte, error) {
	messages := res.conversation(replies)
	own, entries := res.split(replies)
	if len(own) > 0 {
		messages = append(messages, approvalsMessage(res.answerID(), own, reply.editedArgs))
	}
	if slices.ContainsFunc(entries, func(r reply) bool { return r.Kind == request && r.answer.Status == agui.Cancelled }) {
		// If the request had messages, a workflow of 1.2.0 and later would start again and repeat
		// its question (RAN).
		messages = nil
	}
	given := kit.EntriesByID(res.r.Input)
	list := []byte{'['}
	for _, r := range entries {
		list = kit.AppendElement(list, r.entry(given[r.answer.ID]))
	}
	return agui.SetKey(res.body(messages), "resume", append(list, ']')), nil
}

// split returns all answers as entries, in the order that the resume array needs. It returns as own
// the answers that must also be sent in a message. The backend keeps only the last answers of the
// parameter replies: one, or two if siblings wait, because the first of the two then brings the
// siblings. The answers that it keeps are first in entries, so that the calls run in their order.
func (res *resumption) split(replies []reply) (own, entries []reply) {
	survive := 1
	if len(res.kept.Siblings) > 0 {
		survive = 2
	}
	if replies[0].Kind != approval || len(replies) <= survive || isFrom110(replies) || slices.ContainsFunc(replies, reply.isClients) {
		return nil, replies
	}
	at := len(replies) - survive
	return replies[:at], append(slices.Clone(replies[at:]), replies[:at]...)
}

// isFrom110 reports whether the schemas of the questions show a backend of 1.1.0 or later.
func isFrom110(replies []reply) bool {
	list := make([]agui.Interrupt, len(replies))
	for n, r := range replies {
		list[n] = r.interrupt
	}
	return takesApproved(list)
}

// takesApproved reports whether the schema of every question has the key approved, as 1.1.0 and
// later send it.
func takesApproved(list []agui.Interrupt) bool {
	return !slices.ContainsFunc(list, func(i agui.Interrupt) bool { return !gjson.GetBytes(i.Schema(), "properties.approved").Exists() })
}

// entry returns the resume entry of the reply with the backend's id of the question. The parameter
// given is the client's own entry, if it sent one; its other members are kept. A cancelled approval
// becomes a denial, because every version requires an answer to each call.
func (r reply) entry(given gjson.Result) []byte {
	entry := []byte(`{}`)
	if given.Exists() {
		entry = []byte(given.Raw)
	}
	status, payload := r.answer.Status, r.answer.Payload
	if status == agui.Cancelled && r.Kind != request && !r.isClients() {
		status, payload = agui.Resolved, json.RawMessage(`{"accepted":false}`)
	}
	entry = agui.SetString(agui.SetString(entry, "interruptId", r.ID), "status", string(status))
	if len(payload) == 0 || status == agui.Cancelled {
		return agui.DeleteKey(entry, "payload")
	}
	return agui.SetKey(entry, "payload", payload)
}

// editedArgs returns the call's arguments with the person's edits. 1.0.0rc8 to 1.0.1 accept edits
// as further keys of the payload. They compare the arguments in a message with the edited
// arguments.
func (r reply) editedArgs() json.RawMessage {
	args := json.RawMessage(r.arguments())
	if !agui.ValidJSON(args) || !gjson.ParseBytes(args).IsObject() {
		return json.RawMessage("{}")
	}
	changed := map[string]string{}
	gjson.ParseBytes(r.answer.Payload).ForEach(func(k, v gjson.Result) bool {
		if k.Str != "accepted" && k.Str != "approved" {
			changed[k.Str] = v.Raw
		}
		return true
	})
	return kit.MapMembers(gjson.ParseBytes(args), func(k, v gjson.Result) string {
		if value, ok := changed[k.Str]; ok && r.answer.Status == agui.Resolved {
			return value
		}
		return v.Raw
	})
}

// mustForget reports whether the backend must first forget the answers that it has collected. There
// are two cases. 1.4.0 to 1.7.0 never run a batch in which some calls are denied: the adapter
// removes the denied calls, and the core waits for them forever (RAN). And if the turn also has
// calls of the client, the backend answers every later run with an empty stream after all other
// calls were denied (RAN 1.7.0).
//
// A cancel of an unknown id helps: the backend refuses it, but the core then forgets that it waits.
// After that the backend accepts all answers (RAN: two and three calls, every mix; 1.2.0 is not
// affected).
func (res *resumption) mustForget(approvals []reply) bool {
	no := func(r reply) bool { return !r.yes }
	yes := func(r reply) bool { return r.yes }
	return res.kept.Row == rowOutcome && isFrom110(approvals) && slices.ContainsFunc(approvals, no) && (len(res.clients) > 0 || slices.ContainsFunc(approvals, yes))
}

const unknownInterrupt = "holdpoint-no-such-interrupt"

func (res *resumption) forgetExchange(first *translate.Exchange) translate.Out {
	resume := agui.MustMarshal([]map[string]string{{"interruptId": unknownInterrupt, "status": string(agui.Cancelled)}})
	messages := gjson.GetBytes(first.Out.Body, "messages").Raw
	return translate.Out{Body: agui.SetKey(agui.SetKey(res.body(nil), "messages", []byte(messages)), "resume", resume)}
}

// A forgetExchange is the exchange that makes the backend forget the answers that it has collected
// (mustForget). The client does not see its stream.
type forgetExchange struct{ first *translate.Exchange }

// Event implements translate.Run.
func (*forgetExchange) Event(agui.Event, func(agui.Event)) error { return nil }

// End implements translate.Run.
func (f *forgetExchange) End(e translate.End) (translate.Result, error) {
	if e.Event.Type == agui.RunErrored && !notFound(e.Event) {
		return translate.Result{Finish: e.Event}, nil
	}
	if !e.Event.Type.Terminal() {
		return translate.Result{}, nil
	}
	return translate.Result{Next: f.first}, nil
}
