//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// agentAt is the name of an environment variable. If the variable is set, this test binary runs as
// an agent that listens at the address in the variable. The agent is a process of its own, so the
// test can stop and kill it. It prints its address, and a line for each action.
const agentAt = "TEST_AGENT_AT"

func init() {
	at := os.Getenv(agentAt)
	if at == "" {
		return
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("listens", l.Addr())
	go func() { // standard input ends when the process of the test ends
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	_ = http.Serve(l, http.HandlerFunc(serveAgent))
	os.Exit(1)
}

// serveAgent serves a run of the agent. The name of the thread decides what the agent does:
//
//   - "ask…": it asks a question.
//   - "hang…": it sends only the start of the run.
//   - "…500": it responds with status 500. For a name that also begins with "ask", it asks a
//     question first, and responds to the resume with status 500.
func serveAgent(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	thread, outcome := field(body, "threadId"), ""
	resume := strings.Contains(string(body), `"resume":[`)
	if resume {
		fmt.Println("did", thread)
	}
	asks := strings.HasPrefix(thread, "ask") && !resume
	if strings.HasSuffix(thread, "500") && !asks {
		http.Error(w, "it is broken", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"type\":\"RUN_STARTED\",\"threadId\":%q,\"runId\":\"r\"}\n\n", thread)
	if strings.HasPrefix(thread, "hang") {
		_ = http.NewResponseController(w).Flush()
		fmt.Println("hangs", thread)
		<-r.Context().Done()
		return
	}
	if asks {
		outcome = `,"outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"confirmation"}]}`
	}
	fmt.Fprintf(w, "data: {\"type\":\"RUN_FINISHED\",\"threadId\":%q,\"runId\":\"r\"%s}\n\n", thread, outcome)
}

// An agentProcess is the process of an agent, with its output.
type agentProcess struct {
	*exec.Cmd
	at    string
	lines *bufio.Scanner
}

func startAgent(t *testing.T, at string) *agentProcess {
	t.Helper()
	a := &agentProcess{Cmd: exec.Command(os.Args[0])}
	a.Env = append(os.Environ(), agentAt+"="+at)
	out, err := a.StdoutPipe()
	if err == nil {
		_, err = a.StdinPipe() // the agent's standard input ends with this process
	}
	if err == nil {
		err = a.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.kill)
	a.lines = bufio.NewScanner(out)
	a.at = a.next(t, "listens")
	return a
}

// next reads the next line of the agent's output. The line must begin with the parameter word. next
// returns the rest of the line.
func (a *agentProcess) next(t *testing.T, word string) string {
	t.Helper()
	if !a.lines.Scan() {
		t.Fatalf("the agent has ended before %q", word)
	}
	first, rest, _ := strings.Cut(a.lines.Text(), " ")
	if first != word {
		t.Fatalf("the agent says %q, want %q", a.lines.Text(), word)
	}
	return rest
}

func (a *agentProcess) kill() {
	_ = a.Process.Kill()
	_ = a.Wait()
}

// TestAgentThatFails: an agent in its own process is silent, is stopped, responds with 500, is
// killed and is started again. In all these cases, each stream must get a terminal event. At the
// end, a question that was asked before all this must still accept its answer, and its action must
// run once.
func TestAgentThatFails(t *testing.T) {
	t.Parallel() // the test waits for the idle timeout
	agent := startAgent(t, "127.0.0.1:0")
	_, addr := start(t, "HOLDPOINT_UPSTREAM=http://"+agent.at, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_STREAM_IDLE_TIMEOUT=1s",
		"HOLDPOINT_STORE=bolt://"+filepath.Join(t.TempDir(), "state.db"), "HOLDPOINT_LOG_LEVEL=info")
	client := clientOf(addr)
	client.Timeout = time.Minute // makes a test that hangs fail
	run := func(what, thread, more, want string) string {
		t.Helper()
		text, err := play(client, thread, more)
		frames := strings.Split(strings.TrimSpace(text), "\n\n")
		if last := frames[len(frames)-1]; err != nil || !strings.Contains(last, want) {
			t.Errorf("%s: want %s at the end (%v):\n%s", what, want, err, text)
		}
		return text
	}
	asked, broken := run("it asks", "ask", "", "interrupts"), run("it asks", "ask500", "", "interrupts")

	run("it says nothing more", "hang", "", "UPSTREAM_IDLE")
	agent.next(t, "hangs")
	_ = agent.Process.Signal(syscall.SIGSTOP)
	run("it stands still", "plain", "", "UPSTREAM_IDLE")
	_ = agent.Process.Signal(syscall.SIGCONT)
	run("it goes on", "other", "", "RUN_FINISHED")

	run("it answers 500", "500", "", "it is broken")
	run("it answers an approval by 500", "ask500", approves(broken), "UPSTREAM_STATUS")
	agent.next(t, "did")
	run("the same answer again", "ask500", approves(broken), "RESUME_IN_DOUBT")

	died := make(chan string, 1)
	go func() {
		text, _ := play(client, "hang again", "")
		died <- text
	}()
	agent.next(t, "hangs")
	agent.kill()
	if text := <-died; !strings.Contains(text, "UPSTREAM_EOF") {
		t.Errorf("it dies in a run:\n%s", text)
	}
	for { // waits until Holdpoint has noticed that its idle connections are closed
		res, err := client.Get("http://holdpoint/")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode == http.StatusBadGateway {
			break
		}
	}
	run("it is away", "plain", "", "UPSTREAM_UNREACHABLE")
	run("an answer while it is away", "ask", approves(asked), "UPSTREAM_UNREACHABLE")

	agent = startAgent(t, agent.at)
	run("it is back", "plain", "", "RUN_FINISHED")
	for range 2 { // the second request must get the recorded end of the run
		run("the answer", "ask", approves(asked), "RUN_FINISHED")
	}
	if did := agent.next(t, "did"); did != "ask" {
		t.Errorf("it did %s", did)
	}
	agent.kill()
	if agent.lines.Scan() {
		t.Errorf("the agent did something else: %s", agent.lines.Text())
	}
}
