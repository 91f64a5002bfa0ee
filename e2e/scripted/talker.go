package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// A Talker is an AG-UI backend without pauses. It asks in a text message, and reads the next user
// message as the answer. The answer is an approval if its first word is yes.
//
//	plain ...     repeats the message
//	approve A     asks
//	chain N A     asks N times, for A.1, A.2, ...
//	offer A       ends in "Do you want me to explain it?", as any chat may
//	fail          asks and then fails
type Talker struct {
	// Keeps: true means that the Talker stores its last message of each thread, and reads only the
	// last message of the request. Otherwise it also reads the message before that one.
	Keeps bool
}

var asksFor = regexp.MustCompile(`I am about to approve (\S+)( \((\d+) of (\d+)\))?\. Shall I proceed\?$`)

// New returns a server that runs this Talker.
func (t Talker) New(l *Ledger) *Server {
	var mu sync.Mutex
	said := map[string]string{} // the Talker's last message, by thread
	return newServer(l, func(w http.ResponseWriter, body []byte) {
		mu.Lock()
		defer mu.Unlock()
		var in struct {
			ThreadID, RunID string
			Messages        []inputMessage
		}
		if json.Unmarshal(body, &in) != nil || len(in.Messages) == 0 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s := &stream{w: w, encode: text}
		s.send(obj("type", "RUN_STARTED", "threadId", in.ThreadID, "runId", in.RunID))
		last, before := in.Messages[len(in.Messages)-1], ""
		if n := len(in.Messages) - 2; n >= 0 && in.Messages[n].Role == "assistant" {
			before = in.Messages[n].text()
		}
		if last.Role != "user" {
			l.complain(in.ThreadID, "the last message is none of the user's: "+string(body))
		}
		if t.Keeps {
			before = said[in.ThreadID]
		}
		reply, fails := reply(l, in.ThreadID, before, last.text())
		said[in.ThreadID] = reply
		id := "msg-" + guid()[:12]
		s.send(obj("type", "TEXT_MESSAGE_START", "messageId", id, "role", "assistant"))
		for part := range strings.SplitAfterSeq(reply, " ") {
			s.send(obj("type", "TEXT_MESSAGE_CONTENT", "messageId", id, "delta", part))
		}
		s.send(obj("type", "TEXT_MESSAGE_END", "messageId", id))
		if fails {
			s.send(obj("type", "RUN_ERROR", "message", "kaput", "code", "kaput"))
			return
		}
		s.send(obj("type", "RUN_FINISHED", "threadId", in.ThreadID, "runId", in.RunID))
	})
}

// reply returns the response to a message of the person. words is that message, and before is the
// Talker's message that precedes it. If fails is true, the run fails after the response.
func reply(l *Ledger, thread, before, words string) (says string, fails bool) {
	asked := asksFor.FindStringSubmatch(before)
	first, rest, _ := strings.Cut(words, " ")
	ask := func(what string, n, of int) string {
		return fmt.Sprintf("I am about to approve %s.%d (%d of %d). Shall I proceed?", what, n, n, of)
	}
	switch first = strings.ToLower(strings.Trim(first, ".,!")); {
	case asked != nil && first == "yes":
		l.execute(thread, asked[1])
		if n, _ := strconv.Atoi(asked[3]); asked[3] != asked[4] {
			of, _ := strconv.Atoi(asked[4])
			return ask(strings.TrimSuffix(asked[1], "."+asked[3]), n+1, of), false
		}
		return "Done: " + asked[1] + " approved", false
	case asked != nil && first == "no":
		return "Done: " + asked[1] + " not approved", false
	case first == "approve":
		return fmt.Sprintf("I am about to approve %s. Shall I proceed?", rest), false
	case first == "chain":
		count, what, _ := strings.Cut(rest, " ")
		of, _ := strconv.Atoi(count)
		return ask(what, 1, of), false
	case first == "offer":
		return "It is " + rest + ". Do you want me to explain it?", false
	case first == "fail":
		return "I am about to fail. Shall I proceed?", true
	}
	return "echo: " + words, false
}
