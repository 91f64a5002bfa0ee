package proxy_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// lint checks a stream against what clients of all versions require. It follows the protocol's
// specification and does not use internal/agui. So a mistake in internal/agui cannot hide itself.
func lint(stream []byte) (complaints []string) {
	l := linter{open: map[string]bool{}}
	frames, rest := split(string(stream))
	if rest != "" {
		l.complain("the stream ends within a frame: %q", rest)
	}
	for _, f := range frames {
		if strings.Contains(f, "\r") {
			l.complain("a CR goes out: %q", f)
		}
		if data, ok := dataOf(f); ok {
			l.event(data)
		}
	}
	if l.terminal == "" {
		l.complain("no terminal event")
	}
	return l.complaints
}

// split cuts a stream into frames, each with its blank line. rest is what follows the last blank
// line.
func split(stream string) (frames []string, rest string) {
	for {
		i := strings.Index(stream, "\n\n")
		if i < 0 {
			return frames, stream
		}
		frames, stream = append(frames, stream[:i+2]), stream[i+2:]
	}
}

// dataOf returns the data of a frame. It reads the frame as the oldest client does (@ag-ui/client
// 0.0.42), which requires a space after the colon.
func dataOf(frame string) (string, bool) {
	var lines []string
	for line := range strings.Lines(frame) {
		if v, ok := strings.CutPrefix(line, "data: "); ok {
			lines = append(lines, strings.TrimSuffix(v, "\n"))
		}
	}
	return strings.Join(lines, "\n"), lines != nil
}

type linter struct {
	complaints []string
	began      bool
	terminal   string // the type of the last event, if that ended the run
	open       map[string]bool
}

func (l *linter) complain(format string, args ...any) {
	l.complaints = append(l.complaints, fmt.Sprintf(format, args...))
}

// required has, for each event type of AG-UI, the members that must be strings (agui-protocol.md,
// section 2.1). Clients up to 0.0.59 fail at an event of any other type.
var required = map[string]string{
	"RUN_STARTED": "threadId runId", "RUN_FINISHED": "threadId runId", "RUN_ERROR": "message",
	"STEP_STARTED": "stepName", "STEP_FINISHED": "stepName",
	"TEXT_MESSAGE_START": "messageId", "TEXT_MESSAGE_CONTENT": "messageId delta", "TEXT_MESSAGE_END": "messageId", "TEXT_MESSAGE_CHUNK": "",
	"TOOL_CALL_START": "toolCallId toolCallName", "TOOL_CALL_ARGS": "toolCallId delta", "TOOL_CALL_END": "toolCallId", "TOOL_CALL_CHUNK": "",
	"TOOL_CALL_RESULT": "messageId toolCallId",
	"STATE_SNAPSHOT":   "", "STATE_DELTA": "", "MESSAGES_SNAPSHOT": "", "RAW": "", "CUSTOM": "name",
	"ACTIVITY_SNAPSHOT": "messageId activityType", "ACTIVITY_DELTA": "messageId activityType",
	"REASONING_START": "messageId", "REASONING_END": "messageId",
	"REASONING_MESSAGE_START": "messageId role", "REASONING_MESSAGE_CONTENT": "messageId delta", "REASONING_MESSAGE_END": "messageId",
	"REASONING_MESSAGE_CHUNK": "", "REASONING_ENCRYPTED_VALUE": "subtype entityId encryptedValue",
	"SUBAGENT_STARTED": "subagentRunId name", "SUBAGENT_FINISHED": "subagentRunId", "SUBAGENT_ERROR": "subagentRunId message",
}

// pairs lists the events that must be closed before RUN_FINISHED. An event of the type begin and an
// event of the type end belong together if they have the same value in the member key.
var pairs = []struct{ begin, end, key string }{
	{"TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "messageId"},
	{"TOOL_CALL_START", "TOOL_CALL_END", "toolCallId"},
	{"STEP_STARTED", "STEP_FINISHED", "stepName"},
	{"REASONING_START", "REASONING_END", "messageId"},
	{"REASONING_MESSAGE_START", "REASONING_MESSAGE_END", "messageId"},
	{"SUBAGENT_STARTED", "SUBAGENT_FINISHED", "subagentRunId"},
}

func (l *linter) event(data string) {
	ev := gjson.Parse(data)
	kind := ev.Get("type").Str
	keys, known := required[kind]
	if !gjson.Valid(data) || !ev.IsObject() || !known {
		l.complain("no AG-UI event: %s", data)
		return
	}
	for _, k := range strings.Fields(keys) {
		if ev.Get(k).Type != gjson.String {
			l.complain("%s without %s: %s", kind, k, data)
		}
	}
	switch {
	case !l.began && kind != "RUN_STARTED" && kind != "RUN_ERROR":
		l.complain("the first event is %s", kind)
	case l.began && kind == "RUN_STARTED" && l.terminal == "":
		l.complain("a run begins within a run")
	case l.terminal == "RUN_ERROR" && kind != "RUN_STARTED":
		l.complain("%s after RUN_ERROR", kind)
	case l.terminal == "RUN_FINISHED" && kind != "RUN_STARTED" && kind != "RUN_ERROR":
		l.complain("%s after RUN_FINISHED", kind)
	}
	l.began, l.terminal = true, ""
	for _, p := range pairs {
		name := p.end + " " + ev.Get(p.key).Str
		switch kind {
		case p.begin:
			if l.open[name] {
				l.complain("%s begins twice", name)
			}
			l.open[name] = true
		case p.end:
			if !l.open[name] {
				l.complain("%s was not begun", name)
			}
			delete(l.open, name)
		}
	}
	switch kind {
	case "RUN_FINISHED":
		l.terminal = kind
		if len(l.open) > 0 {
			l.complain("RUN_FINISHED with %v open", l.open)
		}
		l.outcome(ev)
	case "RUN_ERROR":
		l.terminal = kind
		clear(l.open)
	}
}

// outcome checks RUN_FINISHED.outcome as the strictest clients do (0.0.54 to 0.0.59).
func (l *linter) outcome(ev gjson.Result) {
	outcome := ev.Get("outcome")
	if outcome.Get("type").Str != "interrupt" {
		return
	}
	list := outcome.Get("interrupts").Array()
	if len(list) == 0 {
		l.complain("an interrupt outcome without interrupts: %s", outcome.Raw)
	}
	ids := map[string]bool{}
	for _, i := range list {
		id := i.Get("id").Str
		if id == "" || i.Get("reason").Type != gjson.String || ids[id] {
			l.complain("an interrupt without id or reason, or with an id twice: %s", i.Raw)
		}
		ids[id] = true
		i.ForEach(func(k, v gjson.Result) bool {
			switch {
			case v.Type == gjson.Null:
				l.complain("null in an interrupt: %s", k.Str)
			case (k.Str == "responseSchema" || k.Str == "metadata") && !v.IsObject():
				l.complain("%s is no object: %s", k.Str, i.Raw)
			case i.Get("reason").Str == "tool_call" && i.Get("toolCallId").Str == "":
				l.complain("reason tool_call without toolCallId: %s", i.Raw)
			}
			return true
		})
	}
}

// sanctioned are the keys of a run input whose values Holdpoint may change. The backend must get
// the values of all other keys byte for byte.
var sanctioned = []string{"resume", "messages", "forwardedProps", "protocolVersion"}

// approval matches a yes that a client or Holdpoint writes. yesInText matches a yes in JSON that is
// within a text. short matches the short form of a yes, which only clients use.
var (
	approval  = regexp.MustCompile(`"(approved|accepted)"\s*:\s*true|"type"\s*:\s*"(approve|accept|edit)"`)
	yesInText = regexp.MustCompile(`(approved|accepted)\\"\s*:\s*true`)
	short     = regexp.MustCompile(`"(payload|resume)"\s*:\s*true`)
)

// lintRequests compares the requests that the backend got (sent) with the client's request. free
// has the ids of the calls that need no approval. more has further keys whose values may change.
func lintRequests(request []byte, sent [][]byte, free map[string]bool, more ...string) (complaints []string) {
	complain := func(format string, args ...any) {
		complaints = append(complaints, "to the backend: "+fmt.Sprintf(format, args...))
	}
	for n, body := range sent {
		if n == 1 { // the first exchange may have changed the state
			more = append(slices.Clone(more), "state")
		}
		in, out := gjson.ParseBytes(request), gjson.ParseBytes(body)
		kept := func(in, out gjson.Result, but ...string) {
			in.ForEach(func(k, v gjson.Result) bool {
				if !slices.Contains(but, k.Str) && compacted(member(out, k.Str).Raw) != compacted(v.Raw) {
					complain("%s is not as the client sent it: %s", k.Str, member(out, k.Str).Raw)
				}
				return true
			})
			out.ForEach(func(k, _ gjson.Result) bool {
				if !slices.Contains(but, k.Str) && !member(in, k.Str).Exists() {
					complain("the client did not send %s", k.Str)
				}
				return true
			})
		}
		kept(in, out, append(more, sanctioned...)...)
		kept(in.Get("forwardedProps"), out.Get("forwardedProps"), "command", "resume")
		kept(in.Get("forwardedProps.command"), out.Get("forwardedProps.command"), "resume", "interruptEvent")
		// The request to the backend must not contain more approvals than the client's request.
		answers := func(v gjson.Result, yes *regexp.Regexp) int {
			return len(yes.FindAllString(v.Get("resume").Raw+v.Get("forwardedProps.command").Raw+v.Get("forwardedProps.resume").Raw, -1))
		}
		// Microsoft's backends read answers from the messages. The backend's messages must not
		// contain more approvals than the client gave.
		inMessages := func(v gjson.Result) int {
			raw := v.Get("messages").Raw
			return len(yesInText.FindAllString(raw, -1)) + len(approval.FindAllString(raw, -1))
		}
		if inMessages(out) > inMessages(in)+answers(in, approval)+answers(in, short) {
			complain("an approval in the messages that the client did not give:\n%s", body)
		}
		unasked := 0
		for _, e := range out.Get("resume").Array() {
			if free[e.Get("payload.toolCall.callId").Str] {
				unasked += len(approval.FindAllString(e.Raw, -1))
			}
		}
		if answers(out, approval) > answers(in, approval)+answers(in, short)+inMessages(in)+unasked {
			complain("an approval that the client did not give:\n%s", body)
		}
	}
	return complaints
}

// free returns the ids of the calls of which the backend said in an earlier turn that they need no
// approval. AGUI.Server runs such a call only if it is approved together with the other calls of
// its batch.
func (s scenario) free(turn int) map[string]bool {
	calls := map[string]bool{}
	for earlier := 1; earlier < turn; earlier++ {
		for _, f := range backendFrames(s, earlier) {
			for _, c := range gjson.Get(f.data, "rawEvent.contents").Array() {
				if c.Get("requiresConfirmation").Type == gjson.False {
					calls[c.Get("toolCall.callId").Str] = true
				}
			}
		}
	}
	return calls
}

// member returns the member of an object that has this key. It uses no path of gjson, because the
// key may contain dots.
func member(object gjson.Result, key string) (found gjson.Result) {
	object.ForEach(func(k, v gjson.Result) bool {
		if k.Str == key {
			found = v
		}
		return true
	})
	return found
}

// compacted returns JSON without the white space between its tokens.
func compacted(raw string) string {
	return gjson.Get(raw, "@ugly").Raw
}
