// Holdpoint is tested with this agent in the scenes (tests) of deploy/kube. The agent pauses as
// ag-ui-langgraph does, and does what the user's message says:
//
//	ask NAME        asks whether to do NAME, and does it after an approval
//	Delete NAME     the same, for the agents of examples
//	slow NAME N     the same, but sends text for N seconds between the approval and NAME
//	stream N        sends text once a second, N times
//	big MIB KIB     sends MIB of text in frames of KIB
//	headers         sends the headers of its request
//
// If the variable STATE names a folder, the agent keeps its open questions in that folder, and adds
// a line for each action to the file "done" there. So both survive a restart of the agent.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

type input struct {
	ThreadID string `json:"threadId"`
	RunID    string `json:"runId"`
	Messages []struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	} `json:"messages"`
	ForwardedProps struct {
		Command struct {
			Resume json.RawMessage `json:"resume"`
		} `json:"command"`
	} `json:"forwardedProps"`
}

// A memory has the open question of each thread, in memory and, unless folder is "", also in files
// of that folder.
type memory struct {
	mu     sync.Mutex
	asked  map[string]string
	folder string
}

func (m *memory) ask(thread, what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked[thread] = what
	if m.folder != "" {
		if err := os.WriteFile(filepath.Join(m.folder, "asked-"+thread), []byte(what), 0o644); err != nil {
			log.Print(err)
		}
	}
}

// find returns the words of the user's message that led to the thread's open question. It returns
// nil if no question is open.
func (m *memory) find(thread string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	what, ok := m.asked[thread]
	if !ok && m.folder != "" {
		if b, err := os.ReadFile(filepath.Join(m.folder, "asked-"+thread)); err == nil {
			what = string(b)
		}
	}
	return strings.Fields(what)
}

// end removes the open question of the thread. If done is not "", it also records that the action
// done was carried out.
func (m *memory) end(thread, done string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.asked, thread)
	if done != "" {
		log.Print("done ", thread, " ", done)
	}
	if m.folder == "" {
		return
	}
	os.Remove(filepath.Join(m.folder, "asked-"+thread))
	if done != "" {
		f, err := os.OpenFile(filepath.Join(m.folder, "done"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			log.Print(err)
			return
		}
		fmt.Fprintln(f, thread, done)
		f.Close()
	}
}

func main() {
	listen := os.Getenv("LISTEN")
	if listen == "" {
		listen = "127.0.0.1:8000"
	}
	m := &memory{asked: map[string]string{}, folder: os.Getenv("STATE")}
	http.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {}) // for a probe
	http.HandleFunc("/", m.run)
	server := &http.Server{Addr: listen}
	ended := make(chan struct{})
	go func() {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		<-c
		log.Print("TERM")
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			log.Print(err)
		}
		close(ended)
	}()
	log.Print("listens on ", listen)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
	<-ended
	log.Print("ended")
}

// A stream is the agent's response to one run.
type stream struct {
	w  http.ResponseWriter
	r  *http.Request
	id string // id of the message that the stream sends
}

func (s *stream) send(event map[string]any) {
	b, _ := json.Marshal(event)
	fmt.Fprintf(s.w, "data: %s\n\n", b)
	http.NewResponseController(s.w).Flush()
}

func (s *stream) say(text string) {
	s.send(map[string]any{"type": "TEXT_MESSAGE_CONTENT", "messageId": s.id, "delta": text})
}

// speak sends text once a second for so many seconds. It returns false if the client has left.
func (s *stream) speak(word string, seconds int) bool {
	for i := range seconds {
		s.say(fmt.Sprintf("%s %d. ", word, i))
		select {
		case <-time.After(time.Second):
		case <-s.r.Context().Done():
			return false
		}
	}
	return true
}

func (m *memory) run(w http.ResponseWriter, r *http.Request) {
	var in input
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	s := &stream{w, r, "m" + strconv.FormatInt(time.Now().UnixNano(), 36)}
	s.send(map[string]any{"type": "RUN_STARTED", "threadId": in.ThreadID, "runId": in.RunID})
	var resume bytes.Buffer
	if raw := in.ForwardedProps.Command.Resume; len(raw) > 0 {
		if err := json.Compact(&resume, raw); err != nil {
			log.Print(err)
			return
		}
	}
	var heard bool
	if text := resume.String(); text != "" && text != "null" {
		heard = m.resume(s, in.ThreadID, strings.Contains(text, `"approved":true`))
	} else {
		heard = m.talk(s, &in)
	}
	if !heard {
		log.Print("the client has left ", in.ThreadID)
		return
	}
	s.send(map[string]any{"type": "RUN_FINISHED", "threadId": in.ThreadID, "runId": in.RunID})
}

// resume ends the thread's open question, and carries out its action if yes is true. It returns
// false if the client has left.
func (m *memory) resume(s *stream, thread string, yes bool) bool {
	asked := m.find(thread)
	if len(asked) == 0 {
		log.Print("no question in ", thread)
		return true
	}
	s.send(map[string]any{"type": "TEXT_MESSAGE_START", "messageId": s.id, "role": "assistant"})
	if !s.speak("works", number(asked, 2)) {
		return false
	}
	done := ""
	if yes {
		done = asked[1]
	}
	m.end(thread, done)
	if yes {
		s.say("Did " + done + ".")
	} else {
		s.say("Did not do " + asked[1] + ".")
	}
	s.send(map[string]any{"type": "TEXT_MESSAGE_END", "messageId": s.id})
	return true
}

// talk does what the user's last message says. It returns false if the client has left.
func (m *memory) talk(s *stream, in *input) bool {
	text := ""
	for _, message := range in.Messages {
		if message.Role == "user" {
			text, _ = message.Content.(string)
		}
	}
	words := strings.Fields(text)
	switch {
	case len(words) > 1 && (words[0] == "ask" || words[0] == "Delete" || words[0] == "slow"):
		m.ask(in.ThreadID, text)
		value := map[string]any{"message": "Do " + words[1] + "?"}
		b, _ := json.Marshal(value)
		s.send(map[string]any{"type": "CUSTOM", "name": "on_interrupt", "value": string(b),
			"rawEvent": map[string]any{"id": fmt.Sprintf("%032x", time.Now().UnixNano()), "value": value}})
		return true
	}
	s.send(map[string]any{"type": "TEXT_MESSAGE_START", "messageId": s.id, "role": "assistant"})
	heard := true
	switch {
	case len(words) > 1 && words[0] == "stream":
		heard = s.speak("tick", number(words, 1))
	case len(words) > 2 && words[0] == "big":
		piece := strings.Repeat("0123456789abcdef", number(words, 2)*64)
		for range number(words, 1) * 1024 / max(number(words, 2), 1) {
			s.say(piece)
		}
	case text == "headers":
		for name, values := range s.r.Header {
			s.say(name + ": " + strings.Join(values, ", ") + "\n")
		}
	default:
		s.say("You said: " + text)
	}
	s.send(map[string]any{"type": "TEXT_MESSAGE_END", "messageId": s.id})
	return heard
}

// number returns words[i] as a number. It returns 0 if the command, words[0], takes no number.
func number(words []string, i int) int {
	if !slices.Contains([]string{"slow", "stream", "big"}, words[0]) || i >= len(words) {
		return 0
	}
	n, _ := strconv.Atoi(words[i])
	return n
}
