package calls

import (
	"iter"
	"slices"
	"sync"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
	"holdpoint/translate/yesno"
)

// An Owner says who runs a call in the history, and whether the call asks a question.
type Owner int

const (
	// Clients means that the request declares the tool, so the client runs the call.
	Clients Owner = iota - 1
	// Others means that the call does not ask a question.
	Others
	// Asks means that the call asks a question, and that the client has the call and its answer.
	Asks
	// AsksHidden means that the call asks a question, and that the client does not have the call.
	AsksHidden
)

// owners has the owner of each call in a history, by the id of the call. If an id belongs to
// several calls, the greatest Owner counts. All calls without an id have the id "".
type owners map[string]Owner

// ownersOf returns the owners of the calls in the history. It reads keys in any spelling, because a
// backend may do so. The parameter known says that the backend speaks the dialect. If it is false,
// only calls of the dialect's own tools ask.
func (t *Table) ownersOf(in agui.RunInput, known bool) owners {
	list := owners{}
	owner := func(tool string) Owner {
		switch {
		case in.Declares(tool):
			return Clients
		case t.Owner != nil:
			return t.Owner(tool, known)
		}
		if _, asks := t.Ask(agui.Call{Name: tool}, &translate.Request{Input: in}); asks {
			return Asks
		}
		return Others
	}
	for _, m := range in.Messages {
		if m.Plain || !known && !kit.MayContain(m.JSON, t.Own, t.OwnRare) {
			continue
		}
		for _, c := range kit.Calls(gjson.ParseBytes(m.JSON)) {
			names := kit.Texts(c, "function", "name")
			if len(names) == 0 {
				names = []string{""}
			}
			for _, id := range kit.IDsOrNone(c, "id") {
				for _, name := range names {
					is := owner(name)
					if before, has := list[id]; !has && known || is > before {
						list[id] = is
					}
				}
			}
		}
	}
	return list
}

// A ToolMessage is a tool message of a request. It is examined as an answer to one call, even if it
// may answer several.
type ToolMessage struct {
	Object   gjson.Result
	Contents []gjson.Result // the values of all members named "content"
	Last     bool           // no other message than tool messages follows
	Owner    Owner          // the owner of the call that is answered
	// NotOfClient is true if the client's tools cannot have the call: the history lacks the call,
	// and the request declares no tool.
	NotOfClient bool
	// Decides is the result of Table.Reads for this message.
	Decides bool

	calls        []string // ids of the calls that the message may answer; one "" if it names none
	dialectKnown bool     // the backend is known to speak the dialect
	verdict      yesno.Verdict
}

// Replies implements translate.HistoryReader. If the backend is known to speak the dialect, it
// yields a reply for each tool message and each call that the message may answer.
//
// A reply is a decision if the history shows that the call asks. It is also a decision if the
// content can be read as one and the call is not the client's. A client need not send the call
// itself. Then the package proxy finds out whether the call is the client's, by the calls that the
// streams of the thread have left to the client.
//
// If the backend's dialect is unknown, Replies yields only messages on calls of the dialect's own
// tools.
func (t *Table) Replies(in agui.RunInput, detectedDialect string) iter.Seq[translate.Reply] {
	known, anywhere := detectedDialect == t.Dialect, t.Resume == Last
	strays := microsoft.NativeApprovals(in, known)
	if !known && !anywhere && (detectedDialect != "" || t.Own == "") || !slices.ContainsFunc(in.Messages, isTool) {
		return strays
	}
	return t.replies(in, known, strays)
}

func isTool(m agui.Message) bool { return translate.MayReply(m) && kit.IsTool(agui.View(m.JSON)) }

// replies yields the replies of strays, and then the replies in tool messages.
func (t *Table) replies(in agui.RunInput, known bool, strays iter.Seq[translate.Reply]) iter.Seq[translate.Reply] {
	return func(yield func(translate.Reply) bool) {
		for one := range strays {
			if !yield(one) {
				return
			}
		}
		anywhere := t.Resume == Last
		last := lastTools(in.Messages)
		owners := sync.OnceValue(func() owners { return t.ownersOf(in, known || anywhere) })
		for at, m := range in.Messages {
			if !isTool(m) {
				continue
			}
			if !known && !anywhere && len(owners()) == 0 {
				return
			}
			object := gjson.ParseBytes(m.JSON)
			read := ToolMessage{Object: object, Contents: kit.Members(object, "content"), Last: at >= last, dialectKnown: known}
			if read.Decides = t.reads(&read); anywhere && !read.Decides {
				continue
			}
			// a backend may read a message without an id as the answer to any open question
			read.calls = kit.IDsOrNone(object, "toolCallId")
			plain := m.Role == "tool" && namesOneCall(object) && len(read.Contents) == 1 && len(kit.Members(object, "role")) == 1 &&
				object.Get("content").Type == gjson.String &&
				(t.DenialError == "" || len(kit.Members(object, "error")) == 0)
			for _, call := range read.calls {
				owner, held := owners()[call]
				if !known && !anywhere && owner <= Others {
					continue
				}
				// the call is the client's, or does not exist
				unsent := !held && plain && len(in.Tools) > 0
				read.Owner, read.NotOfClient = owner, !held && len(in.Tools) == 0 || call == ""
				one := translate.Reply{Dialect: t.Dialect, At: at, Key: call, Unclear: !plain, CallID: call, Calls: []string{call}}
				one.Decides = owner > Others || read.Decides && owner != Clients && !unsent
				one.DecidesUnlessLeft = read.Decides && unsent
				if t.Judge != nil {
					t.Judge(&one, &read)
				} else {
					one.TooLate, one.Keep = !read.Last, !read.Last
					one.Decides, one.DecidesIfKnown = one.Decides || read.NotOfClient, read.Decides
				}
				if !yield(one) {
					return
				}
			}
		}
	}
}

// namesOneCall reports whether every backend reads the same call in a tool message.
func namesOneCall(m gjson.Result) bool {
	return len(kit.Members(m, "toolCallId")) == 1 && agui.IDText(m.Get("toolCallId")) != ""
}

// lastTools returns the index of the first of the tool messages at the end of the list.
func lastTools(list []agui.Message) int {
	last := len(list)
	for last > 0 && kit.IsTool(agui.View(list[last-1].JSON)) {
		last--
	}
	return last
}

// Answer returns the answer that the tool message m gives to the question i. asked is false if the
// state of the question cannot be read. ok is false if the message is not an answer.
func (t *Table) Answer(m agui.Message, i agui.Interrupt) (a agui.Answer, asked, ok bool) {
	k, _ := t.keptOf(i)
	if k == nil {
		return agui.Answer{}, false, false
	}
	a, ok = k.Read(gjson.GetBytes(m.JSON, "content").Str)
	return a, true, ok
}
