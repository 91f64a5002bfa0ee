package kit

import (
	"slices"
	"sort"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// ClaimedCalls has all calls in a request's messages. It knows which of them belong to the client,
// because the request declares their tools.
type ClaimedCalls struct {
	calls   map[string][]claimedCall
	foreign map[string]bool // ids of calls; at least one call with the id has an undeclared tool
}

type claimedCall struct {
	at  int  // the index of the message
	own bool // the request declares the tool under every name in the call
}

// ClaimsOf returns the ClaimedCalls of a request. It reads keys in any spelling. All calls without
// an id have the id "", and none of them belongs to the client.
func ClaimsOf(in agui.RunInput) *ClaimedCalls {
	tools := make(map[string]bool, len(in.Tools))
	for _, tool := range in.Tools {
		tools[tool] = true
	}
	claims := &ClaimedCalls{map[string][]claimedCall{}, map[string]bool{}}
	for at, m := range in.Messages {
		if m.Plain {
			continue
		}
		for _, c := range Calls(gjson.ParseBytes(m.JSON)) {
			names := Texts(c, "function", "name")
			own := len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !tools[name] })
			for _, id := range IDsOrNone(c, "id") {
				claims.add(id, claimedCall{at, own && id != ""})
			}
		}
	}
	return claims
}

// add adds a call. If one message has several calls with the same id, they belong to the client
// only if all of them do.
func (c *ClaimedCalls) add(id string, call claimedCall) {
	if !call.own {
		c.foreign[id] = true
	}
	list := c.calls[id]
	if n := len(list) - 1; n >= 0 && list[n].at == call.at {
		list[n].own = list[n].own && call.own
		return
	}
	c.calls[id] = append(list, call)
}

// Own reports two things: own, whether every call with this id in the messages belongs to the
// client, and shown, whether the messages contain such a call at all.
func (c *ClaimedCalls) Own(id string) (own, shown bool) {
	shown = len(c.calls[id]) > 0
	return shown && !c.foreign[id], shown
}

// OwnBefore reports whether the client owns the call that the tool message at the index at answers.
// Some models repeat ids, and a tool message answers the last call before it. So OwnBefore
// considers only the last call with the id before that index.
func (c *ClaimedCalls) OwnBefore(at int, id string) bool {
	list := c.calls[id]
	n := sort.Search(len(list), func(n int) bool { return list[n].at >= at })
	return n > 0 && list[n-1].own
}

// AnsweredCalls returns the ids of the calls that a tool message names, read in any spelling. It
// returns one "" if the message names no call. It also reads actionExecutionId, because
// agent-framework-ag-ui does.
func AnsweredCalls(m gjson.Result) []string {
	var calls []string
	for _, name := range []string{"toolCallId", "actionExecutionId"} {
		calls = append(calls, IDs(m, name)...)
	}
	if len(calls) == 0 {
		return []string{""}
	}
	return calls
}
