package history

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// withKnownCalls adds missing calls from the record to the messages. A call is missing if the list
// has a result of the call but not the call. putBack is true if any call was added. If the client
// sends only new messages, withKnownCalls returns the list unchanged.
func (v *View) withKnownCalls(list []agui.Message) (with []agui.Message, putBack bool) {
	lacking := v.resultsWithoutCall(list)
	if len(lacking) == 0 || !v.bringsConversation(list) {
		return list, false
	}
	known := v.recordedCalls(lacking)
	if len(known) == 0 {
		return list, false
	}
	ids := map[string]bool{}
	for _, m := range list {
		ids[m.ID] = true
	}
	for at, m := range list {
		if m.Role == "tool" && (at == 0 || list[at-1].Role != "tool") {
			var calls []recordedCall // calls of one turn, which belong in one message
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
	return with, true
}

// resultsWithoutCall returns the ids of calls that have a tool message in the list, but no earlier
// message that makes the call. It omits calls of the open question, because the tool message may be
// the answer to that question.
func (v *View) resultsWithoutCall(list []agui.Message) map[string]bool {
	known := map[string]bool{}
	if p := v.Record.Pause; p != nil {
		known = askedCalls(p)
	}
	known[""] = true
	lacking := map[string]bool{}
	for _, m := range list {
		for _, id := range m.CallIDs() {
			known[id] = true
		}
		if m.Role == "tool" && !known[m.ToolCallID] {
			lacking[m.ToolCallID] = true
		}
	}
	return lacking
}

// bringsConversation reports whether the list contains a message, other than a tool message, that
// the record knows from the conversation.
func (v *View) bringsConversation(list []agui.Message) bool {
	seen := map[agui.SeenMessage]bool{}
	if p := v.Record.Pause; p != nil {
		for _, s := range p.SeenMessages {
			seen[s] = true
		}
	}
	for _, result := range v.Record.Results {
		for _, s := range result.SeenMessages {
			seen[s] = true
		}
	}
	return slices.ContainsFunc(list, func(m agui.Message) bool { return m.Role != "tool" && seen[agui.NewSeenMessage(m)] })
}

// A recordedCall is a call in the form in which the record has it.
type recordedCall struct {
	id      string
	message string // the id of the message that makes the call, or "" if unknown
	json    json.RawMessage
}

// recordedCalls returns the calls in wantedIDs that the record contains. If several have the same
// id, it returns the newest.
func (v *View) recordedCalls(wantedIDs map[string]bool) map[string]recordedCall {
	known := map[string]recordedCall{}
	read := func(messages []byte) {
		list := gjson.ParseBytes(messages).Array()
		for _, m := range slices.Backward(list) {
			for _, c := range m.Get("toolCalls").Array() {
				id := agui.IDText(c.Get("id"))
				if _, is := known[id]; wantedIDs[id] && !is {
					known[id] = recordedCall{id, m.Get("id").Str, json.RawMessage(c.Raw)}
				}
			}
		}
	}
	read(v.askedMessages())
	isNewest := true
	for _, result := range v.Record.Results {
		if len(known) == len(wantedIDs) {
			break
		}
		if result.Tombstone {
			continue
		}
		// Each load costs a step of the store. The newest result also contains the calls of earlier
		// runs, so older results are loaded only if they asked about a wanted call.
		if isNewest || asksAboutOne(result.Pause, wantedIDs, known) {
			read(v.endedMessages(result))
		}
		isNewest = false
	}
	for _, p := range v.pauses() { // for pauses whose messages were too large to be stored
		for _, i := range p.Interrupts {
			for _, c := range i.Calls {
				if _, is := known[c.ID]; wantedIDs[c.ID] && !is && c.ID == i.ToolCallID() && !i.CallUnseen && !c.ArgumentsUnknown && c.Name != "" {
					known[c.ID] = recordedCall{c.ID, "", agui.CallJSON(c.ID, c.Name, c.Args)}
				}
			}
		}
	}
	return known
}

// asksAboutOne reports whether the pause asks about a call that is in wantedIDs and not in known.
func asksAboutOne(p *agui.Pause, wantedIDs map[string]bool, known map[string]recordedCall) bool {
	return p != nil && slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool {
		id := i.ToolCallID()
		_, is := known[id]
		return wantedIDs[id] && !is
	})
}

// appendCalls adds calls to a list of messages. If the last message has calls, it adds them to that
// message, and otherwise it appends a new message. ids are the ids of all messages.
func appendCalls(list []agui.Message, calls []recordedCall, ids map[string]bool) []agui.Message {
	if len(calls) == 0 {
		return list
	}
	added := make([]json.RawMessage, len(calls))
	for n, c := range calls {
		added[n] = c.json
	}
	if n := len(list) - 1; n >= 0 && len(list[n].CallIDs()) > 0 {
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

// WithMeanings returns the answers to a pause with their Meaning set. If the dialect has not set
// it, it is derived from the answer.
func WithMeanings(p *agui.Pause, answers []agui.Answer) []agui.Answer {
	list := slices.Clone(answers)
	for n, i := range p.Interrupts {
		if list[n].Meaning == agui.Unclear {
			list[n].Meaning = kit.MeaningOf(i, list[n])
		}
	}
	return list
}

// RestoredMessages are the messages of a resume, in which the calls about which the pause asks are
// replaced by those of the record.
type RestoredMessages struct {
	Messages []agui.Message // the same slice if no call differed
	Calls    []string       // the ids of the calls that differed
}

// RestoreCalls returns the messages of a resume. In them, the calls about which the pause asks are
// replaced by those of the record. The Meaning of each answer must be set.
//
// A person approves the call that was shown. A backend that stores no state reads the call from the
// messages of the request, so whoever writes those messages could decide what runs. An approval is
// refused in three cases: the record does not contain the complete call; the messages contain the
// call more often than when it was shown; or parsers could read different calls from a copy. In
// every other copy, the name and the arguments are replaced by the record's if they differ or occur
// twice. A clear no is never refused.
func RestoreCalls(p *agui.Pause, answers []agui.Answer, list []agui.Message) (RestoredMessages, *agui.RunError) {
	calls := map[string]agui.AskedCall{} // by the id of the call
	approved := map[string]string{}      // maps a call to the interrupt that approves it
	for n, i := range p.Interrupts {
		yes := answers[n].Meaning != agui.Denies
		for _, c := range i.Calls {
			if yes && c.ArgumentsUnknown {
				return RestoredMessages{}, agui.Errorf(agui.ApprovalUncertain, textCallTooLarge, i.ID)
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
		return RestoredMessages{Messages: list}, nil
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
				return RestoredMessages{}, uncertainCopy(id)
			}
		}
		copies = slices.DeleteFunc(copies, func(c agui.CallCopy) bool { return !c.Sure || calls[c.ID].ArgumentsUnknown })
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
	if id := moreThanOnce(p, found, approved); id != "" {
		return RestoredMessages{}, uncertainCopy(id)
	}
	if edited != nil {
		list = edited
	}
	return RestoredMessages{list, differ}, nil
}

// moreThanOnce returns the id of the interrupt of an approved call that the messages contain more
// often than the client was shown it. It returns "" if there is none. A backend that runs every
// call it finds would run that call twice. If two calls share an id, the client was shown two.
func moreThanOnce(p *agui.Pause, found map[string]int, approved map[string]string) string {
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
	return agui.Errorf(agui.ApprovalUncertain, textUncertainCopy, id)
}
