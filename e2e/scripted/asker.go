package scripted

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// An Asker is a small backend that sends the interrupt outcome. It can end its runs in ways that a
// real backend cannot be made to. The person's last message selects what it does:
//
//	plain ..    it repeats the message
//	go          it asks one question, and counts approvals
//	go call     the same, but the question is about a tool call that is in the stream
//	go slow     the same as go, but it asks when the gate of its thread is open
//	go both     it asks two questions at the same time
//	go again    it asks one question, and after the answer another one
//	go mad      it asks more questions than a run may ask
type Asker struct {
	mu      sync.Mutex
	threads map[string]*asked
	said    int // number of messages so far, for their ids
	spoil   Spoiler
}

// A Spoiler writes the response to a resume, instead of the complete stream that the Asker would
// send. That stream is in the parameter stream. A Spoiler is called after all approved actions have
// run.
type Spoiler func(w http.ResponseWriter, r *http.Request, stream []byte)

// Spoil sets the Spoiler for all later responses to a resume. Spoil(nil) removes it.
func (a *Asker) Spoil(with Spoiler) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spoil = with
}

type asked struct {
	scene     string
	questions int // number of questions so far
	done      int // how often an action ran
	arrived   chan struct{}
	gate      chan struct{}
}

func (a *Asker) of(thread string) *asked {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.threads == nil {
		a.threads = map[string]*asked{}
	}
	one := a.threads[thread]
	if one == nil {
		one = &asked{arrived: make(chan struct{}), gate: make(chan struct{})}
		a.threads[thread] = one
	}
	return one
}

// Did returns how often an action ran on a thread.
func (a *Asker) Did(thread string) int {
	one := a.of(thread)
	a.mu.Lock()
	defer a.mu.Unlock()
	return one.done
}

// Arrived returns a channel that is closed when a run of thread has reached the gate. The run waits
// there until Open is called.
func (a *Asker) Arrived(thread string) <-chan struct{} { return a.of(thread).arrived }

// Open opens the gate of thread. It may be called once for each thread.
func (a *Asker) Open(thread string) { close(a.of(thread).gate) }

// Wait waits until the gate of thread is open. A Spoiler may call it.
func (a *Asker) Wait(thread string) {
	one := a.of(thread)
	close(one.arrived)
	<-one.gate
}

type askerInput struct {
	ThreadID string
	RunID    string
	Messages []struct {
		Role    string
		Content any
	}
	Resume []struct {
		InterruptID string
		Status      string
		Payload     struct{ Approved bool }
	}
}

func (a *Asker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var in askerInput
	if err != nil || r.Method != http.MethodPost || json.Unmarshal(body, &in) != nil {
		http.NotFound(w, r)
		return
	}
	one := a.of(in.ThreadID)
	said := ""
	for _, m := range in.Messages {
		if words, ok := m.Content.(string); ok && m.Role == "user" {
			said = words
		}
	}
	whole := httptest.NewRecorder()
	s := &stream{w: whole, encode: text}
	run := obj("threadId", in.ThreadID, "runId", in.RunID)
	s.send(append(obj("type", "RUN_STARTED"), run...))
	again := false
	a.mu.Lock()
	for _, e := range in.Resume {
		if e.Status == "resolved" && e.Payload.Approved {
			one.done++
		}
	}
	if len(in.Resume) == 0 {
		one.scene = said
	}
	spoil := a.spoil
	again = len(in.Resume) > 0 && one.scene == "go again" && one.questions < 2
	a.mu.Unlock()
	switch {
	case len(in.Resume) > 0 && !again:
		a.say(s, "The answer was taken.")
		s.send(append(obj("type", "RUN_FINISHED"), run...))
	case strings.HasPrefix(said, "go") || again:
		if said == "go slow" {
			a.Wait(in.ThreadID)
		}
		a.ask(s, one, run, said)
	default:
		a.say(s, "echo: "+said)
		s.send(append(obj("type", "RUN_FINISHED"), run...))
	}
	if spoil != nil && len(in.Resume) > 0 {
		spoil(w, r, whole.Body.Bytes())
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Write(whole.Body.Bytes())
}

func (a *Asker) ask(s *stream, one *asked, run object, scene string) {
	count := 1
	switch scene {
	case "go both":
		count = 2
	case "go mad":
		count = 5000
	}
	a.mu.Lock()
	first := one.questions
	one.questions += count
	a.mu.Unlock()
	schema := obj("type", "object", "properties", obj("approved", obj("type", "boolean")), "required", []string{"approved"})
	var questions []object
	for n := range count {
		q := obj("id", fmt.Sprintf("q%d", first+n), "reason", "confirmation", "message", "Delete it?", "responseSchema", schema)
		if scene == "go call" {
			call := fmt.Sprintf("call-%d", first+n)
			s.send(obj("type", "TOOL_CALL_START", "toolCallId", call, "toolCallName", "delete", "parentMessageId", call+"-m"))
			s.send(obj("type", "TOOL_CALL_ARGS", "toolCallId", call, "delta", `{"path":"notes.txt"}`))
			s.send(obj("type", "TOOL_CALL_END", "toolCallId", call))
			q = q.With("toolCallId", call)
		}
		questions = append(questions, q)
	}
	s.send(append(obj("type", "RUN_FINISHED"), run...).With("outcome", obj("type", "interrupt", "interrupts", questions)))
}

func (a *Asker) say(s *stream, words string) {
	a.mu.Lock()
	a.said++
	id := fmt.Sprintf("m%d", a.said)
	a.mu.Unlock()
	s.send(obj("type", "TEXT_MESSAGE_START", "messageId", id, "role", "assistant"))
	s.send(obj("type", "TEXT_MESSAGE_CONTENT", "messageId", id, "delta", words))
	s.send(obj("type", "TEXT_MESSAGE_END", "messageId", id))
}

// StrandsAsker returns a server with a native Strands agent, which asks before it acts. frames is
// the agent's response to an answer. A test may give it the frames of a failure.
func StrandsAsker(contentType string, frames ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Prompt any }
		if json.NewDecoder(r.Body).Decode(&in) != nil {
			http.NotFound(w, r)
			return
		}
		said, _ := in.Prompt.(string)
		switch {
		case said == "":
			w.Header().Set("Content-Type", contentType)
			w.Write([]byte(strings.Join(frames, "")))
			return
		case said == "go":
			asks := `data: {"result": {"stop_reason": "interrupt", "interrupts": [{"id": "v1:q", "name": "approval", "reason": "Delete it?"}]}}` + "\n\n"
			w.Header().Set("Content-Type", "text/event-stream")
			w.Write([]byte(asks))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, frame := range []string{
			`{"event": {"messageStart": {"role": "assistant"}}}`,
			string(text(obj("event", obj("contentBlockDelta", obj("delta", obj("text", "echo: "+said)))))),
			`{"event": {"contentBlockStop": {}}}`,
			`{"event": {"messageStop": {"stopReason": "end_turn"}}}`,
			`{"result": {"stop_reason": "end_turn"}}`,
		} {
			w.Write([]byte("data: " + frame + "\n\n"))
		}
	})
}
