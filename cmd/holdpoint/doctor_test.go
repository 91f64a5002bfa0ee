package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/internal/scenario"
)

// question returns a recorded stream of LangGraph's adapter that asks a question.
func question(t *testing.T) []byte {
	t.Helper()
	s, err := scenario.Read("../../testdata/langgraph/approve-py-0.0.43" + scenario.Ext)
	if err != nil {
		t.Fatal(err)
	}
	return s.Part(scenario.Answer(1, 1))
}

// TestDoctor: doctor must write its report to standard output and errors to standard error. Its
// exit code depends on the verdict of the report.
func TestDoctor(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	stream := question(t)
	asking := file("asking.sse", string(stream))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer x" || r.Header.Get("X-Tenant") != "y" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write(stream)
	}))
	defer server.Close()
	headers := file("headers", "Authorization: Bearer x\n")
	plain := file("plain.sse", "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\ndata: {\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n")
	for _, tt := range []struct {
		args           []string
		code           int
		stdout, stderr string // what they must contain
	}{
		{[]string{asking}, 0, "dialect     langgraph (HOLDPOINT_DIALECT=auto)", ""},
		{[]string{plain}, 0, "nothing to do in this run", ""},
		{[]string{"-tools", file("request.json", `{"tools":[]}`), asking}, 0, "HOLDPOINT_CLIENT=native", ""},
		{[]string{"-tools", file("tanstack.json", `{"tools":[],"forwardedProps":{},"data":{}}`), asking}, 0, "the client is TanStack AI's", ""},
		{[]string{"-tools", file("versioned.json", `{"tools":[],"protocolVersion":"1.0"}`), asking}, 0, "verdict     the backend asks", ""},
		{[]string{"-tools", file("dotnet.json", `{"threadId":"t","runId":"run_0d66c3ca00004ab4b96e8b2898de1e9a","messages":[{"name":null,"id":"u","role":"user","content":"x"}],"context":[]}`), plain}, 0, "client      Microsoft.Agents.AI.AGUI", ""},
		{[]string{file("garbage", "hello")}, 1, "nothing in it is an event of AG-UI", ""},
		{[]string{file("empty", "")}, 2, "nothing to judge", ""},
		{[]string{"-header-file", headers, "-header", "X-Tenant: y", server.URL + "?key=hush"}, 0, "ends with RUN_FINISHED", ""},
		{[]string{server.URL}, 2, "HTTP 401", ""},
		{[]string{"-h"}, 0, "usage: holdpoint doctor", ""},
		{nil, 2, "", "takes one address"},
		{[]string{plain, plain}, 2, "", "takes one address"},
		{[]string{"-nonsense", plain}, 2, "", "not defined"},
		{[]string{"-timeout", "0s", plain}, 2, "", "-timeout"},
		{[]string{"-dialect", "nonsense", plain}, 2, "", "no dialect"},
		{[]string{"-dialect", "langgraph-server", "-assistant", "agent", plain}, 2, "", "give doctor the address of the server"},
		{[]string{"-dialect", "langgraph-server", server.URL}, 2, "", "-assistant"},
		{[]string{"-assistant", "agent", plain}, 2, "", "go together"},
		{[]string{"-header", "hush", plain}, 2, "", "-header: want a line Name: value"},
		{[]string{"-header-file", filepath.Join(dir, "none"), plain}, 2, "", "none"},
		{[]string{"-tools", plain, plain}, 2, "", "want a JSON array"},
		{[]string{"ftp://host/"}, 2, "", "want an address"},
		{[]string{filepath.Join(dir, "none")}, 2, "", "none"},
	} {
		stdout, stderr, code := holdpoint(t, nil, append([]string{"doctor"}, tt.args...)...)
		if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) {
			t.Errorf("%q: exit %d, want %d\nstdout %s\nstderr %s", tt.args, code, tt.code, stdout, stderr)
		}
		if (stdout == "") != (tt.stdout == "") || (stderr == "") != (tt.stderr == "") || strings.Contains(stdout+stderr, "hush") {
			t.Errorf("%q: on the wrong stream, or a secret is shown:\nstdout %s\nstderr %s", tt.args, stdout, stderr)
		}
	}
}

// TestDoctorReadsAPipe: doctor reads a recording from standard input, and -json writes JSON.
func TestDoctorReadsAPipe(t *testing.T) {
	cmd := exec.Command(binary, "doctor", "-json", "-")
	cmd.Stdin = bytes.NewReader(question(t))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Source, Verdict, Dialect, Setting string
		Framework                         struct{ Name, Versions string }
		Questions                         []struct{ Reason string }
		Events                            []struct{ Came int }
		Support                           struct{ Page string }
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	if report.Source != "-" || report.Verdict != "keeps" || report.Dialect != "langgraph" || report.Setting != "auto" ||
		report.Framework.Name != "LangGraph" || len(report.Questions) != 1 || len(report.Events) == 0 || report.Support.Page != "docs/support.md#langgraph" {
		t.Errorf("%s", out)
	}
}
