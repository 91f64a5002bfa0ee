package kit

import (
	"slices"
	"sort"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// ClaimedCalls are the calls of a request's messages, with those that belong to the client because
// the request declares their tools.
type ClaimedCalls struct {
	calls   map[string][]claimedCall
	foreign map[string]bool // ids with at least one call whose tool is not declared
}

type claimedCall struct {
	at  int  // the index of the message
	own bool // the request declares the tool, in each spelling of its name
}

// ClaimsOf returns the claims of a request. Keys are read in any spelling.
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
			for _, id := range Members(c, "id") {
				claims.add(id.String(), claimedCall{at, own})
			}
		}
	}
	return claims
}

// add records a call. If one message has several calls with one id, all of them must be the
// client's.
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

// Own reports whether the call belongs to the client in every copy that the messages contain, and
// whether the messages contain it at all.
func (c *ClaimedCalls) Own(id string) (own, shown bool) {
	shown = len(c.calls[id]) > 0
	return shown && !c.foreign[id], shown
}

// OwnBefore reports whether the last call with this id before the message at index at belongs to
// the client. Some models repeat ids, and a tool message answers the nearest call before it.
func (c *ClaimedCalls) OwnBefore(at int, id string) bool {
	list := c.calls[id]
	n := sort.Search(len(list), func(n int) bool { return list[n].at >= at })
	return n > 0 && list[n-1].own
}

// AnsweredCalls returns the ids of the calls that a tool message names, in any spelling. It returns
// one "" if the message names no call. agent-framework-ag-ui reads actionExecutionId too.
func AnsweredCalls(m gjson.Result) []string {
	var calls []string
	for _, name := range []string{"toolCallId", "actionExecutionId"} {
		for _, id := range Members(m, name) {
			calls = append(calls, id.String())
		}
	}
	if len(calls) == 0 {
		return []string{""}
	}
	return calls
}
