//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/test/pages"
)

// send posts a run to the address, and returns the response. members are the members of the body
// after threadId.
func send(t *testing.T, address, thread, members string) string {
	t.Helper()
	res, err := http.Post("http://"+address+"/", "application/json", strings.NewReader(fmt.Sprintf(`{"protocolVersion":"1.0","threadId":%q,%s}`, thread, members)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestOwnAgentPage plays docs/own-agent.md: an agent sends the stream of the page, and the client
// answers its question. The agent must get the resume of the page.
func TestOwnAgentPage(t *testing.T) {
	t.Parallel()
	blocks := blocksOf(t, func(b pages.Block) bool { return b.Runs == "cmd/holdpoint: TestOwnAgentPage" })
	if len(blocks) != 2 {
		t.Fatalf("%d blocks", len(blocks))
	}
	want := gjson.Get(blocks[1].Text, "resume")
	var got []byte
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		body, _ := io.ReadAll(r.Body)
		if !gjson.GetBytes(body, "resume").Exists() {
			io.WriteString(w, blocks[0].Text+"\n")
			return
		}
		got = body
		io.WriteString(w, "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t1\",\"runId\":\"r2\"}\n\ndata: {\"type\":\"RUN_FINISHED\",\"threadId\":\"t1\",\"runId\":\"r2\"}\n\n")
	}))
	defer agent.Close()
	_, addr := start(t, "HOLDPOINT_UPSTREAM="+agent.URL)
	messages := `"messages":` + gjson.Get(blocks[1].Text, "messages").Raw
	asked := askedID.FindStringSubmatch(send(t, addr, "t1", `"runId":"r1",`+messages))
	if asked == nil {
		t.Fatal("no question")
	}
	entry := `[{"interruptId":"` + asked[1] + `","status":"resolved","payload":` + want.Get("0.payload").Raw + `}]`
	said := send(t, addr, "t1", `"runId":"r2",`+messages+`,"resume":`+entry)
	if strings.Contains(said, "RUN_ERROR") || gjson.GetBytes(got, "resume").Raw != want.Raw {
		t.Errorf("the agent got %s, want the resume %s; the client got\n%s", got, want.Raw, said)
	}
}

// TestTestingPage runs the commands of docs/testing.md, and sends the scripted agent each request
// of its tables. Only the ports, the agent's address and the path of the log are changed.
func TestTestingPage(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash on this machine; make test has it") // make unit must need Go only
	}
	blocks := blocksOf(t, func(b pages.Block) bool { return b.Runs == "cmd/holdpoint: TestTestingPage" })
	if len(blocks) != 2 {
		t.Fatalf("%d blocks", len(blocks))
	}
	agent := httptest.NewServer(http.HandlerFunc(refunder))
	defer agent.Close()
	dir := t.TempDir()
	if err := os.Symlink(binary, filepath.Join(dir, "holdpoint")); err != nil {
		t.Fatal(err)
	}
	// during runs the block, and calls tests at its line "run your tests here".
	during := func(block string, tests func(address string)) {
		t.Helper()
		address := freeAddress(t)
		text := strings.NewReplacer("127.0.0.1:7090", address, "127.0.0.1:7091", freeAddress(t), "http://localhost:8000/agent", agent.URL,
			"# run your tests here", "echo ready; read -r #").Replace(block)
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", text)
		cmd.Dir, cmd.Env, cmd.Stderr = dir, []string{"PATH=" + dir + ":" + os.Getenv("PATH")}, os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
			t.Fatal(err)
		}
		tests(address)
		io.WriteString(in, "\n")
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}

	during(blocks[0].Text, func(address string) { askScriptedAgent(t, address, filepath.Join(dir, "demo.log")) })
	during(blocks[1].Text, func(address string) {
		if said := ask(t, address, "r1", ""); askedID.FindString(said) == "" {
			t.Errorf("the agent asks nothing:\n%s", said)
		}
	})
}

// freeAddress returns an address of the loopback interface with a free port.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// answerRow matches a row of docs/testing.md with an answer, a part of the response, and the number
// of emails.
var answerRow = regexp.MustCompile("(?m)^\\| `(\"status\":.*)` \\| `([^`]+)`(, and the question again)? \\| ([01]) \\|$")

// askScriptedAgent sends the requests that docs/testing.md lists, and compares the responses and
// the number of emails in the log with the page.
func askScriptedAgent(t *testing.T, address, log string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := answerRow.FindAllStringSubmatch(string(page), -1)
	if len(rows) != 5 {
		t.Fatalf("%d rows", len(rows))
	}
	const message = `{"id":"m1","role":"user","content":"Mail the report."}`
	question := func(thread string) (id string) {
		t.Helper()
		m := askedID.FindStringSubmatch(send(t, address, thread, `"runId":"r1","messages":[`+message+`]`))
		if m == nil {
			t.Fatalf("%s: no question", thread)
		}
		return m[1]
	}
	emails := func() int {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "the agent runs send_email")
	}
	answer := func(thread, id, says string) string {
		t.Helper()
		return send(t, address, thread, `"runId":"r2","messages":[],"resume":[{"interruptId":"`+id+`",`+says+`}]`)
	}
	for n, row := range rows {
		if !json.Valid([]byte("{" + row[1] + "}")) {
			t.Errorf("no JSON: %s", row[1])
		}
		thread := fmt.Sprint("answer-", n)
		id, before := question(thread), emails()
		said := answer(thread, id, row[1])
		if !strings.Contains(said, row[2]) || (row[3] != "") != (askedID.FindString(said) != "") {
			t.Errorf("%s: the response is\n%s", row[1], said)
		}
		want := before + len(strings.Trim(row[4], "0"))
		for end := time.Now().Add(5 * time.Second); emails() < want && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		if got := emails(); got != want {
			t.Errorf("%s: %d emails, want %d", row[1], got, want)
		}
	}

	const yes, no = `"status":"resolved","payload":{"approved":true}`, `"status":"resolved","payload":{"approved":false}`
	sent := question("again")
	first, mails := answer("again", sent, yes), emails()
	if again := answer("again", sent, yes); strings.Contains(again, "RUN_ERROR") || strings.Contains(first, "RUN_ERROR") || emails() != mails {
		t.Errorf("the same answer again: %d emails, want %d\n%s", emails(), mails, again)
	}
	if said := answer("again", sent, no); !strings.Contains(said, "RESUME_CONFLICT") {
		t.Errorf("another answer:\n%s", said)
	}
	open := question("open")
	for members, want := range map[string]string{
		`"messages":[` + message + `,{"id":"m2","role":"user","content":"And?"}]`: "PENDING_INTERRUPTS",
		`"messages":[` + message + `]`:                                            "RUN_FINISHED",
		`"messages":[],"resume":[{"interruptId":"another",` + yes + `}]`:          "UNKNOWN_INTERRUPT_ID",
	} {
		said := send(t, address, "open", `"runId":"r2",`+members)
		if m := askedID.FindStringSubmatch(said); !strings.Contains(said, want) || m == nil || m[1] != open {
			t.Errorf("%s: the response is\n%s", members, said)
		}
	}
}
