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

// The history of a client may lack a call whose result it has: the client left out a message, or
// was told the result only. And it may have results that no backend told. The backend gets what the
// record knows.

// CompletedMessages are the messages of a request with the results that a backend told, and their
// calls.
type CompletedMessages struct {
	Messages []agui.Message // the same list if there is nothing to mend
	MadeUp   int            // how many messages go because the client made up the results in them
	PutBack  bool           // calls that the client lacks are put back
}

// Mend takes results out of the request's messages that no backend told, and puts calls back that
// they lack.
func Mend(v *View) CompletedMessages {
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

// OwnPrefix begins the ids of a record's notes that hold the hashes of results which Holdpoint told
// in its own words.
const OwnPrefix = "own "

// OwnNote returns the note of the results among events that Holdpoint told in its own words after
// an answer to a pause. ok is false if there are none.
func OwnNote(pauseID string, told []agui.Event) (n store.Note, ok bool) {
	var hashes []string
	for _, ev := range told {
		if ev.Type == agui.CallResult && len(hashes) < maxOwnNoted {
			hashes = append(hashes, ownHash(ev.Get("toolCallId").Str, textOf(ev.Get("content").Str)))
		}
	}
	if len(hashes) == 0 {
		return store.Note{}, false
	}
	return store.Note{ID: OwnPrefix + pauseID, Text: agui.MustMarshal(hashes)}, true
}

// maxOwnNoted is how many results of one pause are noted.
const maxOwnNoted = 64

// ownHash returns what a note holds of a result.
func ownHash(call, content string) string { return ids.Digest("own result", call, content)[:32] }

// ownResults returns a function that reports whether a message is a result that Holdpoint told. The
// record has noted it, or it has the words that Holdpoint uses now (package words): a record can be
// lost, and a chat can go on under another thread.
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

// withoutOwnResults returns the messages without Holdpoint's own results. A backend that keeps its
// thread has what came of the call. Of one whose model gets the calls of the request, and where no
// question about the call is known any more, the nearest call before the result goes too: a
// provider refuses a call without a result. The call of a question that is open stays, unless the
// backend keeps nothing: the answer goes with it. A result that the record has as the backend's
// own, or as one that the backend got, is another's with the same text.
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
	holders := map[string]int{} // the last message with a call so far: ids of some models repeat
	for _, m := range list {
		if isOwn(m) && !others[m.ToolCallID] {
			if at, held := holders[m.ToolCallID]; held && !stays[m.ToolCallID] {
				gone[callAt{at, m.ToolCallID}]++
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
		call := callAt{at, c.ID}
		gone[call]--
		return gone[call] >= 0
	})
	return in.Messages
}

// othersResults returns the calls whose results have Holdpoint's words and are in the messages that
// the record keeps: what Holdpoint says is never there. A call that was asked about has none.
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
	for _, result := range v.Record.Results { // the newest has the messages of those before it
		if !result.Tombstone {
			read(v.endedMessages(result))
			break
		}
	}
	return others
}

// contentOf returns the content of a tool message. The in-tree client makes JSON of each.
func contentOf(m agui.Message) string { return textOf(agui.View(m.JSON).Get("content").Str) }

// textOf returns the text that a content is, or that it is the JSON of.
func textOf(content string) string {
	if len(content) > 1 && content[0] == '"' {
		var text string
		if json.Unmarshal([]byte(content), &text) == nil {
			return text
		}
	}
	return content
}

// What a client of .NET's makes the result of a call (Microsoft.Extensions.AI 9.10 to 10.11).
var (
	madeUpError   = regexp.MustCompile(`^Error: Requested function ".*" not found\.$`)
	madeUpDenials = []string{
		"Error: Tool call invocation was rejected by user.",
		"Tool call invocation rejected.",
		"Tool call invocation was rejected by the approver and must not be retried.",
	}
)

// isMadeUp reports whether a message is a result that a client of .NET's made up of an answer that
// it could not send, or of one that came to nothing.
func isMadeUp(m agui.Message) bool {
	if m.Role != "tool" {
		return false
	}
	content := contentOf(m)
	return madeUpError.MatchString(content) || slices.Contains(madeUpDenials, content)
}

// withoutMadeUp returns the messages without results that the client made up of calls that were
// asked about, and how many messages are gone. Where the question is open, the result answers
// nothing. Where it has ended, the client was told another. Its call goes too if it was made up. A
// client that leaves out the calls of its questions has it for no other reason, also where the
// message has the id of the one that asked.
func (v *View) withoutMadeUp(list []agui.Message, pauses []*agui.Pause) (kept []agui.Message, gone int) {
	if !slices.ContainsFunc(list, isMadeUp) {
		return list, 0
	}
	asked := map[string]*agui.Pause{}
	for _, p := range slices.Backward(pauses) { // the newest counts
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
	out := map[int]map[string]bool{} // calls by the places of their messages; a tool message with none goes whole
	holders := map[string]int{}      // the nearest message with a call so far
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
		if !held || open && holder <= last && !v.Omits || !open && calls[m.ToolCallID] < 2 {
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
		kept = append(kept, m)
	}
	return kept, len(list) - len(kept)
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
