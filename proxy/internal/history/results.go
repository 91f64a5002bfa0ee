package history

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/ids"
	"holdpoint/proxy/internal/words"
	"holdpoint/store"
	"holdpoint/translate/kit"
)

// A client's history may contain a result without its call, because the client omitted a message or
// got only the result. It may also contain results that no backend sent. The backend must get the
// calls and results that are on record.

// CompletedMessages are the messages of a request after missing calls were added, and results that
// no backend sent were removed.
type CompletedMessages struct {
	Messages []agui.Message // the same slice if nothing was changed
	MadeUp   int            // the number of removed messages, whose results the client had made up
	PutBack  bool           // missing calls were added
}

// CompleteMessages removes results that no backend sent from the request's messages. It adds calls
// that the messages lack.
func CompleteMessages(v *View) CompletedMessages {
	done := CompletedMessages{Messages: v.Input.Messages}
	if !slices.ContainsFunc(v.Input.Messages, func(m agui.Message) bool { return m.Role == "tool" }) {
		return done
	}
	pauses := v.pauses()
	done.Messages = v.withoutOwnResults(done.Messages, pauses)
	if len(pauses) == 0 {
		return done
	}
	done.Messages, done.MadeUp = v.withoutMadeUp(done.Messages, pauses)
	done.Messages, done.PutBack = v.withKnownCalls(done.Messages)
	if v.NeedsResult {
		done.Messages = kit.ResultsAfterCalls(done.Messages)
	}
	return done
}

// OwnPrefix begins the id of each note about Holdpoint's own results. These are results whose text
// Holdpoint has written. The note contains the hashes of the results.
const OwnPrefix = "own "

// OwnNote returns the note about Holdpoint's own results. emitted are the events that Holdpoint
// sends after an answer to a pause. ok is false if they contain no result.
func OwnNote(pauseID string, emitted []agui.Event) (n store.Note, ok bool) {
	var hashes []string
	for _, ev := range emitted {
		if ev.Type == agui.CallResult && len(hashes) < maxOwnNoted {
			hashes = append(hashes, ownHash(ev.Get("toolCallId").Str, textOf(ev.Get("content").Str)))
		}
	}
	if len(hashes) == 0 {
		return store.Note{}, false
	}
	return store.Note{ID: OwnPrefix + pauseID, Text: agui.MustMarshal(hashes)}, true
}

// maxOwnNoted bounds how many results of one pause are noted.
const maxOwnNoted = 64

// ownHash returns the hash that a note contains for one of Holdpoint's own results.
func ownHash(call, content string) string { return ids.Digest("own result", call, content)[:32] }

// ownResults returns a function that reports whether a message is a result that Holdpoint has
// written. It is one if the record notes it, or if its text is one of the current texts (package
// words). The texts are needed because a record can be lost, and because a chat can continue on
// another thread.
func (v *View) ownResults() func(agui.Message) bool {
	noted := map[string]bool{}
	for _, n := range v.Record.Notes {
		var hashes []string
		if strings.HasPrefix(n.ID, OwnPrefix) && json.Unmarshal(n.Text, &hashes) == nil {
			for _, hash := range hashes {
				noted[hash] = true
			}
		}
	}
	return func(m agui.Message) bool {
		if m.Role != "tool" {
			return false
		}
		content := contentOf(m)
		return words.IsOwn(content) || len(noted) > 0 && noted[ownHash(m.ToolCallID, content)]
	}
}

// withoutOwnResults removes the results that Holdpoint has written from the messages. A backend
// that stores its thread already has the real result of the call.
//
// The nearest earlier call of a removed result is removed too, because model providers refuse a
// call without a result. The call stays if a question on record is about it, its backend stores
// state, and one of two things is true: the question is open, so that its answer is sent with the
// call; or the backend does not pass the calls in the messages to its model.
//
// A result with the same text was written by somebody else if the record has it as the backend's
// own, or as one that the backend got. Such a result stays.
func (v *View) withoutOwnResults(list []agui.Message, pauses []*agui.Pause) []agui.Message {
	isOwn := v.ownResults()
	if !slices.ContainsFunc(list, isOwn) {
		return list
	}
	stays := askedCalls(slices.DeleteFunc(slices.Clone(pauses), func(p *agui.Pause) bool {
		return v.keepsNothing(p) || p != v.Record.Pause && v.readsCalls(p)
	})...)
	others := v.othersResults(list, pauses, isOwn)
	in := *v.Input
	in.Messages = nil
	gone := map[callAt]int{}
	// index of the latest message with the call, because some models repeat ids
	holders := map[string]int{}
	for _, m := range list {
		if isOwn(m) && !others[m.ToolCallID] {
			if at, held := holders[m.ToolCallID]; held && !stays[m.ToolCallID] {
				gone[callAt{at, m.ToolCallID}]++
			}
			continue
		}
		if !m.Plain {
			// accepts any spelling of keys, as WithoutOpenCalls does
			for _, c := range kit.Calls(agui.View(m.JSON)) {
				for _, id := range kit.IDs(c, "id") {
					holders[id] = len(in.Messages)
				}
			}
		}
		in.Messages = append(in.Messages, m)
	}
	in, _ = kit.WithoutOpenCalls(in, func(c agui.Call, at int, _ bool) bool {
		call := callAt{at, c.ID}
		gone[call]--
		return gone[call] >= 0
	})
	return in.Messages
}

// othersResults returns the calls whose result has one of Holdpoint's texts but is not Holdpoint's
// own. Such a result is in the messages of the record, and these never contain results that
// Holdpoint has written. Calls about which a question is on record are not included.
func (v *View) othersResults(list []agui.Message, pauses []*agui.Pause, isOwn func(agui.Message) bool) map[string]bool {
	wanted, asked := map[string]bool{}, askedCalls(pauses...)
	for _, m := range list {
		if isOwn(m) && !asked[m.ToolCallID] {
			wanted[m.ToolCallID] = true
		}
	}
	others := map[string]bool{}
	if len(wanted) == 0 {
		return others
	}
	read := func(messages []byte) {
		gjson.ParseBytes(messages).ForEach(func(_, one gjson.Result) bool {
			if m := agui.ParseMessage(json.RawMessage(one.Raw)); wanted[m.ToolCallID] && isOwn(m) {
				others[m.ToolCallID] = true
			}
			return true
		})
	}
	read(v.askedMessages())
	// the newest result contains the messages of earlier results
	for _, result := range v.Record.Results {
		if !result.Tombstone {
			read(v.endedMessages(result))
			break
		}
	}
	return others
}

// contentOf returns the content of a tool message as text. The in-tree client of .NET encodes it as
// JSON.
func contentOf(m agui.Message) string { return textOf(agui.View(m.JSON).Get("content").Str) }

// A callResult is a result of a call, without the id of its message.
type callResult struct{ call, content string }

func resultOf(m agui.Message) callResult {
	content := agui.View(m.JSON).Get("content")
	if content.Type == gjson.String {
		return callResult{m.ToolCallID, textOf(content.Str)}
	}
	return callResult{m.ToolCallID, content.Raw}
}

// textOf returns the text of a content. The content may be a JSON string that contains the text.
func textOf(content string) string {
	if len(content) > 1 && content[0] == '"' {
		var text string
		if json.Unmarshal([]byte(content), &text) == nil {
			return text
		}
	}
	return content
}

// These are the texts of results that .NET clients make up for calls (Microsoft.Extensions.AI 9.10
// to 10.11).
var (
	madeUpError   = regexp.MustCompile(`^Error: Requested function ".*" not found\.$`)
	madeUpDenials = []string{
		resultRejected,
		resultRejectedShort,
		resultNotRetried,
	}
)

// isMadeUp reports whether a message is a result that a .NET client made up. Such a client does so
// if it could not send an answer, or if an answer had no effect.
func isMadeUp(m agui.Message) bool {
	if m.Role != "tool" {
		return false
	}
	content := contentOf(m)
	return madeUpError.MatchString(content) || slices.Contains(madeUpDenials, content)
}

// withoutMadeUp removes results that the client made up for calls with a question. It returns the
// other messages, and the number of removed ones.
//
// A made-up result is removed if the question is open and the result is new. It is also removed if
// the question has ended and the list contains another result of the call.
//
// The call of a removed result is removed too in three cases. The question is open and the call is
// new. Or the question is open and v.OmitsCalls is true: such a client writes the call only
// together with a result that it made up. Or the question has ended and the list contains the call
// twice.
func (v *View) withoutMadeUp(list []agui.Message, pauses []*agui.Pause) (remaining []agui.Message, removed int) {
	if !slices.ContainsFunc(list, isMadeUp) {
		return list, 0
	}
	asked := map[string]*agui.Pause{}
	// backward, so that the newest pause of a call counts
	for _, p := range slices.Backward(pauses) {
		for n := range p.Interrupts {
			for _, call := range CallsOf(&p.Interrupts[n]) {
				asked[call] = p
			}
		}
	}
	results, calls := map[string]int{}, map[string]int{}
	for _, m := range list {
		if m.Role == "tool" {
			results[m.ToolCallID]++
		}
		for _, id := range m.CallIDs() {
			calls[id]++
		}
	}
	// calls to remove, by the index of their message; an empty map removes the whole tool message
	out := map[int]map[string]bool{}
	holders := map[string]int{} // the index of the latest message with the call
	waiting := v.Record.Pause
	last := lastKnown(list, waiting)
	for at, m := range list {
		for _, id := range m.CallIDs() {
			holders[id] = at
		}
		p := asked[m.ToolCallID]
		if p == nil || !isMadeUp(m) {
			continue
		}
		open := p == waiting
		if open && at <= last || !open && results[m.ToolCallID] < 2 {
			continue
		}
		out[at] = map[string]bool{}
		results[m.ToolCallID]--
		holder, held := holders[m.ToolCallID]
		if !held || open && holder <= last && !v.OmitsCalls || !open && calls[m.ToolCallID] < 2 {
			continue
		}
		if out[holder] == nil {
			out[holder] = map[string]bool{}
		}
		out[holder][m.ToolCallID] = true
		calls[m.ToolCallID]--
	}
	if len(out) == 0 {
		return list, 0
	}
	for at, m := range list {
		calls, is := out[at]
		if is && len(calls) == 0 {
			continue
		}
		if is {
			if m, is = kit.MessageWithoutCalls(m, calls); !is {
				continue
			}
		}
		remaining = append(remaining, m)
	}
	return remaining, len(list) - len(remaining)
}

// lastKnown returns the index of the last message that existed when the pause p was raised. It
// returns -1 if no such message is known.
func lastKnown(list []agui.Message, p *agui.Pause) int {
	if p == nil {
		return -1
	}
	for at, m := range slices.Backward(list) {
		if p.HasMessage(agui.NewSeenMessage(m)) {
			return at
		}
	}
	return -1
}
