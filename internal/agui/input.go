package agui

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/tidwall/gjson"
)

// MaxListed is the largest number of tools in a request, and also of entries in its resume. Each of
// them needs some hundred bytes of memory, even if its JSON has only two bytes.
const MaxListed = 100_000

func tooMany(what string) error { return badInput(textTooManyElements, what, MaxListed) }

// MaxThreadID is the largest length of a threadId, in bytes. It is limited because the id is used
// in keys and log lines.
const MaxThreadID = 512

// MaxMessages is the largest number of messages in a run. Holdpoint needs for each message several
// times the memory of the smallest message. No real conversation has as many messages.
const MaxMessages = 1 << 17

// A RunInput is a parsed RunAgentInput. It has the body, and the fields on which Holdpoint acts.
type RunInput struct {
	Raw             []byte // the body; an edit makes a new slice
	ThreadID, RunID string
	ProtocolVersion string // "" if the client declares none (@ag-ui/client 0.0.59 and older)
	Messages        []Message
	HasResume       bool // the key resume has an array as its value, even an empty one
	Resume          []ResumeEntry
	ResumeObject    json.RawMessage // the value of resume if it is an object, as in AG-UI's draft and agent-framework before 1.0.0rc8; else nil
	ForwardedProps  json.RawMessage // nil if absent
	Command         json.RawMessage // forwardedProps.command, nil if absent or null
	State           json.RawMessage // nil if absent or null
	Tools           []string        // sorted names of the tools that the client runs itself
}

// A Message is one message of a run input.
type Message struct {
	ID, Role, ToolCallID string
	JSON                 json.RawMessage
	Plain                bool // it has no keys except id, role, content, name and toolCallId
}

// CallIDs returns the ids of the tool calls in an assistant message.
func (m Message) CallIDs() []string {
	if m.Plain || m.Role != "assistant" {
		return nil
	}
	var ids []string
	for _, c := range gjson.GetBytes(m.JSON, "toolCalls").Array() {
		ids = append(ids, IDText(c.Get("id")))
	}
	return ids
}

// A ResumeEntry is one entry of the resume array.
type ResumeEntry struct {
	InterruptID string
	Status      Status
	Payload     json.RawMessage // nil if absent or null
}

// An InputError is the reason why a run input is refused with HTTP status 400. The reason is
// written for the developer of the client.
type InputError struct{ Reason string }

func (e *InputError) Error() string { return fmt.Sprintf(textInput, e.Reason) }

func badInput(format string, args ...any) error {
	return &InputError{fmt.Sprintf(format, args...)}
}

// ErrNoJSON is the error for a body that is not valid JSON, or is nested deeper than MaxDepth.
var ErrNoJSON = errors.New(textNotJSON)

// ParseInput parses body. body must not be changed afterwards, because the strings and raw values
// of the input share its memory. A value that outlives the run must be cloned, or else the whole
// input stays in memory. ok is false if the body is not a run, so that Holdpoint does not act on
// it. The error is one of two:
//
//   - ErrNoJSON. It is then unknown whether the body is a run.
//   - An *InputError. The body is a run, but its meaning is ambiguous or it exceeds a bound.
func ParseInput(body []byte) (in RunInput, ok bool, err error) {
	return parseInput(body, utf8.Valid)
}

// ParseUTF8Input is ParseInput for a body that is known to be valid UTF-8.
func ParseUTF8Input(body []byte) (in RunInput, ok bool, err error) {
	return parseInput(body, func([]byte) bool { return true })
}

func parseInput(body []byte, isUTF8 func([]byte) bool) (in RunInput, ok bool, err error) {
	var root rootValues
	is, valid := root.read(unsafe.String(unsafe.SliceData(body), len(body)))
	if !valid {
		return RunInput{}, false, ErrNoJSON
	}
	if !is {
		return RunInput{}, false, nil
	}
	if !isUTF8(body) {
		return RunInput{}, true, badInput(textNotUTF8)
	}
	if root.err != nil {
		return RunInput{}, true, root.err
	}
	in = RunInput{Raw: body}
	if err := in.readIDs(&root); err != nil {
		return RunInput{}, true, err
	}
	if err := in.readMessages(root.keys[messagesKey]); err != nil {
		return RunInput{}, true, err
	}
	if err := in.readResume(root.keys[resumeKey]); err != nil {
		return RunInput{}, true, err
	}
	if err := in.readProps(root.keys[propsKey]); err != nil {
		return RunInput{}, true, err
	}
	if state := gjson.Parse(root.state); isPresent(state) {
		in.State = bytesOf(state)
	}
	if err := in.readTools(gjson.Parse(root.tools)); err != nil {
		return RunInput{}, true, err
	}
	return in, true, nil
}

// rootValues has the values at the root of a body. They are read in a single pass over the body,
// because histories are long.
type rootValues struct {
	keys         [len(rootKeys)]gjson.Result
	err          error // an error in the keys; it counts only if the body is a run
	state, tools string
}

// read reads the values at the root of body. isRun reports whether a backend could read the body as
// a run input, with keys in any spelling. valid reports whether the body is valid JSON.
func (v *rootValues) read(body string) (isRun, valid bool) {
	if at := skipSpace(body, 0); at == len(body) || body[at] != '{' {
		return false, ValidText(body)
	}
	var has RunKeys
	root := MembersIn(body)
	for root.Next() {
		name := root.Name()
		switch name {
		case "state":
			keepFirst(&v.state, root.Value)
		case "tools":
			keepFirst(&v.tools, root.Value)
		}
		if n := has.Add(name); n >= 0 {
			isRun = isRun || answers(n, root.Value)
			if v.err == nil {
				key := gjson.Result{Type: gjson.String, Str: name, Raw: root.Key}
				v.err = takeKey(v.keys[:], rootKeys[:], n, key, gjson.Parse(root.Value), place{})
			}
		}
	}
	return isRun || has.Run(), root.IsComplete()
}

func isPresent(v gjson.Result) bool { return v.Exists() && v.Type != gjson.Null }

func (in *RunInput) readIDs(root *rootValues) error {
	thread, run, version := &root.keys[threadKey], &root.keys[runKey], &root.keys[versionKey]
	switch {
	case thread.Type != gjson.String || thread.Str == "":
		return badInput(textThreadNotString)
	case len(thread.Str) > MaxThreadID:
		return badInput(textThreadTooLong, len(thread.Str), MaxThreadID)
	case hasSurrogate(thread.Str):
		return badInput(textThreadNotUTF8)
	case run.Type != gjson.String:
		return badInput(textRunNotString)
	case isPresent(*version) && version.Type != gjson.String:
		return badInput(textVersionNotString)
	}
	in.ThreadID, in.RunID, in.ProtocolVersion = thread.Str, run.Str, version.Str
	return nil
}

// hasSurrogate reports whether a string contains the replacement character U+FFFD. Go puts it in
// the place of half a surrogate pair. So two threads with different ids at the backend could have
// the same id in Holdpoint.
func hasSurrogate(s string) bool { return strings.ContainsRune(s, utf8.RuneError) }

func (in *RunInput) readMessages(list gjson.Result) error {
	if !isPresent(list) {
		return nil
	}
	if !list.IsArray() {
		return badInput(textMessagesNotArray)
	}
	raw := bytesOf(list)
	at := skipSpace(list.Raw, 1) // skips the bracket
	for list.Raw[at] != ']' {
		if list.Raw[at] != '{' {
			return badInput(textMessageNotObject, len(in.Messages))
		}
		m, n := readMessage(raw[at:], CheckedMembers(raw[at:]))
		if n == 0 {
			return badInput(textMessageNotJSON, len(in.Messages)) // cannot happen: the whole text was checked before
		}
		if len(in.Messages) == MaxMessages {
			return badInput(textTooManyMessages, MaxMessages)
		}
		if len(in.Messages) == cap(in.Messages) {
			// The list grows in large steps, because moving a long list costs more than reading it. The
			// remaining messages are probably as long as those before them. The list need not hold
			// more messages than can follow: each takes at least three bytes of the remaining text.
			have := len(in.Messages)
			expected := min((len(raw)-at)*have/at+1, 15*have)
			left := min((len(raw)-at)/len("{},")+1, MaxMessages-have)
			in.Messages = slices.Grow(in.Messages, min(max(expected, have, 4), left))
		}
		in.Messages = append(in.Messages, m)
		at = skipSpace(list.Raw, at+n)
		if list.Raw[at] == ',' {
			at = skipSpace(list.Raw, at+1)
		}
	}
	return nil
}

// ParseMessage parses one message, which must be a JSON object. The strings of the message share
// the memory of raw.
func ParseMessage(raw []byte) Message {
	m, _ := readMessage(raw, MembersOf(raw))
	m.JSON = raw
	return m
}

// readMessage parses the message at the beginning of text, which must be a JSON object. one is an
// iterator over the members of this object. readMessage returns the length of the message in bytes,
// or 0 if there is an error.
func readMessage(text []byte, one Members) (m Message, length int) {
	var id, role, call string
	m.Plain = true
	for one.Next() {
		switch one.Name() {
		case "id":
			keepFirst(&id, one.Value)
		case "role":
			keepFirst(&role, one.Value)
		case "toolCallId":
			keepFirst(&call, one.Value)
		case "content", "name":
		default:
			m.Plain = false
		}
	}
	n := one.End()
	m.ID, m.Role, m.ToolCallID, m.JSON = Text(id), Text(role), callID(call), text[:n:n]
	return m, n
}

// callID returns IDText of the JSON value raw. It is fast for a string.
func callID(raw string) string {
	if raw == "" || raw[0] == '"' {
		return Text(raw)
	}
	return IDText(gjson.Parse(raw))
}

// keepFirst sets kept to value if kept is "". So the first of several equal keys counts, as in a
// search of gjson.
func keepFirst(kept *string, value string) {
	*kept = cmp.Or(*kept, value)
}

func (in *RunInput) readResume(list gjson.Result) error {
	if !isPresent(list) {
		return nil
	}
	if list.IsObject() {
		in.ResumeObject = bytesOf(list)
		var keys [len(objectKeys)]gjson.Result
		return readKeys(keys[:], list, objectKeys[:], place{what: textInResume})
	}
	if !list.IsArray() {
		return badInput(textResumeNotArray)
	}
	in.HasResume = true
	ids := map[string]bool{}
	var err error
	list.ForEach(func(_, e gjson.Result) bool {
		err = in.readEntry(e, ids)
		return err == nil
	})
	return err
}

// readEntry parses the next entry of resume. ids has the ids of the entries that were parsed
// before.
func (in *RunInput) readEntry(e gjson.Result, ids map[string]bool) error {
	i := len(in.Resume)
	switch {
	case i == MaxListed:
		return tooMany("resume")
	case !e.IsObject():
		return badInput(textEntryNotObject, i)
	}
	var keys [len(entryKeys)]gjson.Result
	if err := readKeys(keys[:], e, entryKeys[:], place{what: textInResume, at: i, entry: true}); err != nil {
		return err
	}
	id, status := keys[idKey], Status(keys[statusKey].Str)
	switch {
	case id.Type != gjson.String || id.Str == "":
		return badInput(textEntryWithoutID, i)
	case ids[id.Str]:
		return badInput(textAnsweredTwice, i, Shorten(id.Str))
	case status != Resolved && status != Cancelled:
		return badInput(textEntryStatus, i, Resolved, Cancelled)
	}
	ids[id.Str] = true
	entry := ResumeEntry{InterruptID: id.Str, Status: status}
	if p := keys[payloadKey]; isPresent(p) {
		entry.Payload = bytesOf(p)
	}
	in.Resume = append(in.Resume, entry)
	return nil
}

func (in *RunInput) readProps(props gjson.Result) error {
	if !isPresent(props) {
		return nil
	}
	in.ForwardedProps = bytesOf(props)
	if !props.IsObject() {
		return nil
	}
	var keys [len(propKeys)]gjson.Result
	if err := readKeys(keys[:], props, propKeys[:], place{what: textInProps}); err != nil {
		return err
	}
	command := keys[commandKey]
	if !isPresent(command) {
		return nil
	}
	in.Command = bytesOf(command)
	if !command.IsObject() {
		return nil
	}
	var inside [len(commandKeys)]gjson.Result
	return readKeys(inside[:], command, commandKeys[:], place{what: textInCommand})
}

// CommandResume returns the answer in forwardedProps.command.resume, and whether there is one. null
// is not an answer: CopilotKit sends it by mistake (CopilotKit issue 1693).
func (in *RunInput) CommandResume() (json.RawMessage, bool) {
	if in.Command == nil {
		return nil, false
	}
	v := gjson.GetBytes(in.Command, "resume")
	if !isPresent(v) {
		return nil, false
	}
	return json.RawMessage(v.Raw), true
}

// InterruptEvent returns forwardedProps.command.interruptEvent, or nil if it is absent. A
// CopilotKit client sends with its answer the value of the CUSTOM event that it answers; this is
// that value.
func (in *RunInput) InterruptEvent() json.RawMessage {
	if in.Command == nil {
		return nil
	}
	if v := gjson.GetBytes(in.Command, "interruptEvent"); isPresent(v) {
		return json.RawMessage(v.Raw)
	}
	return nil
}

// NamedIDs returns all interrupt ids in the request: in the entries of resume or in a resume
// object, as keys of an id map in command.resume, or in an interruptEvent of Holdpoint that the
// client sends back.
func (in *RunInput) NamedIDs() []string {
	var ids []string
	for _, e := range in.Resume {
		ids = append(ids, e.InterruptID)
	}
	ids = append(ids, in.objectIDs()...)
	if v, ok := in.CommandResume(); ok {
		gjson.ParseBytes(v).ForEach(func(k, _ gjson.Result) bool {
			ids = append(ids, k.Str)
			return true
		})
	}
	return append(ids, in.EchoedIDs()...)
}

// objectIDs returns the interrupt ids in a resume object. In AG-UI's draft the object is
// {interruptId}, and in agent-framework {interrupts:[{id}]}.
func (in *RunInput) objectIDs() []string {
	if in.ResumeObject == nil {
		return nil
	}
	object := gjson.ParseBytes(in.ResumeObject)
	var ids []string
	if id := object.Get("interruptId"); id.Type == gjson.String {
		ids = append(ids, id.Str)
	}
	for _, i := range object.Get("interrupts").Array() {
		if id := i.Get("id"); id.Type == gjson.String {
			ids = append(ids, id.Str)
		}
	}
	return ids
}

// EchoedIDs returns the interrupt ids in an interruptEvent that the client sends back. In
// Holdpoint's own CUSTOM event, the value is an Interrupt, or {"interrupts":[..]}, as JSON text.
func (in *RunInput) EchoedIDs() []string {
	echoed := in.InterruptEvent()
	if echoed == nil {
		return nil
	}
	event := gjson.ParseBytes(echoed)
	if event.Type == gjson.String && ValidJSON([]byte(event.Str)) {
		event = gjson.Parse(event.Str)
	}
	if !event.IsObject() {
		return nil
	}
	var ids []string
	for _, i := range append([]gjson.Result{event}, event.Get("interrupts").Array()...) {
		if id := i.Get("id"); id.Type == gjson.String {
			ids = append(ids, id.Str)
		}
	}
	return ids
}

func (in *RunInput) readTools(list gjson.Result) error {
	add := func(_, t gjson.Result) bool {
		in.Tools = append(in.Tools, t.Get("name").Str)
		return len(in.Tools) <= MaxListed
	}
	if list.IsArray() {
		list.ForEach(add)
	} else if isPresent(list) {
		add(gjson.Result{}, list)
	}
	if len(in.Tools) > MaxListed {
		return tooMany("tools")
	}
	slices.Sort(in.Tools)
	return nil
}

// Declares reports whether the request declares the tool. The client then runs the tool's calls
// itself.
func (in *RunInput) Declares(tool string) bool {
	_, found := slices.BinarySearch(in.Tools, tool)
	return found
}

// WithMessages returns the input with list as its messages. All other bytes of the body stay the
// same.
func (in RunInput) WithMessages(list []Message) RunInput {
	return in.Rewritten(Rewrite{Messages: list, Replaced: true})
}

// A Rewrite describes changes to a run input.
type Rewrite struct {
	Messages []Message // the new messages of the input, if Replaced is set
	Replaced bool
	NoResume bool // removes the key resume
	// removes the answer in forwardedProps.command and keeps the other keys of command
	NoCommand bool
}

// Rewritten returns the input with the changes in w. All other bytes of the body stay the same. The
// body is copied at most once, and only if it changes.
func (in RunInput) Rewritten(w Rewrite) RunInput {
	var few [3]Edit
	edits := few[:0]
	if w.Replaced {
		in.Messages = w.Messages
		edits = append(edits, Edit{Key: "messages", messages: w.Messages, isList: true})
	}
	if w.NoResume {
		in.HasResume, in.Resume, in.ResumeObject = false, nil, nil
		if View(in.Raw).Get("resume").Exists() {
			edits = append(edits, Edit{Key: "resume", Remove: true})
		}
	}
	if props := in.ForwardedProps; w.NoCommand && in.takeCommand() {
		if len(props) != len(in.ForwardedProps) {
			edits = append(edits, Edit{Key: "forwardedProps", JSON: in.ForwardedProps})
		}
	}
	if len(edits) > 0 {
		in.Raw = SetKeys(in.Raw, edits...)
	}
	return in
}

// WithResume returns the input with a resume array that has these entries.
func (in RunInput) WithResume(entries []ResumeEntry) RunInput {
	list := make([]json.RawMessage, len(entries))
	for n, e := range entries {
		list[n] = MustMarshal(struct {
			ID      string          `json:"interruptId"`
			Status  Status          `json:"status"`
			Payload json.RawMessage `json:"payload,omitempty"`
		}{e.InterruptID, e.Status, e.Payload})
	}
	in.HasResume, in.Resume, in.ResumeObject = true, entries, nil
	in.Raw = SetKey(in.Raw, "resume", List(list))
	return in
}

// takeCommand removes the answer from forwardedProps.command, and reports whether there was an
// answer.
func (in *RunInput) takeCommand() bool {
	if !gjson.GetBytes(in.Command, "resume").Exists() && !gjson.GetBytes(in.Command, "interruptEvent").Exists() {
		return false
	}
	props := DeleteKey(DeleteKey(in.ForwardedProps, "command.resume"), "command.interruptEvent")
	if len(gjson.GetBytes(props, "command").Map()) == 0 {
		props = DeleteKey(props, "command")
	}
	in.ForwardedProps, in.Command = props, nil
	if command := gjson.GetBytes(props, "command"); command.Exists() {
		in.Command = json.RawMessage(command.Raw)
	}
	return true
}

// WithoutResume returns the input without the key resume.
func (in RunInput) WithoutResume() RunInput { return in.Rewritten(Rewrite{NoResume: true}) }

// WithoutCommand returns the input without the answer in forwardedProps.command. It keeps the other
// keys of command.
func (in RunInput) WithoutCommand() RunInput { return in.Rewritten(Rewrite{NoCommand: true}) }

// MessageList returns the JSON array of the messages.
func MessageList(list []Message) json.RawMessage {
	return appendList(nil, list)
}

func appendList(dst []byte, list []Message) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, list[i].JSON...)
	}
	return append(dst, ']')
}

// WithThread returns the input with id as its threadId. All other bytes of the body stay the same.
func (in RunInput) WithThread(id string) RunInput {
	in.ThreadID, in.Raw = id, SetKeys(in.Raw, Edit{Key: "threadId", Text: id})
	return in
}

// WithParentRun returns the input with id as its parentRunId.
func (in RunInput) WithParentRun(id string) RunInput {
	if was := View(in.Raw).Get("parentRunId"); was.Str != id {
		in.Raw = SetKeys(in.Raw, Edit{Key: "parentRunId", Text: id})
	}
	return in
}
