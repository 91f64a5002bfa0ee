package demo

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// A backend is a scripted LangGraph agent served by @ag-ui/langgraph 0.0.43, with the adapter's
// default options and LangChain's middleware for human approval. Its model wants to send an email,
// and a step waits for approval first. Its frames are those of a recorded run of that adapter, with
// most RAW events left out. It keeps the state of its threads, and acts on the decisions that it
// gets.
type backend struct {
	mu        sync.Mutex
	threads   map[string]*thread
	exchanges []*exchange
	onSend    func(args json.RawMessage) // called for every email that is sent; may be nil
}

// A thread is the state of a conversation that LangGraph's checkpointer would keep.
type thread struct {
	messages       []message
	pending        *call // the call that waits for approval, or nil
	interruptCount int   // number of interrupts so far
	sentEmails     []json.RawMessage
}

// A call is the model's tool call that waits for approval.
type call struct {
	id, interrupt string
	args          json.RawMessage
}

// An exchange is one request as it reached the backend, with the frames of the answer.
type exchange struct {
	body   []byte
	frames []string
}

const tool = "send_email"

func newBackend() *backend { return &backend{threads: map[string]*thread{}} }

// exchangesSince returns all exchanges except the first n.
func (b *backend) exchangesSince(n int) []*exchange {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]*exchange(nil), b.exchanges[n:]...)
}

// sentEmails returns the arguments of every email that was sent on a thread.
func (b *backend) sentEmails(threadID string) []json.RawMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.threads[threadID]; t != nil {
		return append([]json.RawMessage(nil), t.sentEmails...)
	}
	return nil
}

// ServeHTTP answers one run. It holds a lock, so runs follow one another, and script needs no lock.
func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || !agui.ValidJSON(body) {
		http.Error(w, "want a RunAgentInput", http.StatusUnprocessableEntity)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e := &exchange{body: body}
	b.exchanges = append(b.exchanges, e)
	in := gjson.ParseBytes(body)
	t := b.threads[in.Get("threadId").Str]
	if t == nil {
		t = &thread{}
		b.threads[in.Get("threadId").Str] = t
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	(&script{thread: t, input: in, onSend: b.onSend, emit: func(frame string) {
		e.frames = append(e.frames, frame)
		fmt.Fprintf(w, "data: %s\n\n", frame)
		http.NewResponseController(w).Flush()
	}}).run()
}

// A script is one run of the graph.
type script struct {
	*thread
	input  gjson.Result
	onSend func(args json.RawMessage)
	emit   func(frame string)
}

// run does what LangGraph does with a run: it continues with the client's answer, asks the open
// question again, or begins at the start. The answer is the payload of the only entry of resume,
// or, without resume, command.resume. If the answer is a map with interrupt ids as keys, it must
// have the id of the open interrupt; otherwise the question is asked again.
func (s *script) run() {
	s.event("RUN_STARTED", "threadId", s.input.Get("threadId").Str, "runId", s.input.Get("runId").Str)
	answer, given := s.input.Get("forwardedProps.command.resume"), false
	entries := s.input.Get("resume").Array()
	if len(entries) > 0 {
		answer, given = payloadOf(entries), true
	}
	runID := s.input.Get("runId").Str
	switch {
	case s.pending != nil && (given || answer.Exists()):
		runID = s.serverRunID()
		value, ok := inIDMap(answer, s.pending.interrupt)
		switch {
		case ok:
			s.resume(value)
		case given && !isIDMap(answer):
			s.resume(answer)
		default:
			s.interrupt()
		}
	// no answer: LangGraph asks the same question again, without snapshots, even if there is a new
	// message
	case s.pending != nil:
		s.interrupt()
	case given || answer.Exists(): // an answer, but no open question: LangGraph does nothing
	default:
		runID = s.serverRunID()
		s.ask()
	}
	// The adapter ends a run with the run id of the LangGraph server, not with the client's run id.
	s.event("RUN_FINISHED", "threadId", s.input.Get("threadId").Str, "runId", runID)
}

// payloadOf returns the value to which the adapter converts the resume array. A cancelled entry, or
// more than one entry, becomes an object that no graph understands.
func payloadOf(entries []gjson.Result) gjson.Result {
	if len(entries) != 1 || entries[0].Get("status").Str != "resolved" {
		return gjson.Parse(`{"__agui_cancelled__":true}`)
	}
	return entries[0].Get("payload")
}

var nativeID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// inIDMap returns the value for the interrupt id if the answer is a map of ids: an object whose
// keys are all interrupt ids. ok is false if the answer is not such a map, or lacks the id.
func inIDMap(answer gjson.Result, id string) (value gjson.Result, ok bool) {
	if !isIDMap(answer) {
		return value, false
	}
	answer.ForEach(func(k, v gjson.Result) bool {
		if k.Str == id {
			value, ok = v, true
		}
		return !ok
	})
	return value, ok
}

func isIDMap(answer gjson.Result) bool {
	isMap := answer.IsObject()
	answer.ForEach(func(k, _ gjson.Result) bool {
		isMap = isMap && nativeID.MatchString(k.Str)
		return isMap
	})
	return isMap
}

// ask runs the graph from its start to the pause: the model calls the tool, and the step "approve"
// interrupts.
func (s *script) ask() {
	s.addMessages()
	s.interruptCount++
	s.pending = &call{
		id:        fmt.Sprintf("call_%d", s.interruptCount),
		interrupt: fmt.Sprintf("%.16x", sha256.Sum256([]byte(s.input.Get("threadId").Str+fmt.Sprint(s.interruptCount)))),
		args:      json.RawMessage(`{"to":"bob@example.org","subject":"Report","body":"All is well."}`),
	}
	ai := message{id: fmt.Sprintf("ai-%d", len(s.messages)+1), kind: "ai", call: s.pending}

	s.event("STEP_STARTED", "stepName", "model")
	s.event("STATE_SNAPSHOT", "snapshot", object(), "rawEvent", s.raw("on_chain_start", "model"))
	s.event("RAW", "event", s.raw("on_chat_model_start", "ScriptModel"))
	streamed := s.raw("on_chat_model_stream", "ScriptModel")
	s.event("TOOL_CALL_START", "toolCallId", s.pending.id, "toolCallName", tool, "parentMessageId", ai.id, "rawEvent", streamed)
	for _, delta := range chunks(string(s.pending.args), 30) {
		s.event("RAW", "event", streamed)
		s.event("TOOL_CALL_ARGS", "toolCallId", s.pending.id, "delta", delta, "rawEvent", streamed)
	}
	s.event("TOOL_CALL_END", "toolCallId", s.pending.id, "rawEvent", s.raw("on_chat_model_end", "ScriptModel"))
	s.messages = append(s.messages, ai)
	s.event("STEP_FINISHED", "stepName", "model")
	s.event("STEP_STARTED", "stepName", "approve")
	s.event("RAW", "event", s.raw("on_chain_start", "approve"))
	s.event("STEP_FINISHED", "stepName", "approve")
	s.snapshots()
	s.interrupt()
}

// interrupt announces the open question in a CUSTOM event.
func (s *script) interrupt() {
	value := object(
		"actionRequests", []json.RawMessage{object("name", tool, "args", s.pending.args, "description", "Tool execution requires approval")},
		"reviewConfigs", []json.RawMessage{object("actionName", tool, "allowedDecisions", []string{"approve", "edit", "reject"})},
	)
	s.event("CUSTOM", "name", "on_interrupt", "value", string(value), "rawEvent", object("id", s.pending.interrupt, "value", value))
}

// resume continues the graph from the pause to its end. value has the decision for the middleware.
func (s *script) resume(value gjson.Result) {
	decisions := value.Get("decisions").Array()
	if len(decisions) != 1 {
		// LangGraph's middleware throws here, and then throws again in every later run of the
		// thread. Holdpoint must never send such an answer.
		s.event("RUN_ERROR", "message", fmt.Sprintf("Number of human decisions (%d) does not match number of hanging tool calls (1).", len(decisions)))
		return
	}
	done, decision := s.pending, decisions[0]
	s.pending = nil
	args, result := done.args, ""
	switch decision.Get("type").Str {
	case "approve":
		result = s.send(args)
	case "edit":
		args = json.RawMessage(decision.Get("editedAction.args").Raw)
		result = s.send(args)
	default:
		result = "User rejected the tool call for `" + tool + "` with reason: " + decision.Get("message").Str
	}
	s.event("STEP_STARTED", "stepName", "approve")
	s.event("STATE_SNAPSHOT", "snapshot", object(), "rawEvent", s.raw("on_chain_start", "approve"))
	s.event("RAW", "event", s.raw("on_chain_end", "approve"))
	s.messages = append(s.messages, message{id: fmt.Sprintf("tool-%d", len(s.messages)+1), kind: "tool", content: result, callID: done.id})
	s.event("STEP_FINISHED", "stepName", "approve")
	s.event("STEP_STARTED", "stepName", "model")
	s.sendText(result)
	s.event("STEP_FINISHED", "stepName", "model")
	s.snapshots()
}

// send stands for the side effect of the tool, and returns the tool's result. It must run only
// once, and only if a person approved the call.
func (s *script) send(args json.RawMessage) string {
	s.sentEmails = append(s.sentEmails, args)
	if s.onSend != nil {
		s.onSend(args)
	}
	return "Sent to " + gjson.GetBytes(args, "to").Str + "."
}

// sendText streams a text as the model's message.
func (s *script) sendText(text string) {
	ai := message{id: fmt.Sprintf("ai-%d", len(s.messages)+1), kind: "ai", content: text}
	streamed := s.raw("on_chat_model_stream", "ScriptModel")
	s.event("TEXT_MESSAGE_START", "role", "assistant", "messageId", ai.id, "rawEvent", streamed)
	for _, delta := range chunks(text, 24) {
		s.event("TEXT_MESSAGE_CONTENT", "messageId", ai.id, "delta", delta, "rawEvent", streamed)
		s.event("RAW", "event", streamed)
	}
	s.event("TEXT_MESSAGE_END", "messageId", ai.id, "rawEvent", s.raw("on_chat_model_end", "ScriptModel"))
	s.messages = append(s.messages, ai)
}

// event emits an event of the type kind. members has the names and values of its members in turn,
// in order.
func (s *script) event(kind string, members ...any) {
	s.emit(string(object(append([]any{"type", kind}, members...)...)))
}

// chunks cuts text into the pieces that a model would stream, each of at most size bytes.
func chunks(text string, size int) []string {
	var list []string
	for text != "" {
		n := min(size, len(text))
		list, text = append(list, strings.ToValidUTF8(text[:n], "")), text[n:]
	}
	return list
}
