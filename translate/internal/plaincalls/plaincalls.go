// Package plaincalls is what dialects share whose backend asks by a plain call of a tool that it
// does not answer itself, and takes a tool message on that call for the answer. The stream has
// nothing else that tells of a pause: the operator names the tools.
//
// What a yes and a no look like is said by two templates (package yesno). A resume brings the
// history with the answers as its last messages, as a client brings them whose user has answered.
// They are told to the client as results, because no later run may bring a call without one.
//
// It does not know how such a run ends; that is the dialect's.
package plaincalls

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
	"holdpoint/translate/yesno"
)

// A Protocol is how the backends of one dialect ask.
type Protocol struct {
	Dialect string
	Ask     kit.Names // the tools whose calls ask, except those that the request declares
	Words   yesno.Words
	// Message is what a question says. said is the text in the call's arguments, "" if there is
	// none.
	Message func(tool, said string) string
	// Forgets says that a call of these tools without a result is taken out of a run without
	// answers, also if the record does not know that it asked: models refuse such a call, and the
	// record may have forgotten it.
	Forgets bool
}

// Asks says whether a call of the tool asks.
func (p *Protocol) Asks(tool string, in agui.RunInput) bool {
	return p.Ask.Match(tool) && !in.Declares(tool)
}

// Open are the calls of the stream that ask and have no result.
func (p *Protocol) Open(r *translate.Request) []agui.Call {
	return left(r, func(tool string) bool { return p.Asks(tool, r.Input) })
}

// left are the calls of the stream without a result whose tool is one.
func left(r *translate.Request, is func(tool string) bool) []agui.Call {
	var list []agui.Call
	if r.Transcript == nil {
		return nil
	}
	for _, c := range r.Transcript.Calls() {
		if c.Fresh && !c.Answered && is(c.Name) {
			list = append(list, c)
		}
	}
	return list
}

// Clients are the calls of the stream without a result that the client answers itself. Their
// results have to come with the answers, for a model refuses a turn that lacks one.
func Clients(r *translate.Request) []string {
	var list []string
	seen := map[string]bool{}
	for _, c := range left(r, r.Input.Declares) {
		if !seen[c.ID] {
			list, seen[c.ID] = append(list, c.ID), true
		}
	}
	return list
}

// AskAbout adds the questions of the calls to a pause. A client that is shown the backend's own
// form has had the calls. It needs them again only if Holdpoint asks again.
func (p *Protocol) AskAbout(asked *translate.Asked, r *translate.Request, calls []agui.Call, starts *Starts) {
	native := r.Show == translate.ShowNative
	asked.Shown = native
	of := map[string]int{}
	for _, c := range left(r, func(string) bool { return true }) {
		of[c.ID]++
	}
	had := map[string]bool{}
	for _, c := range calls {
		if had[c.ID] {
			continue
		}
		had[c.ID] = true
		asked.Interrupts = append(asked.Interrupts, p.interrupt(c, of[c.ID] > 1 || starts.twice[c.ID]))
		if native {
			asked.Own = append(asked.Own, kit.CallFrames(c)...)
		}
	}
}

// interrupt is the question of a call.
func (p *Protocol) interrupt(c agui.Call, twice bool) agui.Interrupt {
	said := Question(kit.ParseText(gjson.Result{Type: gjson.String, Str: c.Args}))
	if said == c.Args {
		said = ""
	}
	o := kit.AppendText([]byte{'{'}, "reason", "tool_call")
	o = kit.AppendText(o, "message", p.Message(c.Name, said))
	o = kit.AppendText(o, "toolCallId", c.ID)
	o = kit.AppendMember(o, `"responseSchema"`, p.Words.Schema())
	i := agui.Interrupt{Native: c.ID, Object: append(o, '}'), Keys: []string{c.ID}}
	if twice {
		i.Private = json.RawMessage(isTwice)
	}
	return i
}

// isTwice is what a question keeps if several calls of the turn have its id: the backend would give
// all of them one answer.
const isTwice = `{"twice":true}`

// Question is the text of a payload. The payload is a text itself, or has one under a name that
// producers use.
func Question(payload gjson.Result) string {
	if payload.Type == gjson.String {
		return payload.Str
	}
	if payload.IsObject() {
		for _, key := range []string{"message", "prompt", "question", "title", "description"} {
			if v := payload.Get(key); v.Type == gjson.String && v.Str != "" {
				return v.Str
			}
		}
	}
	return ""
}

// Kept is what a pause keeps for its resume.
type Kept struct {
	// Clients are the calls of the turn that the client answers itself.
	Clients []string `json:"clients,omitempty"`
}

// KeptOf is what was kept. A pause of another version has kept nothing.
func KeptOf(p agui.Pause) Kept {
	var k Kept
	if json.Unmarshal(p.Private, &k) != nil {
		return Kept{}
	}
	return k
}
