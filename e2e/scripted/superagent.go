package scripted

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Superagent is a superagent server (superagent-base, 0.4.0 and later), written from its source
// and its documentation. It asks when the response of its model contains a confirmation phrase. It
// stores one question for each session, and accepts one answer to it. The query parameter `wire` of
// a request selects the form of the stream (see Wires).
//
// The model gets a sentence that is made of the answer's fields. For an answer without input the
// sentence is "User confirmed: yes, please proceed." The model carries out the action unless the
// sentence contains "false".
//
//	plain ...      repeats the message
//	approve A      asks with a confirm field
//	brief A        the same, but the question has expired at once
//	city           asks for a text
//	trip A         asks for a text, a select and a confirm field
//	twice A        the same as approve A; the response after the answer contains a phrase again
//	loop A         asks as a TurnLoop agent does: without fields, and without storing the question
//	work           thinks and calls a tool
//	fail           fails after a few words
type Superagent struct {
	*Ledger
	mux   http.ServeMux
	mu    sync.Mutex
	asked map[string]*pending // by session
}

// Wires are the forms of a stream. "a2ui" and "tokens" were observed: a request with X-A2UI gets
// "a2ui", and any other request gets "tokens". The next two are the same forms as documented.
// "unnamed" is A2UI without event names.
var Wires = []string{"a2ui", "tokens", "documented-a2ui", "documented-tokens", "unnamed"}

// A pending is an open question of a session.
type pending struct {
	State   superState
	what    string
	again   bool
	expired bool
}

type superState struct {
	SessionID    string       `json:"session_id"`
	AgentName    string       `json:"agent_name"`
	Reason       string       `json:"reason"`
	Fields       []superField `json:"fields,omitempty"`
	Timestamp    int64        `json:"timestamp"`
	CheckpointID string       `json:"checkpoint_id"`
}

type superField struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Label    string   `json:"label"`
	Required bool     `json:"required"`
	Options  []string `json:"options,omitempty"`
}

var (
	confirmField = superField{Name: "confirm", Type: "confirm", Label: "Confirm action", Required: true}
	cityField    = superField{Name: "city", Type: "text", Label: "City", Required: true}
	sizeField    = superField{Name: "size", Type: "select", Label: "Size", Options: []string{"S", "M"}}
)

// superagentName is the name of the only agent of the server.
const superagentName = "approver"

// NewSuperagent returns a Superagent.
func NewSuperagent(l *Ledger) *Superagent {
	s := &Superagent{Ledger: l, asked: map[string]*pending{}}
	s.mux.HandleFunc("POST /api/v1/chat/stream", s.stream)
	s.mux.HandleFunc("POST /api/v1/chat/resume", s.resume)
	s.mux.HandleFunc("GET /api/v1/chat/interrupt_state", s.state)
	s.mux.HandleFunc("GET /api/v1/agents", func(w http.ResponseWriter, _ *http.Request) {
		w.Write(text(obj("agents", []object{obj("name", superagentName, "description", "")})))
	})
	s.mux.HandleFunc("POST /api/v1/chat/abort", func(w http.ResponseWriter, _ *http.Request) {
		w.Write(text(obj("status", "no_active_loop")))
	})
	return s
}

// ServeHTTP implements http.Handler.
func (s *Superagent) ServeHTTP(w http.ResponseWriter, req *http.Request) { s.mux.ServeHTTP(w, req) }

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	w.Write(text(obj("error", why)))
}

// stream handles /chat/stream.
func (s *Superagent) stream(w http.ResponseWriter, req *http.Request) {
	var in struct {
		AgentID   string `json:"agent_id"`
		SessionID string `json:"session_id"`
		Message   string `json:"message"`
	}
	body, _ := io.ReadAll(req.Body)
	switch {
	case json.Unmarshal(body, &in) != nil || in.Message == "":
		refuse(w, http.StatusBadRequest, "message is required")
		return
	case in.AgentID != superagentName:
		refuse(w, http.StatusNotFound, "agent not found: "+in.AgentID)
		return
	case in.SessionID == "":
		in.SessionID = "default"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Ledger.asked(in.SessionID, body)
	wire := req.URL.Query().Get("wire")
	a2ui := req.Header.Get("X-A2UI") == "true" || req.URL.Query().Get("a2ui") == "true"
	out := &superStream{w: w, wire: wire, a2ui: a2ui && !strings.HasSuffix(wire, "tokens")}
	words := strings.Fields(in.Message)
	arg := strings.Join(words[1:], " ")
	var fields []superField
	reason := fmt.Sprintf("I am about to approve %s.\nDo you confirm?", arg)
	switch words[0] {
	case "approve", "brief", "twice":
		fields = []superField{confirmField}
	case "city":
		reason, fields = "Please confirm the city.", []superField{cityField}
	case "trip":
		fields = []superField{cityField, sizeField, confirmField}
	case "loop":
		reason = "Agent requested confirmation before proceeding."
	case "work":
		out.send("thinking", obj("content", "", "delta", "I have to look."))
		out.send("tool_call", obj("id", "call_1", "name", "look", "arguments", `{"at":"it"}`, "status", "calling"))
		out.send("tool_result", obj("id", "call_1", "name", "look", "result", "seen", "is_error", false))
		out.say("It is there.")
		out.done()
		return
	case "fail":
		out.say("Let me", "[error] kaput")
		out.done()
		return
	default:
		out.say("echo:", " "+in.Message)
		out.done()
		return
	}
	now := time.Now()
	p := &pending{what: arg, again: words[0] == "twice", expired: words[0] == "brief"}
	p.State = superState{in.SessionID, superagentName, reason, fields, now.Unix(), fmt.Sprintf("%s_%s_%d", superagentName, in.SessionID, now.UnixNano())}
	if words[0] == "loop" {
		p.State.CheckpointID = ""
	} else {
		s.asked[in.SessionID] = p
	}
	out.interrupt(p.State)
}

// resume handles /chat/resume.
func (s *Superagent) resume(w http.ResponseWriter, req *http.Request) {
	var in struct {
		AgentID   string         `json:"agent_id"`
		SessionID string         `json:"session_id"`
		Input     map[string]any `json:"input"`
	}
	body, _ := io.ReadAll(req.Body)
	switch {
	case json.Unmarshal(body, &in) != nil || in.AgentID == "" || in.SessionID == "":
		refuse(w, http.StatusBadRequest, "agent_id and session_id are required")
		return
	case in.AgentID != superagentName:
		refuse(w, http.StatusNotFound, "agent not found: "+in.AgentID)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Ledger.asked(in.SessionID, body)
	p := s.asked[in.SessionID]
	delete(s.asked, in.SessionID)
	if p == nil || p.expired {
		refuse(w, http.StatusConflict, "no pending interrupt for session: "+in.SessionID)
		return
	}
	out := &superStream{w: w, wire: req.URL.Query().Get("wire")} // resume ignores the header X-A2UI
	told := p.told(in.Input)
	if len(in.Input) == 0 {
		s.complain(in.SessionID, "an answer without input: "+string(body))
	}
	if strings.Contains(told, ": false") {
		out.say("Done: ", p.what+" not approved")
	} else {
		s.execute(in.SessionID, strings.TrimSpace(p.what+" "+strings.TrimPrefix(told, "User response: Confirm action: true. Please proceed.")))
		out.say("Done: ", p.what+" approved")
	}
	if p.again {
		out.say("\n", "Are you sure about the rest?")
	}
	out.done()
}

// told returns the sentence that the model gets for an answer.
func (p *pending) told(input map[string]any) string {
	if len(input) == 0 {
		return "User confirmed: yes, please proceed."
	}
	var parts []string
	for _, f := range p.State.Fields {
		if v, ok := input[f.Name]; ok {
			parts = append(parts, fmt.Sprintf("%s: %v", f.Label, v))
		}
	}
	if len(parts) == 0 {
		for k, v := range input {
			parts = append(parts, fmt.Sprintf("%s: %v", k, v))
		}
		slices.Sort(parts)
	}
	return "User response: " + strings.Join(parts, "; ") + ". Please proceed."
}

// state handles /chat/interrupt_state.
func (s *Superagent) state(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if p := s.asked[req.URL.Query().Get("session_id")]; p != nil && !p.expired {
		w.Write(text(obj("interrupted", true, "state", p.State)))
		return
	}
	w.Write(text(obj("interrupted", false)))
}

// A superStream is a response in one of the forms that Wires lists.
type superStream struct {
	w    http.ResponseWriter
	wire string
	a2ui bool
}

func (s *superStream) documented() bool { return strings.HasPrefix(s.wire, "documented") }

// frame writes a frame as the server's writer does: one data line for each line of data, and no
// data line if data is empty. A newline at the end of data is dropped.
func (s *superStream) frame(name, data string) {
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("Cache-Control", "no-cache")
	var b strings.Builder
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	for len(data) > 0 {
		line, rest, _ := strings.Cut(data, "\n")
		b.WriteString("data: " + line + "\n")
		data = rest
	}
	b.WriteString("\n")
	s.w.Write([]byte(b.String()))
	s.w.(http.Flusher).Flush()
}

func (s *superStream) token(t string) {
	if s.documented() || s.wire == "unnamed" {
		s.frame("", t)
	} else {
		s.frame("message", t)
	}
}

// send writes an A2UI event. If the stream has the form of tokens, send does nothing.
func (s *superStream) send(kind string, data any) {
	if !s.a2ui {
		return
	}
	name := kind
	if s.wire == "unnamed" {
		name = ""
	}
	s.frame(name, string(text(obj("type", kind, "timestamp", time.Now().UnixMilli(), "data", data))))
}

func (s *superStream) say(parts ...string) {
	for _, p := range parts {
		if s.a2ui && s.wire != "unnamed" {
			s.send("text", obj("content", "", "delta", p))
		} else {
			s.token(p)
		}
	}
}

func (s *superStream) done() {
	if s.a2ui && s.wire != "unnamed" {
		s.send("done", nil)
	} else {
		s.token("[DONE]")
	}
}

// interrupt sends the question and ends the stream.
func (s *superStream) interrupt(state superState) {
	encoded := string(text(state))
	switch {
	case s.a2ui && s.documented():
		fields := state.Fields
		if fields == nil {
			fields = []superField{}
		}
		s.send("interrupt", obj("reason", state.Reason, "fields", fields))
	case s.a2ui:
		// The server's converter gets the state as text and does not parse it.
		s.send("interrupt", obj("reason", encoded, "fields", []superField{{Name: "response", Type: "text", Label: "Your response", Required: true}}))
	case s.documented():
		for _, word := range strings.SplitAfter(strings.ReplaceAll(state.Reason, "\n", " "), " ") {
			s.token(word)
		}
		s.token(`\x00INTERRUPT:` + encoded)
		return // nothing follows the question
	default:
		s.token("\x00INTERRUPT:" + encoded)
	}
	s.done()
}
