package agui

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// MaxThreadID is the longest threadId taken, in bytes: it goes into keys and log lines.
const MaxThreadID = 512

// A RunInput is a RunAgentInput: the fields that Holdpoint acts on, and the whole as it came.
type RunInput struct {
	Raw             []byte // the body; edits make a new one
	ThreadID, RunID string
	ProtocolVersion string // "" if the client declared none (0.0.59 and older)
	Messages        []Message
	HasResume       bool // a resume array was there, possibly empty
	Resume          []ResumeEntry
	ResumeObject    json.RawMessage // a resume that is an object, as AG-UI's draft and agent-framework before 1.0.0rc8 have it; else nil
	ForwardedProps  json.RawMessage // nil if absent
	Command         json.RawMessage // forwardedProps.command, nil if absent or null
	State           json.RawMessage // nil if absent or null
	Tools           []string        // names of the tools that the request declares: the client's to answer
}

// A ResumeEntry is one entry of the resume array.
type ResumeEntry struct {
	InterruptID string
	Status      Status
	Payload     json.RawMessage // nil for absent and null
}

// An InputError is a run input that is refused with HTTP 400: what is wrong, for the developer at the client.
type InputError struct{ Reason string }

func (e *InputError) Error() string { return "run input: " + e.Reason }

func badInput(format string, args ...any) error {
	return &InputError{fmt.Sprintf(format, args...)}
}

// The keys acted on. In another spelling or twice they are refused: Python backends read thread_id as well as
// threadId (pydantic's populate_by_name) and the last of two equal keys, where gjson takes the first, so that a guess
// could be steered around the contract.
var (
	rootKeys    = keySet("threadId", "runId", "resume", "messages", "forwardedProps", "protocolVersion")
	entryKeys   = keySet("interruptId", "status", "payload")
	objectKeys  = keySet("interruptId", "payload", "interrupts")
	propKeys    = keySet("command", "resume")
	commandKeys = keySet("resume", "interruptEvent")
)

func keySet(names ...string) map[string]string {
	m := make(map[string]string, len(names))
	for _, n := range names {
		m[FoldKey(n)] = n
	}
	return m
}

// FoldKey makes the spellings of a key equal: case and underscores are gone. Case is Unicode's simple folding, by which
// Go's encoding/json matches keys: U+017F is an s to it.
func FoldKey(k string) string {
	return strings.Map(func(c rune) rune {
		if c == '_' {
			return -1
		}
		least := c
		for f := unicode.SimpleFold(c); f != c; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, k)
}

// readKeys reads the named keys of an object, and says which other spelling or which repetition is in it. A key
// written with escapes is another spelling: sjson would not find it and the backend would.
func readKeys(object gjson.Result, keys map[string]string, where string) (map[string]gjson.Result, error) {
	found := make(map[string]gjson.Result, len(keys))
	var err error
	object.ForEach(func(k, v gjson.Result) bool {
		name, known := keys[FoldKey(k.Str)]
		switch {
		case !known:
			return true
		case k.Raw != `"`+name+`"`:
			err = badInput("key %q%s must be spelled %q", Cut(k.Str), where, name)
		default:
			if _, twice := found[name]; twice {
				err = badInput("key %q%s stands twice", name, where)
			}
			found[name] = v
		}
		return err == nil
	})
	return found, err
}

// isRun says whether the object is a run input in any spelling that a backend could read as one.
func isRun(root gjson.Result) bool {
	has := map[string]bool{}
	root.ForEach(func(k, _ gjson.Result) bool {
		has[FoldKey(k.Str)] = true
		return true
	})
	is := func(name string) bool { return has[FoldKey(name)] }
	return is("threadId") && (is("runId") || is("resume")) || is("messages") && (is("resume") || is("forwardedProps"))
}

// ParseInput reads body, which must be valid JSON. ok is false if it is no run: it is none of Holdpoint's business
// then. An error is an *InputError: it is a run, but one that must not be guessed at.
func ParseInput(body []byte) (in RunInput, ok bool, err error) {
	root := gjson.ParseBytes(body)
	if !root.IsObject() || !isRun(root) {
		return RunInput{}, false, nil
	}
	if !utf8.Valid(body) {
		return RunInput{}, true, badInput("the body is not valid UTF-8")
	}
	keys, err := readKeys(root, rootKeys, "")
	if err != nil {
		return RunInput{}, true, err
	}
	in = RunInput{Raw: body}
	if err := in.readIDs(keys); err != nil {
		return RunInput{}, true, err
	}
	if err := in.readMessages(keys["messages"]); err != nil {
		return RunInput{}, true, err
	}
	if err := in.readResume(keys["resume"]); err != nil {
		return RunInput{}, true, err
	}
	if err := in.readProps(keys["forwardedProps"]); err != nil {
		return RunInput{}, true, err
	}
	if s := root.Get("state"); present(s) {
		in.State = json.RawMessage(s.Raw)
	}
	for _, t := range root.Get("tools").Array() {
		in.Tools = append(in.Tools, t.Get("name").Str)
	}
	return in, true, nil
}

func present(v gjson.Result) bool { return v.Exists() && v.Type != gjson.Null }

func (in *RunInput) readIDs(keys map[string]gjson.Result) error {
	thread, run, version := keys["threadId"], keys["runId"], keys["protocolVersion"]
	switch {
	case thread.Type != gjson.String || thread.Str == "":
		return badInput("threadId must be a string")
	case len(thread.Str) > MaxThreadID:
		return badInput("threadId has %d bytes, at most %d are taken", len(thread.Str), MaxThreadID)
	case hasSurrogate(thread):
		return badInput("threadId is not valid UTF-8")
	case run.Type != gjson.String:
		return badInput("runId must be a string")
	case present(version) && version.Type != gjson.String:
		return badInput("protocolVersion must be a string")
	}
	in.ThreadID, in.RunID, in.ProtocolVersion = thread.Str, run.Str, version.Str
	return nil
}

// hasSurrogate says whether a string holds half of a surrogate pair, or a replacement character which such a half
// becomes in Go: two threads that the backend tells apart would then be one here.
func hasSurrogate(s gjson.Result) bool { return strings.ContainsRune(s.Str, utf8.RuneError) }

func (in *RunInput) readMessages(list gjson.Result) error {
	if !present(list) {
		return nil
	}
	if !list.IsArray() {
		return badInput("messages must be an array")
	}
	var err error
	list.ForEach(func(_, m gjson.Result) bool {
		if !m.IsObject() {
			err = badInput("messages[%d] must be an object", len(in.Messages))
			return false
		}
		in.Messages = append(in.Messages, ParseMessage([]byte(m.Raw)))
		return true
	})
	return err
}

func (in *RunInput) readResume(list gjson.Result) error {
	if !present(list) {
		return nil
	}
	if list.IsObject() {
		in.ResumeObject = json.RawMessage(list.Raw)
		_, err := readKeys(list, objectKeys, " in resume")
		return err
	}
	if !list.IsArray() {
		return badInput("resume must be an array of entries")
	}
	in.HasResume = true
	ids := map[string]bool{}
	for i, e := range list.Array() {
		if !e.IsObject() {
			return badInput("resume[%d] must be an object", i)
		}
		keys, err := readKeys(e, entryKeys, fmt.Sprintf(" in resume[%d]", i))
		if err != nil {
			return err
		}
		id, status := keys["interruptId"], Status(keys["status"].Str)
		switch {
		case id.Type != gjson.String || id.Str == "":
			return badInput("resume[%d] has no interruptId", i)
		case ids[id.Str]:
			return badInput("resume[%d] answers interrupt %q a second time", i, Cut(id.Str))
		case status != Resolved && status != Cancelled:
			return badInput("resume[%d].status must be %q or %q", i, Resolved, Cancelled)
		}
		ids[id.Str] = true
		entry := ResumeEntry{InterruptID: id.Str, Status: status}
		if p := keys["payload"]; present(p) {
			entry.Payload = json.RawMessage(p.Raw)
		}
		in.Resume = append(in.Resume, entry)
	}
	return nil
}

func (in *RunInput) readProps(props gjson.Result) error {
	if !present(props) {
		return nil
	}
	in.ForwardedProps = json.RawMessage(props.Raw)
	if !props.IsObject() {
		return nil
	}
	keys, err := readKeys(props, propKeys, " in forwardedProps")
	if err != nil {
		return err
	}
	command := keys["command"]
	if !present(command) {
		return nil
	}
	in.Command = json.RawMessage(command.Raw)
	if command.IsObject() {
		_, err = readKeys(command, commandKeys, " in forwardedProps.command")
	}
	return err
}

// CommandResume is the answer in forwardedProps.command.resume. null is not an answer: CopilotKit sends it by mistake
// (CopilotKit issue 1693).
func (in RunInput) CommandResume() (json.RawMessage, bool) {
	v := gjson.GetBytes(in.Command, "resume")
	if !present(v) {
		return nil, false
	}
	return json.RawMessage(v.Raw), true
}

// InterruptEvent is forwardedProps.command.interruptEvent, the value of the CUSTOM event that a CopilotKit client
// answers; nil if absent.
func (in RunInput) InterruptEvent() json.RawMessage {
	if v := gjson.GetBytes(in.Command, "interruptEvent"); present(v) {
		return json.RawMessage(v.Raw)
	}
	return nil
}

// NamedIDs are the interrupt ids that the request may name, in whatever form: of its resume entries or its resume
// object, the keys of an id map in command.resume, and the ids inside an echoed interruptEvent that Holdpoint made.
func (in RunInput) NamedIDs() []string {
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

// objectIDs are the ids in a resume object: {interruptId} of the draft, {interrupts:[{id}]} of agent-framework.
func (in RunInput) objectIDs() []string {
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

// EchoedIDs are the interrupt ids inside an echoed interruptEvent: the CUSTOM event that Holdpoint makes for clients that
// know no other form holds the Interrupt, or {"interrupts":[..]}, as JSON text.
func (in RunInput) EchoedIDs() []string {
	event := gjson.ParseBytes(in.InterruptEvent())
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

// Declares says whether the request declares the tool, which makes a call of it the client's to answer.
func (in RunInput) Declares(tool string) bool {
	for _, t := range in.Tools {
		if t == tool {
			return true
		}
	}
	return false
}

// WithMessages is the input with another list of messages, every other key byte for byte.
func (in RunInput) WithMessages(list []Message) RunInput {
	in.Messages = list
	in.Raw = SetKey(in.Raw, "messages", MessageList(list))
	return in
}

// WithoutResume is the input without the key resume.
func (in RunInput) WithoutResume() RunInput {
	in.HasResume, in.Resume, in.ResumeObject = false, nil, nil
	in.Raw = DeleteKey(in.Raw, "resume")
	return in
}

// WithoutCommand is the input without an answer in forwardedProps.command; other keys of command stay.
func (in RunInput) WithoutCommand() RunInput {
	if !gjson.GetBytes(in.Command, "resume").Exists() && !gjson.GetBytes(in.Command, "interruptEvent").Exists() {
		return in
	}
	in.Raw = DeleteKey(in.Raw, "forwardedProps.command.resume")
	in.Raw = DeleteKey(in.Raw, "forwardedProps.command.interruptEvent")
	if len(gjson.GetBytes(in.Raw, "forwardedProps.command").Map()) == 0 {
		in.Raw = DeleteKey(in.Raw, "forwardedProps.command")
	}
	props := gjson.GetBytes(in.Raw, "forwardedProps")
	in.ForwardedProps, in.Command = json.RawMessage(props.Raw), nil
	if command := props.Get("command"); command.Exists() {
		in.Command = json.RawMessage(command.Raw)
	}
	return in
}
