package proxy

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/words"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A client of .NET's carries out an answered call that got no result: a tool of its own of that
// name, or it makes an error text the result (Microsoft.Extensions.AI, FunctionInvokingChatClient).
// Many backends tell no result of such a call. So Holdpoint tells one in its own words. The backend
// never gets it, because one that keeps its thread has what came of the call already.

// isOwnResult reports whether a message is a result of Holdpoint's own.
func isOwnResult(m agui.Message) bool { return m.Role == "tool" && words.IsOwn(contentOf(m)) }

// withoutOwnResults returns the messages without Holdpoint's own results. A backend that keeps its
// thread has what came of the call. Of one that keeps nothing, and where no question about the call
// is known any more, the nearest call before the result goes too: a provider refuses a call without
// a result. A result that the record has as the backend's own, or as one that the backend got, is
// another's with the same text.
func (r *run) withoutOwnResults(list []agui.Message, pauses []*agui.Pause) []agui.Message {
	if !slices.ContainsFunc(list, isOwnResult) {
		return list
	}
	stays := map[string]bool{} // calls that a backend with a thread of its own was asked about
	stateless, _ := r.h.opts.Dialect.(translate.Stateless)
	for _, p := range pauses {
		if stateless != nil && stateless.KeepsNothing(p) {
			continue
		}
		for n := range p.Interrupts {
			for _, call := range askedCalls(&p.Interrupts[n]) {
				stays[call] = true
			}
		}
	}
	others := r.othersResults(list, pauses)
	in := r.in
	in.Messages = nil
	gone := map[heldCall]int{}
	holders := map[string]int{} // the last message with a call so far: ids of some models repeat
	for _, m := range list {
		if isOwnResult(m) && !others[m.ToolCallID] {
			if at, held := holders[m.ToolCallID]; held && !stays[m.ToolCallID] {
				gone[heldCall{at, m.ToolCallID}]++
			}
			continue
		}
		if !m.Plain {
			for _, c := range kit.Calls(agui.View(m.JSON)) { // in any spelling, as below
				for _, id := range kit.Texts(c, "id") {
					holders[id] = len(in.Messages)
				}
			}
		}
		in.Messages = append(in.Messages, m)
	}
	in, _ = kit.WithoutOpenCalls(in, func(c agui.Call, at int, _ bool) bool {
		call := heldCall{at, c.ID}
		gone[call]--
		return gone[call] >= 0
	})
	return in.Messages
}

// A heldCall is a call in the message at a place of a list.
type heldCall struct {
	at int
	id string
}

// othersResults returns the calls whose results have Holdpoint's words and are in the messages that
// the record keeps: what Holdpoint says is never there. A call that was asked about has none.
func (r *run) othersResults(list []agui.Message, pauses []*agui.Pause) map[string]bool {
	wanted := map[string]bool{}
	for _, m := range list {
		if isOwnResult(m) {
			wanted[m.ToolCallID] = true
		}
	}
	for _, p := range pauses {
		for n := range p.Interrupts {
			for _, call := range askedCalls(&p.Interrupts[n]) {
				delete(wanted, call)
			}
		}
	}
	others := map[string]bool{}
	if len(wanted) == 0 {
		return others
	}
	read := func(messages json.RawMessage) {
		gjson.ParseBytes(messages).ForEach(func(_, one gjson.Result) bool {
			if m := agui.ParseMessage(json.RawMessage(one.Raw)); wanted[m.ToolCallID] && isOwnResult(m) {
				others[m.ToolCallID] = true
			}
			return true
		})
	}
	if p := r.record.Pause; p != nil && r.fetchAsked() == nil {
		read(p.Messages)
	}
	for _, result := range r.record.Results { // the newest has the messages of those before it
		if !result.Tombstone {
			read(endedSnapshots(result).fetch(r).Messages)
			break
		}
	}
	return others
}

// contentOf returns the content of a tool message. The in-tree client makes JSON of each.
func contentOf(m agui.Message) string {
	content := agui.View(m.JSON).Get("content").Str
	if len(content) > 1 && content[0] == '"' {
		var text string
		if json.Unmarshal([]byte(content), &text) == nil {
			return text
		}
	}
	return content
}

// ownResults returns the results of answered calls that the run has told none of, for a client that
// needs them, each behind its call. next is the pause that the run ends with, nil if there is none:
// what is asked again has no result yet.
func (r *run) ownResults(next *agui.Pause, doubtful bool) []agui.Event {
	if !r.knownCalls.resumes() || r.show == translate.ShowNative || !r.request.client.NeedsResult() || r.record.Pause == nil {
		return nil
	}
	var events []agui.Event
	for _, i := range r.record.Pause.Interrupts {
		id := i.ToolCallID()
		c := r.knownCalls.lacking[id]
		if next != nil && len(next.About(id)) > 0 || i.CallUnseen || r.knownCalls.again[id] || c == nil && !(r.knownCalls.held[id] && r.request.client.ParsesResults()) {
			continue
		}
		if c != nil && !c.begun {
			events = append(events, c.events()...)
		}
		content := r.knownCalls.says[id]
		if doubtful && content != words.Denied {
			content = words.InDoubt
		}
		if r.request.client.ParsesResults() {
			content = string(agui.MustMarshal(content)) // it throws at text that is not JSON
		}
		result := kit.ToolReply{ID: "result-" + id, Call: id, Content: content}.Event()
		r.knownCalls.answered(result)
		events = append(events, result)
	}
	return events
}

// ownContents returns what Holdpoint would say as the results of calls that the answers to a pause
// decide on.
func ownContents(p *agui.Pause, answers []agui.Answer) map[string]string {
	contents := map[string]string{}
	for n, i := range p.Interrupts {
		a := answers[n]
		says := a.Says
		if says == agui.Unclear {
			says = kit.Says(i, a)
		}
		content := words.Answered
		switch {
		case a.Status == agui.Cancelled || says == agui.Denies:
			content = words.Denied
		case says == agui.Approves:
			content = words.Approved
		}
		contents[i.ToolCallID()] = content
	}
	return contents
}

// isInvented reports whether a message is a result that a client of .NET's made up of an answer
// that it could not send, or of one that came to nothing.
func isInvented(m agui.Message) bool {
	if m.Role != "tool" {
		return false
	}
	content := contentOf(m)
	return inventedError.MatchString(content) || slices.Contains(inventedDenials, content)
}
