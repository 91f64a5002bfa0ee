package langgraphapi

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A Shape is the kind of value with which a graph called interrupt(). The pause stores it, so that
// an answer is read in the shape in which the question was published.
type Shape string

const (
	// any other value, such as a string or explicit fields: the payload is the answer
	Plain      Shape = ""
	CopilotKit Shape = "copilotkit" // copilotkit_interrupt and copilotKitInterrupt
	HITL       Shape = "hitl"       // langchain's human-in-the-loop middleware
	PerCall    Shape = "percall"    // the same middleware with interrupt_mode="per_call"
	Inbox      Shape = "inbox"      // Agent Inbox, langgraph.prebuilt.interrupt
	given      Shape = "given"      // the fields of the outcome are used unchanged

	// Elicitation is a question of an MCP server, which langchain.mcp sends.
	Elicitation Shape = "elicitation"
)

// The reasons that Holdpoint sets if the backend's interrupt has no reason.
const (
	ReasonDefault  = "langgraph:interrupt"
	reasonApproval = "langgraph:tool_approval"
	reasonInbox    = "langgraph:human_interrupt"
	reasonToolCall = "tool_call"

	reasonElicitation = "langgraph:mcp_elicitation"
)

// ShapeOf returns the shape of the value.
func (n Native) ShapeOf() Shape {
	if n.AnswerForm == ByArray {
		return given
	}
	if gjson.GetBytes(n.Value, copilotKitValue).Exists() {
		return CopilotKit
	}
	for _, s := range []Shape{HITL, PerCall, Inbox, Elicitation} {
		n.Shape = s
		if _, ok := n.review(); ok {
			return s
		}
	}
	return Plain
}

// IsReview reports whether the value is a review. Its answer consists of one decision for each of
// its questions.
func (n Native) IsReview() bool {
	return n.Shape == HITL || n.Shape == PerCall || n.Shape == Inbox || n.Shape == Elicitation
}

// AskedByNode reports whether a node of the graph asks about tool calls. It is false if a tool asks
// while its own call runs.
func (n Native) AskedByNode() bool { return n.IsReview() && n.Shape != Elicitation }

const copilotKitValue = "__copilotkit_interrupt_value__"

// A place says which native interrupt, and which action in it, a published interrupt belongs to.
type place struct {
	Native int `json:"n"`
	Index  int `json:"i,omitempty"`
}

// Publish makes the interrupts that the client gets. The parameter calls has the tool calls that
// the client has seen. The parameter endedPauses has the earlier pauses of the thread.
//
// A run that only asks a question again does not send the call again, and some clients do not send
// their history. So if an interrupt repeats an earlier question, it gets the call of that question.
func Publish(natives []Native, calls []agui.Call, endedPauses []translate.EndedPause) []agui.Interrupt {
	find := finder{calls: calls, used: make([]bool, len(calls))}
	var list []agui.Interrupt
	for at := range natives {
		n := &natives[at]
		n.Shape = n.ShapeOf()
		var objects []json.RawMessage
		if review, ok := n.review(); ok {
			for i := range review.asks {
				objects = append(objects, n.object(review.fields(i, &find), review.metadataStart(i)))
			}
		} else {
			objects = []json.RawMessage{n.object(n.fields(&find), n.metadataStart())}
		}
		value := n.valueDigest()
		for i, object := range objects {
			one := agui.Interrupt{Native: n.ID, Object: object, Private: agui.MustMarshal(place{at, i}), Question: question(value, i)}
			if n.Shape == Elicitation {
				one.No = elicitationNo(one)
			}
			list = append(list, one)
		}
	}
	nameCalls(list, endedPauses)
	return list
}

// nameCalls adds a toolCallId to each question that repeats an earlier one, if the earlier question
// had a call.
func nameCalls(list []agui.Interrupt, endedPauses []translate.EndedPause) {
	type asked struct{ native, question string }
	before := map[asked]*agui.Interrupt{}
	for _, pause := range endedPauses { // endedPauses begins with the newest pause
		for n := range pause.Interrupts {
			i := &pause.Interrupts[n]
			key := asked{i.Native, i.Question}
			if before[key] == nil && i.Native != "" && i.Question != "" && i.ToolCallID() != "" && !i.CallUnseen {
				before[key] = i
			}
		}
	}
	if len(before) == 0 {
		return
	}
	for n := range list {
		i := &list[n]
		same := before[asked{i.Native, i.Question}]
		if same == nil || i.ToolCallID() != "" {
			continue
		}
		i.Object = agui.SetString(i.Object, "toolCallId", same.ToolCallID())
		if i.Reason() == reasonApproval && same.Reason() == reasonToolCall {
			i.Object = agui.SetString(i.Object, "reason", reasonToolCall)
		}
		i.Calls = slices.Clone(same.Calls)
	}
}

// valueDigest returns a digest of the value, as input of the function question. It is computed once
// for all questions of the value, because there may be very many.
func (n Native) valueDigest() []byte {
	value := []byte(WithoutConfig(n.Value))
	if gjson.ParseBytes(value).IsObject() { // the graph may compute a new time when it asks again
		value = agui.DeleteKey(agui.DeleteKey(value, "expiresAt"), "expires_at")
	}
	sum := sha256.Sum256(agui.Canonical(value))
	return sum[:]
}

// question returns a string that identifies a question. It is the same if the graph asks the
// question again, whatever the other fields of the interrupt are. It does not depend on the call,
// because that depends on what the client has seen.
func question(asked []byte, action int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", action, asked))
	return hex.EncodeToString(sum[:12])
}

// fields are the fields of an Interrupt except id and metadata. A nil field is left out. schema is
// JSON, or "".
type fields struct {
	reason                   string // never empty
	message, toolCallID      *string
	schema                   string
	expiresAt, subagentRunID *string
}

// fields returns the fields of an interrupt with a single question. It follows the rules of the
// adapter (interrupts.py, lg_interrupt_to_agui): a key in camelCase has priority over one in
// snake_case, and the values "" and {} are kept.
func (n Native) fields(find *finder) fields {
	v := gjson.ParseBytes(n.Value)
	f := fields{reason: ReasonDefault}
	switch {
	case n.Shape == CopilotKit:
		inner := v.Get(copilotKitValue)
		f.message = firstString(inner, inner.Get("action"))
	case n.Shape == given:
	case v.Type == gjson.String:
		f.message = &v.Str
	case v.IsObject():
		if reason := v.Get("reason"); reason.Type == gjson.String {
			f.reason = reason.Str
		}
		f.message = firstString(v.Get("message"), v.Get("question"), v.Get("prompt"), v.Get("description"), v.Get("title"))
		f.toolCallID = firstString(v.Get("toolCallId"), v.Get("tool_call_id"))
		f.schema = ObjectOf(v.Get("responseSchema"), v.Get("response_schema"))
		f.expiresAt = firstString(v.Get("expiresAt"), v.Get("expires_at"))
	}
	f.overlay(n.Interrupt)
	if n.Schema != nil { // LangGraph validates the answer by this schema
		f.schema = string(n.Schema)
	}
	f.bindCall(find)
	return f
}

// overlay replaces fields by the fields of the Interrupt that the backend sent. It ignores the
// default reason of the adapter.
func (f *fields) overlay(g gjson.Result) {
	if !g.Exists() {
		return
	}
	if reason := g.Get("reason"); reason.Type == gjson.String && reason.Str != ReasonDefault {
		f.reason = reason.Str
	}
	f.message = firstString(g.Get("message"), stringResult(f.message))
	f.toolCallID = firstString(g.Get("toolCallId"), stringResult(f.toolCallID))
	if s := ObjectOf(g.Get("responseSchema")); s != "" {
		f.schema = s
	}
	f.extras(g)
}

// extras copies the fields expiresAt and subagentRunId of the Interrupt that the backend sent.
func (f *fields) extras(g gjson.Result) {
	f.expiresAt = firstString(g.Get("expiresAt"), stringResult(f.expiresAt))
	f.subagentRunID = firstString(g.Get("subagentRunId"), stringResult(f.subagentRunID))
}

// bindCall keeps toolCallId only if the client has seen the call, because a client cannot show a
// card for an unknown call. If there is no toolCallId, bindCall also replaces the reason tool_call,
// because that reason promises a call.
func (f *fields) bindCall(find *finder) {
	if f.toolCallID != nil {
		if at := find.byID(*f.toolCallID); at < 0 {
			f.toolCallID = nil
		} else if f.message == nil {
			f.message = questionAbout(find.calls[at].Name)
		}
	}
	if f.toolCallID == nil && f.reason == reasonToolCall {
		f.reason = reasonApproval
	}
}

// questionAbout returns the message of an interrupt about a call of the tool, if the backend sent
// no message.
func questionAbout(tool string) *string {
	s := fmt.Sprintf(askCall, tool)
	return &s
}

// object returns the AG-UI Interrupt without its id. The parameter about is the begin of the object
// metadata.langgraph. The result is put together from JSON texts, so that the backend's values keep
// their exact bytes.
func (n Native) object(f fields, about []byte) json.RawMessage {
	o := []byte{'{'}
	o = addString(o, "reason", &f.reason)
	o = addString(o, "message", f.message)
	o = addString(o, "toolCallId", f.toolCallID)
	if f.schema != "" {
		o = kit.AppendMember(o, `"responseSchema"`, f.schema)
	}
	o = addString(o, "expiresAt", f.expiresAt)
	o = addString(o, "subagentRunId", f.subagentRunID)
	if m := n.metadata(about); m != nil {
		o = kit.AppendMember(o, `"metadata"`, string(m))
	}
	return append(o, '}')
}

func addString(o []byte, key string, s *string) []byte {
	if s == nil {
		return o
	}
	return kit.AppendText(o, key, *s)
}

// metadataStart returns the begin of the object metadata.langgraph, for a question that is not a
// review. It contains the whole value of the interrupt.
func (n Native) metadataStart() []byte {
	if IsNull(n.Value) {
		return []byte{'{'}
	}
	return kit.AppendMember([]byte{'{'}, `"raw"`, string(n.Value))
}

// metadataStart returns the begin of the object metadata.langgraph, for one action of a review. It
// contains the call of the action, so that a page can show what an approval would run. It does not
// contain the whole value, which has all actions of the review.
func (r review) metadataStart(i int) []byte {
	a := r.asks[i]
	if r.shape == Elicitation {
		return r.elicitationAbout(i)
	}
	m := kit.AppendText([]byte{'{'}, "name", a.tool)
	if !IsNull(a.args) {
		m = kit.AppendMember(m, `"args"`, string(a.args))
	}
	if r.shape == HITL || r.list {
		m = kit.AppendMember(m, `"index"`, strconv.Itoa(i))
	}
	return m
}

// metadata returns the metadata of the interrupt: the backend's own members and {"langgraph":{raw,
// or name, args and index; ns, resumable, when, parallel}}. It contains no null. The parameter own
// is the begin of the object langgraph.
func (n Native) metadata(own []byte) []byte {
	m := []byte{'{'}
	if given := n.Interrupt.Get("metadata"); given.IsObject() {
		given.ForEach(func(k, v gjson.Result) bool {
			if k.Str != "langgraph" {
				m = kit.AppendMember(m, k.Raw, v.Raw)
			}
			return true
		})
	}
	gjson.ParseBytes(n.Meta).ForEach(func(k, v gjson.Result) bool {
		own = kit.AppendMember(own, k.Raw, v.Raw)
		return true
	})
	if len(n.RivalCalls) > len("[]") {
		own = kit.AppendMember(own, `"parallel"`, string(n.RivalCalls))
	}
	own = append(own, '}')
	if len(own) > 2 || !n.Interrupt.Exists() {
		m = kit.AppendMember(m, `"langgraph"`, string(own))
	}
	if len(m) == 1 {
		return nil
	}
	return append(m, '}')
}

// firstString returns the first of the values that is a string. The string may be empty. It returns
// nil if no value is a string.
func firstString(values ...gjson.Result) *string {
	for _, v := range values {
		if v.Type == gjson.String {
			return &v.Str
		}
	}
	return nil
}

func stringResult(s *string) gjson.Result {
	if s == nil {
		return gjson.Result{}
	}
	return gjson.Result{Type: gjson.String, Str: *s}
}

// ObjectOf returns the JSON of the first value that exists and is not null. If that value is not an
// object, it returns "", because clients fail at a schema of another type (true).
func ObjectOf(values ...gjson.Result) string {
	for _, v := range values {
		if v.Exists() && v.Type != gjson.Null {
			if v.IsObject() {
				return v.Raw
			}
			return ""
		}
	}
	return ""
}

// A finder finds the tool calls that interrupts are about. It returns each call only once.
type finder struct {
	calls []agui.Call
	used  []bool
}

func (f *finder) byID(id string) int {
	return slices.IndexFunc(f.calls, func(c agui.Call) bool { return c.ID == id })
}

// call returns the id of the tool call that the action a is about. It returns nil if the client has
// not seen that call.
func (f *finder) call(a ask) *string {
	if a.call == "" {
		return f.take(a.tool, a.args)
	}
	at := f.byID(a.call)
	if at < 0 {
		return nil
	}
	f.used[at] = true
	return &f.calls[at].ID
}

// take returns the id of a call with this name and these arguments. It returns nil if the client
// has not seen such a call. It prefers calls without a result. Of these it prefers the calls of the
// last message, because a middleware reviews those.
func (f *finder) take(name string, args json.RawMessage) *string {
	best, bestRank := -1, -1
	for i, c := range f.calls {
		if f.used[i] || c.Name != name || !equalArgs(args, c.Args) {
			continue
		}
		rank := 0
		if !c.Answered {
			rank = 1
			if c.Parent == f.calls[len(f.calls)-1].Parent {
				rank = 2
			}
		}
		if rank > bestRank {
			best, bestRank = i, rank
		}
	}
	if best < 0 {
		return nil
	}
	f.used[best] = true
	return &f.calls[best].ID
}

// equalArgs reports whether two arguments are equal. Missing arguments count as {}, because a call
// of a tool without parameters streams no arguments.
func equalArgs(args json.RawMessage, streamed string) bool {
	streamed = cmp.Or(streamed, "{}")
	if IsNull(args) {
		args = json.RawMessage("{}")
	}
	return agui.EqualJSON(args, json.RawMessage(streamed))
}
