package draft

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// Answers implements translate.Dialect. It reads the entries of resume and command.resume, as from
// any client, and a resume object, as from a client of the first draft. Tool messages also answer a
// pause that was asked by tool calls; see Replies.
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
	return list, nil
}

// fromObject reads {interruptId?, payload?}. Without an id it answers the first open question. The
// contract then sees whether others stay open. A status is younger than the object, but it counts,
// because whoever sends one means it.
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

// Replies implements translate.HistoryReader. It names the tool messages that decide a call that
// asks. They answer only at the end of the messages, where the backend looks for them, because a
// history also keeps the answers to older questions and the results of approved calls. Further up,
// a yes on a call of a configured tool is named too, because it may stand there only if the record
// knows that it was given.
//
// The backend reads keys in any case, and takes the last of two. A message that only the backend
// would take for a decision answers nothing here.
func (d *Dialect) Replies(in agui.RunInput, spoken string) iter.Seq[translate.Reply] {
	return func(yield func(translate.Reply) bool) {
		for one := range microsoft.Strays(in, spoken == Name) {
			if !yield(one) {
				return
			}
		}
		last := len(in.Messages)
		for last > 0 && kit.IsTool(agui.View(in.Messages[last-1].JSON)) {
			last--
		}
		var asked map[string]bool // what the history asks by calls of the configured tools; nil until it is needed
		for at, m := range in.Messages {
			past := at < last
			if past && (!kit.MaySay(m.JSON, "approved", 'v') || !kit.IsTool(agui.View(m.JSON))) {
				continue
			}
			object := gjson.ParseBytes(m.JSON)
			payload, plain, ok := decision(object)
			if !ok || past && plain && !approves(payload) {
				continue
			}
			if asked == nil {
				asked = d.asked(in)
			}
			one := translate.Reply{Dialect: Name, At: at, Key: m.ToolCallID, Unclear: !plain, Past: past, Kept: past}
			ids := kit.Members(object, "toolCallId")
			for _, id := range ids {
				one.Asked = one.Asked || asked[id.String()]
				one.Calls = append(one.Calls, id.String())
			}
			if plain {
				ids, one.Names = ids[:1], m.ToolCallID
			}
			for _, id := range ids {
				if one.Key = id.String(); !yield(one) {
					return
				}
			}
		}
	}
}

// AnswerIn implements translate.HistoryReader.
func (d *Dialect) AnswerIn(m agui.Message, reply translate.Reply, _ agui.Interrupt) (agui.Answer, bool) {
	payload, plain, ok := decision(gjson.ParseBytes(m.JSON))
	return agui.Answer{Status: agui.Resolved, Payload: payload}, ok && plain && !reply.Past
}

// asked returns the ids of the history's calls of configured tools, without those of the client's
// own tools.
func (d *Dialect) asked(in agui.RunInput) map[string]bool {
	ids := map[string]bool{}
	for _, m := range in.Messages {
		for _, c := range kit.Calls(gjson.ParseBytes(m.JSON)) {
			asks := func(name gjson.Result) bool { return d.tools.Match(name.Str) && !in.Declares(name.Str) }
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

// decision returns the content of a tool message that approves or denies, in whatever spelling. ok
// is false for a mere result. plain says that nobody can read the message in another way.
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
