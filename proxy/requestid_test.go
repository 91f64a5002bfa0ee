package proxy

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"holdpoint/internal/principal"
	"holdpoint/proxy/internal/intake"
)

// TestRequestID: a run must have the same id in front of Holdpoint, in Holdpoint's log and at the
// backend. If the client sends an id that is safe in a log, Holdpoint must use this id.
func TestRequestID(t *testing.T) {
	made := strings.Repeat("x", 32)
	for _, c := range []struct {
		name    string
		brings  []string
		want    string // made stands for an id that Holdpoint makes
		backend string // the id in the backend's response
	}{
		{"the request's", []string{"6f1e/a:b=1"}, "6f1e/a:b=1", ""},
		{"none", nil, made, ""},
		{"an empty one", []string{""}, made, ""},
		{"two", []string{"a", "b"}, made, ""},
		{"too long", []string{strings.Repeat("a", intake.MaxRequestID+1)}, made, ""},
		{"with a space", []string{"a b"}, made, ""},
		{"with what is no ASCII", []string{"ä"}, made, ""},
		{"the backend has one of its own", []string{"a"}, "a", "theirs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				if c.backend != "" {
					w.Header().Set(intake.RequestIDHeader, c.backend)
				}
				sendStream(w, streamOf(started, finished))
			})
			req, _ := http.NewRequest(http.MethodPost, g.front.URL+"/", strings.NewReader(input("t", "r1", "")))
			req.Header.Set("Content-Type", "application/json")
			req.Header[intake.RequestIDHeader] = c.brings
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			sent := g.heads[0][intake.RequestIDHeader]
			if len(sent) != 1 || sent[0] != c.want && (c.want != made || len(sent[0]) != len(made)) {
				t.Fatalf("the backend got %q, want %q", sent, c.want)
			}
			want := sent[0]
			if c.backend != "" {
				want = c.backend
			}
			if got := res.Header[intake.RequestIDHeader]; len(got) != 1 || got[0] != want {
				t.Errorf("the client got %q, want %q", got, want)
			}
			wantLine(t, g.logs, `msg="run ended" thread_id=t run_id=r1 outcome=finished `, "request_id="+quoted(sent[0]))
		})
	}
}

// quoted returns v in the way in which the text log writes it.
func quoted(v string) string {
	if strings.ContainsAny(v, `= "`) {
		return `"` + v + `"`
	}
	return v
}

// TestRequestIDOfARefusal: if Holdpoint itself makes the response to a run, the response must have
// the request id too. If a request is not a run, neither the request nor its response may get a
// request id.
func TestRequestIDOfARefusal(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {})
	res, _ := g.answer(input("t", "r1", resumeWith(yes("n1"))))
	if len(res.Header.Get(intake.RequestIDHeader)) != 32 {
		t.Errorf("refused with %q", res.Header)
	}
	other, err := http.Get(g.front.URL + "/info")
	if err != nil {
		t.Fatal(err)
	}
	other.Body.Close()
	if other.Header[intake.RequestIDHeader] != nil || g.heads[0][intake.RequestIDHeader] != nil {
		t.Errorf("a request that is no run got an id: %q, %q", other.Header, g.heads[0])
	}
}

// TestLineOfAResume: the log line of a resume must say how each question was answered, who answered
// it, and in which trace. It must contain nothing of the content of the answers.
func TestLineOfAResume(t *testing.T) {
	const approval = `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"n1","reason":"confirmation","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}}}},{"id":"n2","reason":"confirmation"}]}}`
	for _, shown := range []principal.NameStyle{principal.ShowHash, principal.ShowName, principal.ShowNone} {
		logs := &lockedBuffer{}
		ring, err := principal.ParseRing(strings.Repeat("k", 32))
		if err != nil {
			t.Fatal(err)
		}
		peers, err := principal.ParsePeers("127.0.0.0/8;::1/128")
		if err != nil {
			t.Fatal(err)
		}
		g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
			sendStream(w, streamOf(started, []string{approval, finished}[min(n, 2)-1]))
		}, func(o *Options) {
			o.Logger, o.ShowPrincipal = slog.New(slog.NewJSONHandler(logs, nil)), shown
			o.Gate = principal.New(principal.Options{PrincipalHeader: "X-User", Peers: peers, Keys: ring})
		})
		send := func(body string) {
			req, _ := http.NewRequest(http.MethodPost, g.front.URL+"/", strings.NewReader(body))
			req.Header = http.Header{"Content-Type": {"application/json"}, "X-User": {"zora"}, "Traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
		}
		send(input("t", "r1", ""))
		send(input("t", "r2", `,"protocolVersion":"1.0"`+resumeWith(`{"interruptId":"n1~id1","status":"resolved","payload":{"approved":true,"note":"sesame"}}`, no("n2~id2"))))
		var line struct {
			Answers       []loggedAnswer `json:"answers"`
			Trace         string         `json:"trace_id"`
			Dialect       string         `json:"dialect"`
			Client        string         `json:"client"`
			Principal     string         `json:"principal"`
			PrincipalHash string         `json:"principal_hash"`
		}
		until(t, "no line of the resume", func() bool {
			for text := range strings.Lines(logs.String()) {
				if strings.Contains(text, `"run ended"`) && strings.Contains(text, `"r2"`) {
					return json.Unmarshal([]byte(text), &line) == nil
				}
			}
			return false
		})
		if len(line.Answers) != 2 || line.Answers[0] != (loggedAnswer{ID: "n1~id1", Status: "resolved", Verdict: "approved"}) || line.Answers[1] != (loggedAnswer{ID: "n2~id2", Status: "cancelled"}) {
			t.Errorf("answers %v", line.Answers)
		}
		if line.Trace != "4bf92f3577b34da6a3ce929d0e0e4736" || line.Dialect != "fake" || line.Client != "@ag-ui/client" {
			t.Errorf("%+v", line)
		}
		if (line.Principal == "zora") != (shown == principal.ShowName) || (len(line.PrincipalHash) == 64) != (shown == principal.ShowHash) {
			t.Errorf("%s: %+v", shown, line)
		}
		if s := logs.String(); strings.Contains(s, "sesame") || shown != principal.ShowName && strings.Contains(s, "zora") {
			t.Errorf("the log holds too much: %s", s)
		}
	}
}
