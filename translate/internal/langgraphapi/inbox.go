package langgraphapi

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// parseInbox reads the request of an Agent Inbox, or a list of requests
// (langgraph/prebuilt/interrupt.py, HumanInterrupt). The answer to a list of requests is a list of
// responses, because most graphs call interrupt([request])[0].
func parseInbox(v gjson.Result) (review, bool) {
	r := review{shape: Inbox, list: v.IsArray()}
	requests := []gjson.Result{v}
	if r.list {
		requests = v.Array()
	}
	for _, request := range requests {
		action := request.Get("action_request.action")
		if !request.IsObject() || action.Type != gjson.String {
			return r, false
		}
		a := ask{tool: action.Str, args: RawOf(request.Get("action_request.args")), argsKey: "args"}
		a.message = firstString(request.Get("description"), action)
		config := request.Get("config")
		for _, d := range []struct{ allow, decision string }{
			{"allow_accept", "accept"}, {"allow_edit", "edit"}, {"allow_respond", "response"}, {"allow_ignore", "ignore"},
		} {
			// Python's adapter may have removed the config. Then Holdpoint allows every decision.
			if !config.IsObject() || config.Get(d.allow).Bool() {
				a.allowed = append(a.allowed, d.decision)
			}
		}
		r.asks = append(r.asks, a)
	}
	return r, len(r.asks) > 0
}

// respond returns the HumanResponse for the answer to request i.
func (r review) respond(i int, a agui.Answer) (json.RawMessage, *agui.RunError) {
	ask := r.asks[i]
	if a.Status == agui.Cancelled {
		if !ask.allows("ignore") {
			return nil, cannotCancel(a.ID)
		}
		return json.RawMessage(`{"type":"ignore","args":null}`), nil
	}
	if a.OwnForm {
		return r.ownResponse(i, a)
	}
	m, ok := Members(a.Payload)
	if !ok {
		return nil, notReadable(a.ID)
	}
	v, err := readVerdict(a.ID, m)
	switch {
	case err != nil:
		return nil, err
	case v.edited != nil:
		if !ask.allows("edit") {
			return nil, notAllowed(a.ID, "edit")
		}
		args := kit.AppendText([]byte{'{'}, "action", ask.tool)
		args = append(kit.AppendMember(args, `"args"`, string(v.edited)), '}')
		return response("edit", args), nil
	case v.approved:
		if !ask.allows("accept") {
			return nil, notAllowed(a.ID, "accept")
		}
		return json.RawMessage(`{"type":"accept","args":null}`), nil
	case v.message != nil && *v.message != "" && ask.allows("response"):
		return response("response", agui.MustMarshal(*v.message)), nil
	case ask.allows("ignore"):
		return json.RawMessage(`{"type":"ignore","args":null}`), nil
	}
	return nil, notAllowed(a.ID, "ignore")
}

func response(kind string, args json.RawMessage) json.RawMessage {
	return json.RawMessage(`{"type":"` + kind + `","args":` + string(args) + `}`)
}

// ownResponse returns the HumanResponse for an answer in Agent Inbox's own form. The answer is one
// response, or a list with one response for each request.
func (r review) ownResponse(i int, a agui.Answer) (json.RawMessage, *agui.RunError) {
	one := a.Payload
	var list []json.RawMessage
	if json.Unmarshal(one, &list) == nil && list != nil {
		switch {
		case len(list) == len(r.asks):
			one = list[i]
		case len(list) == 1 && !a.Native:
			one = list[0]
		default:
			return nil, agui.Errorf(agui.InvalidPayload, textResponseCount, len(r.asks))
		}
	}
	m, ok := Members(one)
	if !ok {
		return nil, notReadable(a.ID)
	}
	kind, ok := Text(m["type"])
	if !ok || !r.asks[i].allows(kind) {
		return nil, notAllowed(a.ID, kind)
	}
	args := m["args"]
	if args == nil {
		args = json.RawMessage("null")
	}
	switch kind {
	case "accept", "ignore":
	case "response":
		if _, ok := Text(args); !ok {
			return nil, agui.Errorf(agui.InvalidPayload, textResponseNotText, a.ID)
		}
	case "edit":
		if action, ok := Members(args); !ok || IsNull(action["args"]) {
			return nil, agui.Errorf(agui.InvalidPayload, textEditWithoutArguments, a.ID)
		}
	}
	return response(kind, args), nil
}
