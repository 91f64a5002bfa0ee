package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/cmd/holdpoint/internal/replay"
	"holdpoint/internal/scenario"
)

// TestReplayIsHoldpoint: in each scenario of testdata, the client of a replay must get the stream
// that the scenario expects from Holdpoint. The replay must print one record for each turn. With
// -short the test plays every fourth scenario.
func TestReplayIsHoldpoint(t *testing.T) {
	list, err := scenario.List("../../testdata", "*")
	if err != nil {
		t.Fatal(err)
	}
	for n, s := range list {
		if testing.Short() && n%4 != 0 {
			continue
		}
		f := replayFlags{}
		o, remove, err := f.read(s.Path, nil)
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		var out bytes.Buffer
		o.Out = &out
		var got [][]byte
		makes := o.Holdpoint
		o.Holdpoint = func(parts replay.Parts) (http.Handler, error) {
			h, err := makes(parts)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				both := &tee{ResponseWriter: w, copy: httptest.NewRecorder()}
				h.ServeHTTP(both, r)
				body := both.copy.Body.Bytes()
				if both.copy.Code != http.StatusOK {
					body = nil // the test compares only streams
				}
				got = append(got, body)
			}), err
		}
		if err := replay.Run(t.Context(), o); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		remove()
		for turn, body := range got {
			if want := s.Part(scenario.Want(turn + 1)); body != nil && !bytes.Equal(body, want) {
				t.Errorf("%s, turn %d: the client gets\n%s\nwant\n%s", s.Name, turn+1, body, want)
			}
		}
		if len(got) != s.Turns || strings.Count(out.String(), "\n  record ") != s.Turns {
			t.Errorf("%s: %d of %d turns, printed as\n%s", s.Name, len(got), s.Turns, out.String())
		}
	}
}

// A tee is a response writer that also writes the response to the recorder copy.
type tee struct {
	http.ResponseWriter
	copy *httptest.ResponseRecorder
}

func (t *tee) WriteHeader(status int) {
	t.copy.WriteHeader(status)
	t.ResponseWriter.WriteHeader(status)
}

func (t *tee) Write(b []byte) (int, error) {
	t.copy.Write(b)
	return t.ResponseWriter.Write(b)
}

// Unwrap returns the writer of the client, for http.ResponseController.
func (t *tee) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// asking is a scenario of two turns: a question of LangGraph's adapter, and its answer.
const asking = `title: one question, approved
source: by hand
-- 1.request.json --
{"threadId":"t1","runId":"r1","messages":[{"id":"u1","role":"user","content":"Clean up."}],"tools":[],"state":{},"context":[],"forwardedProps":{}}
-- 1.upstream.sse --
: hello

data: {"type":"RUN_STARTED","threadId":"t1","runId":"r1"}

data: {"type":"CUSTOM","name":"on_interrupt","value":"\"Delete a.txt?\"","rawEvent":{"value":"Delete a.txt?","id":"529a97505c90b72d4bb075632aece428"}}

data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}

-- 2.request.json --
{"threadId":"t1","runId":"r2","messages":[{"id":"u1","role":"user","content":"Clean up."}],"tools":[],"state":{},"context":[],"forwardedProps":{},"resume":[{"interruptId":"529a97505c90b72d4bb075632aece428~id1","status":"resolved","payload":true}]}
-- 2.upstream.sse --
data: {"type":"RUN_STARTED","threadId":"t1","runId":"r2"}

data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r2"}

`

// TestReplay: the output must show each frame that is received or sent. For a frame that was
// changed, made or delayed it must also say why. At the end it must show the record of the thread
// and, if a question is open, the requests that answer it. An expected line may be only the
// beginning of a line of the output.
func TestReplay(t *testing.T) {
	stdout, stderr, code := holdpoint(t, nil, "replay", written(t, "one.txtar", asking))
	if code != exitOK || stderr != "" {
		t.Errorf("code %d, %s", code, stderr)
	}
	want := []string{
		`turn 1`,
		`  client sends`,
		`      {"threadId":"t1","runId":"r1",`,
		`  backend gets request 1, POST /: the client's request as it came`,
		`  backend   1  : hello`,
		`  client       as it came`,
		`  backend   2  data: {"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`,
		`  client       as it came`,
		`  backend   3  data: {"type":"CUSTOM","name":"on_interrupt",`,
		`  client       nothing yet: Holdpoint waits with it, or leaves it out`,
		`               the stream is that of langgraph from here on`,
		`  backend   4  data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`,
		`  client       data: {"type":"CUSTOM","name":"on_interrupt",`,
		`               why: is frame 3 as it came, which waited until here`,
		`  client       data: {"type":"MESSAGES_SNAPSHOT",`,
		`               why: is made by Holdpoint`,
		`  client       data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"interrupt",`,
		`               why: is frame 4, changed: outcome added`,
		`  run          outcome interrupt, dialect langgraph; frames: 2 passed,`,
		`  record       open, asked by langgraph`,
		`               question 529a97505c90b72d4bb075632aece428~id1, the backend's own id "529a97505c90b72d4bb075632aece428": {`,
		`  to answer    the client's next request has`,
		`      "resume":[{"interruptId":"529a97505c90b72d4bb075632aece428~id1","status":"resolved","payload":"any value"}]`,
		`               or, to refuse,`,
		`      "resume":[{"interruptId":"529a97505c90b72d4bb075632aece428~id1","status":"cancelled"}]`,
		``,
		`turn 2`,
		`  client sends`,
		`      {"threadId":"t1","runId":"r2",`,
		`  backend gets request 1, POST /`,
		`      {"threadId":"t1","runId":"r2",`,
		`               why: langgraph, which asked, makes it of the client's request: forwardedProps changed, resume removed`,
		`  backend   1  data: {"type":"RUN_STARTED","threadId":"t1","runId":"r2"}`,
		`  client       as it came`,
		`  backend   2  data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r2"}`,
		`  client       as it came`,
		`  run          outcome finished, dialect langgraph; frames: 2 passed,`,
		`  record       nothing is open`,
		`               an earlier question ended: finished`,
	}
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	for n, line := range lines {
		if n >= len(want) || !strings.HasPrefix(line, want[n]) {
			t.Fatalf("line %d of\n%s", n+1, stdout)
		}
	}
	if len(lines) != len(want) {
		t.Errorf("%d lines, want %d:\n%s", len(lines), len(want), stdout)
	}
}

// TestReplaySteps: with -step, each line on standard input lets the replay continue by one frame of
// the backend. The end of the input must end the replay.
func TestReplaySteps(t *testing.T) {
	cmd := exec.Command(binary, "replay", "-step", written(t, "one.txtar", asking))
	cmd.Stdin = strings.NewReader("\n\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(out), "\n  backend   "); n != 2 || strings.Contains(string(out), "RUN_ERROR") {
		t.Errorf("%d frames:\n%s", n, out)
	}
}

// TestReplayOfARecording: replay must play a recorded answer of a backend from a file and from a
// pipe, with and without the HTTP header of the answer.
func TestReplayOfARecording(t *testing.T) {
	stream := string(question(t))
	request := written(t, "request.json", `{"threadId":"default-approve","runId":"run-1","messages":[{"id":"mine","role":"user","content":"go"}],"tools":[],"context":[],"state":{},"forwardedProps":{}}`)
	headed := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n" + stream
	for _, tt := range []struct {
		name, input string
		args        []string
		want        string
	}{
		{"a body", stream, nil, "record       open, asked by langgraph"},
		{"with its header", headed, nil, "record       open, asked by langgraph"},
		{"with its request", stream, []string{"-request", request}, `"id":"mine"`},
		{"in another dialect", stream, []string{"-set", "HOLDPOINT_DIALECT=agui"}, "record       none: the thread waits for nothing"},
		{"cut off", strings.TrimSuffix(stream, "\n")[:200], nil, "UPSTREAM_EOF"},
		{"an error", "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\n\r\nbusy", nil, "client gets HTTP 503"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(binary, append(append([]string{"replay"}, tt.args...), "-")...)
			cmd.Stdin = strings.NewReader(tt.input)
			out, err := cmd.Output()
			if err != nil || !strings.Contains(string(out), tt.want) {
				t.Errorf("%v, without %q:\n%s", err, tt.want, out)
			}
		})
	}
}

func TestReplayMisuse(t *testing.T) {
	one := written(t, "one.txtar", asking)
	for _, tt := range []struct{ args, want string }{
		{"", "one file or -"},
		{"-step -", "give it a file"},
		{"-set X " + one, "HOLDPOINT_NAME=value"},
		{"-set HOLDPOINT_NONSENSE=1 " + one, "HOLDPOINT_NONSENSE is not a variable"},
		{"-set HOLDPOINT_DIALECT=nonsense " + one, "HOLDPOINT_DIALECT"},
		{"-request " + one + " " + one, "a scenario has requests of its own"},
		{"missing.txtar", "missing.txtar"},
		{"missing.sse", "missing.sse"},
		{written(t, "bad.txtar", "title: x\n"), "title and source"},
		{written(t, "empty.sse", ""), "the recording is empty"},
	} {
		stdout, stderr, code := holdpoint(t, nil, append([]string{"replay"}, strings.Fields(tt.args)...)...)
		if code != exitMisuse || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: code %d, stdout %q, stderr %q", tt.args, code, stdout, stderr)
		}
	}
	if stdout, _, code := holdpoint(t, nil, "replay", "-h"); code != exitOK || !strings.Contains(stdout, "usage: holdpoint replay") {
		t.Errorf("-h: code %d, %q", code, stdout)
	}
}

// written writes a file into a new folder, and returns its path.
func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
