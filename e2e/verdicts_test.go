//go:build e2e

package e2e

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The packages of the programs that report how real parsers read a request.

var (
	lenientPython = stack{"verdict", "3.1.3"}    // with Flask
	lenientNode   = stack{"verdict-js", "5.3.0"} // with Express
)

func init() { onDemand[lenientPython], onDemand[lenientNode] = &demand{}, &demand{} }

// A runtime is a server with one parser. At the path /agent it has an agent that reports its input.
type runtime struct{ name, address string }

// runtimes starts a program, and returns the servers that it runs.
func runtimes(t *testing.T, interpreter string, program ...string) []runtime {
	t.Helper()
	cmd := exec.Command(interpreter, program...)
	p, err := startProcess(filepath.Join(program...), cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	var ready struct {
		Port  int
		Ports map[string]int
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &ready) != nil {
		t.Fatalf("%s did not start: %v\n%s", p.name, err, p.log.tail(20))
	}
	if ready.Port != 0 {
		return []runtime{{p.name, fmt.Sprintf("127.0.0.1:%d", ready.Port)}}
	}
	var list []runtime
	for name, port := range ready.Ports {
		list = append(list, runtime{name, fmt.Sprintf("127.0.0.1:%d", port)})
	}
	return list
}

// installed installs the stack s of onDemand, unless it is installed.
func installed(t *testing.T, s stack) {
	t.Helper()
	d := onDemand[s]
	if d.install(s); d.err != nil {
		t.Fatal(d.err)
	}
}

// readers returns all runtimes that read a RunAgentInput or any JSON. It leaves out those of Agent
// Framework, which accept more requests.
func readers(t *testing.T) []runtime {
	t.Helper()
	installed(t, lenientPython)
	installed(t, lenientNode)
	list := runtimes(t, interpreter(stack{"langgraph", "0.0.43"}), filepath.Join("langgraph", "verdict.py"))
	list = append(list, runtimes(t, interpreter(stack{"strands", "1.40.0"}), filepath.Join("verdict", "of_strands.py"))...)
	list = append(list, runtimes(t, interpreter(stack{"strands", "1.62.0"}), filepath.Join("verdict", "of_strands.py"))...)
	list = append(list, runtimes(t, interpreter(lenientPython), filepath.Join("verdict", "lenient.py"))...)
	list = append(list, runtimes(t, "node", filepath.Join("verdict-js", "lenient.mjs"))...)
	mux := http.NewServeMux()
	mux.HandleFunc("/agent", lenientGo)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return append(list, runtime{"Go", strings.TrimPrefix(server.URL, "http://")})
}

// agentReaders returns the endpoints of every version of agent-framework-ag-ui.
func agentReaders(t *testing.T) []runtime {
	t.Helper()
	var list []runtime
	for _, s := range stacks {
		if s.framework == "agentframework" {
			list = append(list, runtimes(t, interpreter(s), filepath.Join("verdict", "of_agents.py"))...)
		}
	}
	return list
}

// callReaders returns the runtimes of pydantic-ai, and of applications that read the tool messages
// themselves.
func callReaders(t *testing.T) []runtime {
	t.Helper()
	var list []runtime
	for _, version := range []string{"1.107.10", "2.68.0"} {
		s := stack{"pydanticai", version}
		installed(t, s)
		list = append(list, runtimes(t, interpreter(s), filepath.Join("verdict", "of_pydanticai.py"))...)
	}
	return list
}

// lenientGo is a handler that is as lenient as many in practice. It accepts any HTTP method. It
// reads the first JSON value of the body, with keys in any letter case, or a form.
func lenientGo(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ThreadID       any `json:"threadId"`
		RunID          any `json:"runId"`
		Messages       any `json:"messages"`
		Resume         any `json:"resume"`
		ForwardedProps any `json:"forwardedProps"`
	}
	if strings.Contains(r.Header.Get("Content-Type"), "form") {
		r.ParseMultipartForm(1 << 20)
		for key, value := range r.Form {
			switch name, _, _ := strings.Cut(key, "["); name {
			case "threadId":
				in.ThreadID = value[0]
			case "runId":
				in.RunID = value[0]
			case "messages":
				in.Messages = value
			case "resume":
				if strings.Contains(key, "interruptId") {
					in.Resume = []any{map[string]any{"interruptId": value[0]}}
				}
			}
		}
	} else if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		in.ThreadID, in.Resume, in.ForwardedProps = nil, nil, nil
	}
	io.Copy(io.Discard, r.Body)
	entries, _ := in.Resume.([]any)
	if in.Resume != nil {
		entries = append(entries, in.Resume)
	}
	resume := false
	for _, one := range entries {
		entry, _ := one.(map[string]any)
		for _, key := range []string{"interruptId", "interrupt_id", "interrupts", "interrupt"} {
			resume = resume || entry[key] != nil
		}
	}
	props, _ := in.ForwardedProps.(map[string]any)
	command, _ := props["command"].(map[string]any)
	told := command["resume"] != nil
	thread := ""
	if in.ThreadID != nil {
		thread = fmt.Sprint(in.ThreadID)
	}
	begun := in.ThreadID != nil && (in.Messages != nil || in.RunID != nil)
	b, _ := json.Marshal(map[string]any{"type": "CUSTOM", "name": "verdict", "value": map[string]any{
		"ran": begun || resume || told, "thread": hex.EncodeToString([]byte(thread)), "resume": resume, "command": told}})
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\n\n", b)
}
