package proxy_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/principal"
	golden "holdpoint/internal/scenario"
	"holdpoint/proxy"
)

// TestGoldenInAnotherThread: Holdpoint is set to derive its own thread id for each principal. The
// test plays every scenario with a backend that repeats the thread id of its request. The client
// must get the same bytes as without this setting, and the backend must never get the client's
// thread id.
func TestGoldenInAnotherThread(t *testing.T) {
	failing := knownFailing(t)
	for _, s := range someScenarios(t, 1) {
		if failing[s.Name] != "" || strings.HasPrefix(s.Name, "contract/resume-without-messages-") || s.Name == "request-approval/native-b-new-thread" {
			// These scenarios test a client that must send a message of the thread, or its id. A
			// client with a known principal need not send them.
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, s, delivery{name: "another thread"})
			defer st.close()
			gate := st.gate()
			for turn := 1; turn <= s.Turns; turn++ {
				st.begin(turn)
				if turn == s.Restart {
					st.gate()
				}
				request := s.request(turn)
				thread := gjson.GetBytes(request, "threadId").Str
				if thread == "" || st.foreign {
					t.Skip("its backend repeats no thread id")
				}
				who, _ := gate.Identify(alices(), false)
				id := who.Thread(thread)
				st.backend.says = func(_, _ int, file []byte) []byte { return renamed(file, thread, id, `"threadId":"`, `"threadId": "`) }
				got := st.post(request)
				for n, body := range st.backend.sent {
					if gjson.GetBytes(body, "threadId").Str == thread {
						t.Errorf("turn %d: the backend is sent the client's id of the thread", turn)
					}
					var pretty bytes.Buffer // the request may differ in the thread id only
					if err := json.Indent(&pretty, renamed(body, id, thread, `"threadId":"`, `"thread_id":"`), "", "  "); err != nil {
						t.Fatal(err)
					}
					pretty.WriteByte('\n')
					if diff := s.differs(golden.Sent(turn, n+1), pretty.Bytes()); diff != "" {
						t.Errorf("turn %d: %s", turn, diff)
					}
				}
				if diff := s.differs(golden.Want(turn), got); diff != "" {
					t.Errorf("turn %d: %s", turn, diff)
				}
			}
		})
	}
}

// TestForeignBackendsGetAnotherThread: a backend that does not speak AG-UI must get a session id
// that is derived from the principal's thread, in the body or in a header. The rest of the request
// must be unchanged, and the client's events must have the client's thread id.
func TestForeignBackendsGetAnotherThread(t *testing.T) {
	seen := map[string]bool{} // the dialects whose backend got a session of the thread
	for _, s := range scenarios(t) {
		st := newStage(t, s, delivery{name: "another thread"})
		if st.close(); !st.foreign {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			st := newStage(t, s, delivery{name: "another thread"})
			defer st.close()
			gate := st.gate()
			// ids maps an id that the client of the scenario got to the id that this client got.
			ids := map[string]string{}
			for turn := 1; turn <= s.Turns; turn++ {
				st.begin(turn)
				if turn == s.Restart {
					st.gate()
				}
				request := ofThread.ReplaceAllFunc(s.request(turn), func(was []byte) []byte {
					if is, ok := ids[string(was)]; ok {
						return []byte(is)
					}
					return was
				})
				thread := gjson.GetBytes(request, "threadId").Str
				if thread == "" {
					t.Skip("it brings no thread")
				}
				who, _ := gate.Identify(alices(), false)
				id := who.Thread(thread)
				st.backend.says = func(_, _ int, file []byte) []byte { return renamed(file, thread, id, sessionKeys...) }
				got := st.post(request)
				for n, body := range st.backend.sent {
					asSent := append(bytes.Clone(body), st.backend.head[n]...)
					ours := bytes.Contains(asSent, []byte(id)) || bytes.Contains(asSent, []byte(strandsSession(id))) || bytes.Contains(asSent, []byte(langGraphThread(id)))
					seen[strings.Split(s.Name, "/")[0]] = seen[strings.Split(s.Name, "/")[0]] || ours
					if !ours || bytes.Contains(asSent, []byte(strandsSession(thread))) || bytes.Contains(asSent, []byte(langGraphThread(thread))) || bytes.Contains(asSent, []byte(`"session_id":"`+thread+`"`)) {
						t.Errorf("turn %d: the backend is sent another session than that of %s:\n%s", turn, id, asSent)
					}
					body = bytes.ReplaceAll(body, []byte(langGraphThread(id)), []byte(langGraphThread(thread)))
					pretty, err := indent(renamed(body, id, thread, sessionKeys...))
					if err != nil && len(body) > 0 {
						t.Fatal(err)
					}
					if diff := s.differs(golden.Sent(turn, n+1), pretty); diff != "" {
						t.Errorf("turn %d: %s", turn, diff)
					}
					head := bytes.ReplaceAll(st.backend.head[n], []byte(strandsSession(id)), []byte(strandsSession(thread)))
					head = bytes.ReplaceAll(head, []byte(langGraphThread(id)), []byte(langGraphThread(thread)))
					head = bytes.ReplaceAll(head, []byte("X-User: alice\n"), nil)
					if diff := s.differs(golden.Head(turn, n+1), head); diff != "" {
						t.Errorf("turn %d: %s", turn, diff)
					}
				}
				want := s.Part(golden.Want(turn))
				was, is := ofThread.FindAll(want, -1), ofThread.FindAll(got, -1)
				for n := range min(len(was), len(is)) {
					ids[string(was[n])] = string(is[n])
				}
				if got, want := threadsIn(got), threadsIn(want); got != want {
					t.Errorf("turn %d: the client gets\n%s\nwant\n%s", turn, got, want)
				}
			}
		})
	}
	for _, dialect := range []string{"langgraph-server", "strands", "superagent"} {
		if !seen[dialect] {
			t.Errorf("no backend of %s was told of a thread", dialect)
		}
	}
}

// sessionKeys are the texts that precede an id: the session id in requests and responses of
// superagent, or the client's thread id in responses of LangGraph's server.
var sessionKeys = []string{`"agui_thread_id":"`, `"session_id":"`, `"session_id": "`, `\"session_id\":\"`, `"checkpoint_id":"approver_`}

// ofThread matches the part of an id that a dialect derives from the thread id. The id is that of a
// message or of a question.
var ofThread = regexp.MustCompile(`\b[0-9a-f]{16}\b|approver_[^_"\\]+_`)

// langGraphThread returns the id that the langgraph-server dialect derives from a thread id.
func langGraphThread(thread string) string {
	sum := sha256.Sum256([]byte("holdpoint langgraph-server thread\n" + thread))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// strandsSession returns the session id that the strands dialect derives from a thread id.
func strandsSession(thread string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte("holdpoint strands session\x00"+thread)))
}

// threadsIn returns a line for each event of a stream, with its type and its thread id.
func threadsIn(stream []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(stream)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			fmt.Fprintf(&b, "%s %s\n", gjson.Get(data, "type").Str, gjson.Get(data, "threadId").Str)
		}
	}
	return b.String()
}

// renamed replaces an id in text: where the id "from" follows one of keys, it writes the id "to".
func renamed(text []byte, from, to string, keys ...string) []byte {
	for _, key := range keys {
		text = bytes.ReplaceAll(text, []byte(key+from+`"`), []byte(key+to+`"`))
	}
	return text
}

// gate sets the stage's Holdpoint to read the principal from a header, and to derive a thread id
// for each principal. It returns the Gate of this Holdpoint.
func (st *stage) gate() *principal.Gate {
	peers, _ := principal.ParsePeers("192.0.2.1")
	ring, _ := principal.ParseRing(strings.Repeat("k", 32))
	gate := principal.New(principal.Options{Peers: peers, PrincipalHeader: "X-User", Keys: ring, OwnThreads: true})
	inner := st.options(func(o *proxy.Options) { o.Gate = gate })
	st.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one := alices()
		r.RemoteAddr = one.RemoteAddr
		r.Header.Set("X-User", "alice")
		inner.ServeHTTP(w, r)
	})
	return gate
}

// alices returns a request of the principal "alice".
func alices() *http.Request {
	return &http.Request{Header: http.Header{"X-User": {"alice"}}, RemoteAddr: "192.0.2.1:1"}
}
