package draft

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Answers implements translate.Dialect: the entries of resume and command.resume, as from any client; a resume object, as
// from a client of the first draft; and for a pause that was asked by tool calls the tool messages at the end.
func (d *Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	others := in
	others.ResumeObject = nil
	list, err := kit.Answers(others, p)
	if err != nil {
		return nil, err
	}
	if in.ResumeObject != nil {
		one, err := fromObject(in, p)
		switch {
		case err != nil:
			return nil, err
		case p.ID == "":
			list = append(list, one)
		default:
			if list, err = kit.OneSet(list, []agui.Answer{one}); err != nil {
				return nil, err
			}
		}
	}
	told, err := d.fromMessages(in, p)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return told, nil
	}
	return withTold(list, told)
}

// withTold are the answers of a request and those of its messages.
func withTold(list, told []agui.Answer) ([]agui.Answer, error) {
	places := make(map[string]int, len(list))
	for n := len(list) - 1; n >= 0; n-- {
		places[list[n].ID] = n
	}
	for _, t := range told { // beside a resume they are CopilotKit's, and say the same
		if at, ok := places[t.ID]; !ok {
			places[t.ID] = len(list)
			list = append(list, t)
		} else if approves(t.Payload) != (list[at].Status == agui.Resolved && approves(list[at].Payload)) {
			return nil, agui.Errorf(agui.ResumeConflict, "the answer and a tool message beside it say different things")
		}
	}
	return list, nil
}

// fromObject reads {interruptId?, payload?}. Without an id it is for what is open; of several it can answer one only, and
// admit finds the others. A status is younger than the object, but who sends one means it.
func fromObject(in agui.RunInput, p agui.Pause) (agui.Answer, error) {
	a := agui.Answer{Status: agui.Resolved, Native: true}
	ok := true
	gjson.ParseBytes(in.ResumeObject).ForEach(func(k, v gjson.Result) bool {
		switch {
		case k.Str == "interruptId" && (v.Type == gjson.String || v.Type == gjson.Number):
			a.ID = v.String()
		case k.Str == "interruptId" && v.Type == gjson.Null, k.Str == "status" && v.Str == string(agui.Resolved), k.Str == "metadata":
		case k.Str == "payload":
			a.Payload = kit.Payload(v)
		case k.Str == "status" && v.Str == string(agui.Cancelled):
			a.Status = agui.Cancelled
		default:
			ok = false
		}
		return ok
	})
	switch i := p.Named(a.ID); {
	case !ok:
		return a, agui.Errorf(agui.InvalidPayload, "resume must be an array of entries, or an object of interruptId and payload")
	case i != nil:
		a.ID = i.ID
	case a.ID == "" && len(p.Interrupts) > 0:
		a.ID = p.Interrupts[0].ID
	}
	if a.Status == agui.Cancelled {
		a.Payload = nil
	}
	return a, nil
}

// fromMessages reads the tool messages at the end of the messages that decide a call that asks. Only there, where the
// backend looks for them: a history keeps the answers to older questions, and the results of calls that were approved. A
// call that the pause does not ask about, or whose answer was there before it asked, is none of a question that is open:
// admit refuses it, for the backend would not.
//
// The backend reads keys in any case, and of two the last one. What only it would take for a decision answers nothing here.
func (d *Dialect) fromMessages(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	var list []agui.Answer
	places := map[string]int{} // in it, by the ids
	var asked map[string]bool  // what the history asks by calls of the configured tools; nil until it is needed
	for at := len(in.Messages) - 1; at >= 0; at-- {
		m := in.Messages[at]
		if !kit.IsTool(agui.View(m.JSON)) {
			break
		}
		object := gjson.ParseBytes(m.JSON)
		payload, plain, ok := decision(object)
		if !ok {
			continue
		}
		call, one := m.ToolCallID, askedBy(&p, m.ToolCallID)
		if one == nil || !plain {
			if asked == nil {
				asked = d.asked(in)
			}
			ids := kit.Members(object, "toolCallId")
			n := slices.IndexFunc(ids, func(id gjson.Result) bool { return asked[id.String()] || askedBy(&p, id.String()) != nil })
			if n < 0 {
				continue
			}
			call = ids[n].String()
		}
		a := agui.Answer{ID: call, Status: agui.Resolved, Payload: payload, Native: true, Message: agui.See(m)}
		switch {
		case !plain, one != nil && p.Knows(a.Message):
			a.ID, a.Payload = "", nil // the call may have the id of an interrupt
			return append(list, a), nil
		case one == nil:
			return append(list, a), nil
		}
		a.ID = one.ID
		known, twice := places[a.ID]
		switch {
		case !twice:
			places[a.ID] = len(list)
			list = append(list, a)
		case approves(list[known].Payload) != approves(a.Payload):
			return nil, agui.Errorf(agui.ResumeConflict, "two tool messages answer interrupt %q in different ways", a.ID)
		}
	}
	return list, nil
}

// Decisions implements translate.Decider: the yes of a tool message on a call of a configured tool, wherever it stands.
func (d *Dialect) Decisions(in agui.RunInput) []translate.Decision {
	var list []translate.Decision
	var asked map[string]bool // nil until it is needed
	for at, m := range in.Messages {
		if !kit.MaySay(m.JSON, "approved", 'v') || !kit.IsTool(agui.View(m.JSON)) {
			continue
		}
		object := gjson.ParseBytes(m.JSON)
		payload, plain, ok := decision(object)
		if !ok || plain && !approves(payload) {
			continue
		}
		if asked == nil {
			asked = d.asked(in)
		}
		if slices.ContainsFunc(kit.Members(object, "toolCallId"), func(id gjson.Result) bool { return asked[id.String()] }) {
			one := translate.Decision{At: at, Payload: payload}
			if plain {
				one.Call = m.ToolCallID
			}
			list = append(list, one)
		}
	}
	return list
}

// askedBy is the interrupt of a pause that was asked by calls which is about the call, nil if none is.
func askedBy(p *agui.Pause, callID string) *agui.Interrupt {
	if about := p.About(callID); len(about) > 0 && formOf(*p) == byMessage {
		return &p.Interrupts[about[0]]
	}
	return nil
}

// asked are the ids of the history's calls of configured tools that are not the client's own.
func (d *Dialect) asked(in agui.RunInput) map[string]bool {
	ids := map[string]bool{}
	for _, m := range in.Messages {
		for _, c := range kit.Calls(gjson.ParseBytes(m.JSON)) {
			asks := func(name gjson.Result) bool { return d.tools.match(name.Str) && !in.Declares(name.Str) }
			if !slices.ContainsFunc(kit.Every(c, "function", "name"), asks) {
				continue
			}
			for _, id := range kit.Members(c, "id") {
				ids[id.String()] = true
			}
		}
	}
	return ids
}

// decision is the content of a tool message that approves or denies, in whatever spelling; a result is none. plain says
// that nobody can read the message in another way.
func decision(m gjson.Result) (payload json.RawMessage, plain, ok bool) {
	contents := kit.Members(m, "content")
	for _, v := range contents {
		content := kit.ParseText(v)
		said := kit.Members(content, "approved")
		if agui.TooDeep([]byte(v.Str)) || slices.ContainsFunc(said, gjson.Result.IsBool) {
			plain = len(contents) == 1 && len(said) == 1 && content.Get("approved").IsBool() && m.Get("content").Exists() && m.Get("role").Str == "tool" &&
				len(kit.Members(m, "role")) == 1 && len(kit.Members(m, "toolCallId")) == 1 && m.Get("toolCallId").Exists()
			return json.RawMessage(content.Raw), plain, true
		}
	}
	return nil, false, false
}
