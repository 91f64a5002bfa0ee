package proxy_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/principal"
	"holdpoint/proxy"
)

// TestGoldenInAnotherThread runs every scenario with threads of the principal's own, before a
// backend that repeats the thread id that it got. The client gets what it gets otherwise, byte for
// byte, and the backend never hears of the client's id.
func TestGoldenInAnotherThread(t *testing.T) {
	failing := knownFailing(t)
	for _, s := range scenarios(t) {
		if failing[s.name] != "" || strings.HasPrefix(s.name, "contract/resume-without-messages-") {
			continue // whose principal is known needs no message of his thread
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, s, delivery{name: "another thread"})
			defer st.close()
			gate := st.gate()
			for turn := 1; turn <= s.turns; turn++ {
				st.begin(turn)
				if turn == s.restart {
					st.gate()
				}
				request := s.request(turn)
				thread := gjson.GetBytes(request, "threadId").Str
				if thread == "" || st.foreign {
					t.Skip("its backend repeats no thread id")
				}
				who, _ := gate.Ask(alices(), false)
				id := who.Thread(thread)
				st.backend.says = func(_, _ int, file []byte) []byte { return renamed(file, thread, id, `"threadId":"`, `"threadId": "`) }
				got := st.post(request)
				for n, body := range st.backend.sent {
					if gjson.GetBytes(body, "threadId").Str == thread {
						t.Errorf("turn %d: the backend is sent the client's id of the thread", turn)
					}
					var pretty bytes.Buffer // what the backend got differs in the id only
					if err := json.Indent(&pretty, renamed(body, id, thread, `"threadId":"`, `"thread_id":"`), "", "  "); err != nil {
						t.Fatal(err)
					}
					pretty.WriteByte('\n')
					if diff := s.differs(turn, numbered("upstream", n+1, "json"), pretty.Bytes()); diff != "" {
						t.Errorf("turn %d: %s", turn, diff)
					}
				}
				if diff := s.differs(turn, "want.sse", got); diff != "" {
					t.Errorf("turn %d: %s", turn, diff)
				}
			}
		})
	}
}

// renamed has another thread id behind these keys.
func renamed(text []byte, from, to string, keys ...string) []byte {
	for _, key := range keys {
		text = bytes.ReplaceAll(text, []byte(key+from+`"`), []byte(key+to+`"`))
	}
	return text
}

// gate has the stage's Holdpoint take a principal by a header, and give him threads of his own.
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

// alices is a request of hers.
func alices() *http.Request {
	return &http.Request{Header: http.Header{"X-User": {"alice"}}, RemoteAddr: "192.0.2.1:1"}
}
