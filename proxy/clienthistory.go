package proxy

import (
	"encoding/json"
	"regexp"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// The history of a client may lack a call whose result it has: the client left out a message, or
// was told the result only. And it may have results that no backend told. The backend gets what the
// record knows.

// What a client of .NET's makes the result of a call (Microsoft.Extensions.AI 9.10 to 10.11).
var (
	inventedError   = regexp.MustCompile(`^Error: Requested function ".*" not found\.$`)
	inventedDenials = []string{
		"Error: Tool call invocation was rejected by user.",
		"Tool call invocation rejected.",
		"Tool call invocation was rejected by the approver and must not be retried.",
	}
)

// mendHistory takes results out of the request's messages that no backend told, and puts calls back
// that they lack.
func (r *run) mendHistory() {
	if !slices.ContainsFunc(r.in.Messages, func(m agui.Message) bool { return m.Role == "tool" }) {
		return
	}
	pauses := r.pauses()
	list := r.withoutOwnResults(r.in.Messages, pauses)
	if len(pauses) > 0 {
		list = r.withoutInvented(list, pauses)
		list = r.withKnownCalls(list)
	}
	if len(pauses) > 0 && r.request.client.NeedsResult() {
		list = kit.ResultsBehindCalls(list)
	}
	if changed(list, r.in.Messages) {
		r.in = r.in.WithMessages(list)
	}
}

// withoutInvented returns the messages without results that the client made up of calls that were
// asked about. Where the question is open, the result answers nothing. Where it has ended, the
// client was told another.
func (r *run) withoutInvented(list []agui.Message, pauses []*agui.Pause) []agui.Message {
	if !slices.ContainsFunc(list, isInvented) {
		return list
	}
	asked := map[string]*agui.Pause{}
	for _, p := range slices.Backward(pauses) { // the newest counts
		for n := range p.Interrupts {
			for _, call := range askedCalls(&p.Interrupts[n]) {
				asked[call] = p
			}
		}
	}
	results, calls := map[string]int{}, map[string]int{}
	for _, m := range list {
		if m.Role == "tool" {
			results[m.ToolCallID]++
		}
		for _, id := range callsIn(m) {
			calls[id]++
		}
	}
	gone := map[int]map[string]bool{} // calls by the places of their messages; a tool message with none goes whole
	holders := map[string]int{}       // the nearest message with a call so far
	last := lastKnown(list, r.record.Pause)
	for at, m := range list {
		for _, id := range callsIn(m) {
			holders[id] = at
		}
		p := asked[m.ToolCallID]
		if p == nil || !isInvented(m) {
			continue
		}
		open := p == r.record.Pause
		if open && at <= last || !open && results[m.ToolCallID] < 2 {
			continue
		}
		gone[at] = map[string]bool{}
		results[m.ToolCallID]--
		holder, held := holders[m.ToolCallID]
		if !held || open && holder <= last || !open && calls[m.ToolCallID] < 2 {
			continue
		}
		if gone[holder] == nil {
			gone[holder] = map[string]bool{}
		}
		gone[holder][m.ToolCallID] = true
		calls[m.ToolCallID]--
	}
	if len(gone) == 0 {
		return list
	}
	var kept []agui.Message
	for at, m := range list {
		calls, is := gone[at]
		if is && len(calls) == 0 {
			continue
		}
		if is {
			if m, is = kit.MessageWithoutCalls(m, calls); !is {
				continue
			}
		}
		kept = append(kept, m)
	}
	r.log.Warn("results that the client made up are taken out: nobody carried its calls out", "results", len(list)-len(kept))
	return kept
}

// lastKnown returns the place of the last message that was there when the pause was opened, -1 if
// none is known.
func lastKnown(list []agui.Message, p *agui.Pause) int {
	if p == nil {
		return -1
	}
	for at, m := range slices.Backward(list) {
		if p.Knows(agui.See(m)) {
			return at
		}
	}
	return -1
}

// callsIn returns the ids of the calls of a message.
func callsIn(m agui.Message) []string {
	if m.Plain || m.Role != "assistant" {
		return nil
	}
	var ids []string
	for _, c := range gjson.GetBytes(m.JSON, "toolCalls").Array() {
		ids = append(ids, c.Get("id").Str)
	}
	return ids
}

// withKnownCalls returns the messages with the calls that they have results of and lack, as far as
// the record knows them. A client that sends its new messages only lacks nothing.
func (r *run) withKnownCalls(list []agui.Message) []agui.Message {
	lacking := r.resultsWithoutCall(list)
	if len(lacking) == 0 || !r.bringsConversation(list) {
		return list
	}
	known := r.recordedCalls(lacking)
	if len(known) == 0 {
		return list
	}
	ids := map[string]bool{}
	for _, m := range list {
		ids[m.ID] = true
	}
	var with []agui.Message
	for at, m := range list {
		if m.Role == "tool" && (at == 0 || list[at-1].Role != "tool") {
			var calls []recordedCall // one turn has one message
			for next := at; next < len(list) && list[next].Role == "tool"; next++ {
				if c, is := known[list[next].ToolCallID]; is {
					calls = append(calls, c)
					delete(known, c.id)
				}
			}
			with = appendCalls(with, calls, ids)
		}
		with = append(with, m)
	}
	r.log.Warn("the client's history lacks calls that it has results of: the backend gets them as they were")
	return with
}

// resultsWithoutCall returns the calls of the tool messages before which the list has no such call.
// What an open question is about is left out: the message may be its answer.
func (r *run) resultsWithoutCall(list []agui.Message) map[string]bool {
	known := map[string]bool{"": true}
	if p := r.record.Pause; p != nil {
		for n := range p.Interrupts {
			for _, call := range askedCalls(&p.Interrupts[n]) {
				known[call] = true
			}
		}
	}
	lacking := map[string]bool{}
	for _, m := range list {
		for _, id := range callsIn(m) {
			known[id] = true
		}
		if m.Role == "tool" && !known[m.ToolCallID] {
			lacking[m.ToolCallID] = true
		}
	}
	return lacking
}

// bringsConversation reports whether a list has a message that the record knows.
func (r *run) bringsConversation(list []agui.Message) bool {
	seen := map[agui.SeenMessage]bool{}
	if p := r.record.Pause; p != nil {
		for _, s := range p.Seen {
			seen[s] = true
		}
	}
	for _, result := range r.record.Results {
		for _, s := range result.Seen {
			seen[s] = true
		}
	}
	return slices.ContainsFunc(list, func(m agui.Message) bool { return m.Role != "tool" && seen[agui.See(m)] })
}

// A recordedCall is a call as the record has it.
type recordedCall struct {
	id      string
	message string // the id of the message that has it, "" if unknown
	json    json.RawMessage
}

// recordedCalls returns what the record has of some calls, the newest of each.
func (r *run) recordedCalls(wanted map[string]bool) map[string]recordedCall {
	known := map[string]recordedCall{}
	read := func(messages json.RawMessage) {
		list := gjson.ParseBytes(messages).Array()
		for _, m := range slices.Backward(list) {
			for _, c := range m.Get("toolCalls").Array() {
				id := c.Get("id").Str
				if _, is := known[id]; wanted[id] && !is {
					known[id] = recordedCall{id, m.Get("id").Str, json.RawMessage(c.Raw)}
				}
			}
		}
	}
	if p := r.record.Pause; p != nil && r.fetchAsked() == nil {
		read(p.Messages)
	}
	isNewest := true
	for _, result := range r.record.Results {
		if len(known) == len(wanted) {
			break
		}
		if result.Tombstone {
			continue
		}
		// Each costs a step of the store. The newest has the calls of the runs before it too.
		if isNewest || asksAboutOne(result.Pause, wanted, known) {
			read(endedSnapshots(result).fetch(r).Messages)
		}
		isNewest = false
	}
	for _, p := range r.pauses() { // the messages may have been too large to be kept
		for _, i := range p.Interrupts {
			for _, c := range i.Calls {
				if _, is := known[c.ID]; wanted[c.ID] && !is && c.ID == i.ToolCallID() && !i.CallUnseen && !c.Unknown && c.Name != "" {
					known[c.ID] = recordedCall{c.ID, "", callJSON(c)}
				}
			}
		}
	}
	return known
}

// asksAboutOne reports whether a pause asks about a call that is wanted and not known yet.
func asksAboutOne(p *agui.Pause, wanted map[string]bool, known map[string]recordedCall) bool {
	return p != nil && slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool {
		id := i.ToolCallID()
		_, is := known[id]
		return wanted[id] && !is
	})
}

// callJSON returns a call as a message has it.
func callJSON(c agui.AskedCall) json.RawMessage {
	type function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	return agui.MustMarshal(struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{c.ID, "function", function{c.Name, c.Args}})
}

// appendCalls appends calls to a list of messages: to the message that ends it if that has calls,
// else as a message of their own. ids are those that messages have.
func appendCalls(list []agui.Message, calls []recordedCall, ids map[string]bool) []agui.Message {
	if len(calls) == 0 {
		return list
	}
	added := make([]json.RawMessage, len(calls))
	for n, c := range calls {
		added[n] = c.json
	}
	if n := len(list) - 1; n >= 0 && len(callsIn(list[n])) > 0 {
		var all []json.RawMessage
		for _, c := range gjson.GetBytes(list[n].JSON, "toolCalls").Array() {
			all = append(all, json.RawMessage(c.Raw))
		}
		list[n] = agui.ParseMessage(agui.SetKey(list[n].JSON, "toolCalls", agui.List(append(all, added...))))
		return list
	}
	id := calls[0].message
	if id == "" || ids[id] {
		id = "call-" + calls[0].id
	}
	ids[id] = true
	return append(list, agui.ParseMessage(agui.MustMarshal(struct {
		ID    string          `json:"id"`
		Role  string          `json:"role"`
		Calls json.RawMessage `json:"toolCalls"`
	}{id, "assistant", agui.List(added)})))
}
