//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestDemoAtTheDesk: the terminal must show the address of the desk's page. After a decision on the
// page, the terminal must show that the run continues. The page must stay, with the decision, until
// Ctrl-C.
func TestDemoAtTheDesk(t *testing.T) {
	t.Parallel()
	for decision, want := range map[string]string{"approve": "send_email was executed once", "deny": "send_email was not executed"} {
		p := exec.Command(binary, "demo", "-desk")
		p.Env = []string{"HOLDPOINT_DESK_LISTEN=127.0.0.1:0"}
		out, err := p.StdoutPipe()
		if err == nil {
			err = p.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Process.Kill(); p.Wait() })
		said := bufio.NewReader(out)
		until := func(pattern string) string {
			for {
				line, err := said.ReadString('\n')
				if m := regexp.MustCompile(pattern).FindStringSubmatch(line); m != nil {
					return m[1]
				}
				if err != nil {
					t.Fatalf("no %s: %v", pattern, err)
				}
			}
		}
		c := caller{T: t, at: until(`The desk is at http://([^/]+)/`), token: until(`The token to sign in with, until Holdpoint ends: (\S+)`)}
		if res, err := http.Get("http://" + c.at + "/"); err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("the page: %v %v", res, err)
		} else {
			res.Body.Close()
		}
		a := c.ok("GET", "/v1/approvals").Get("approvals.0")
		q := a.Get("questions.0")
		if status, got := c.send("POST", "/v1/approvals/"+a.Get("id").Str+"/questions/"+q.Get("id").Str, fmt.Sprintf(`{"decision":%q,"digest":%q}`, decision, q.Get("digest").Str)); status != http.StatusOK {
			t.Fatalf("%s: %d %s", decision, status, got)
		}
		var rest strings.Builder
		for !strings.Contains(rest.String(), "Ctrl-C ends the demo.") {
			line, err := said.ReadString('\n')
			if rest.WriteString(line); err != nil {
				t.Fatalf("%s: %v\n%s", decision, err, rest.String())
			}
		}
		if !strings.Contains(rest.String(), want) || !strings.Contains(rest.String(), "RUN_FINISHED") {
			t.Errorf("%s:\n%s", decision, rest.String())
		}
		one := c.ok("GET", "/v1/approvals/"+a.Get("id").Str)
		if end := one.Get("end"); one.Get("state").Str != "ended" || end.Get("how").Str != "finished" || end.Get("questions.0.says").Str != map[string]string{"approve": "approved", "deny": "denied"}[decision] {
			t.Errorf("%s: the page shows %s", decision, one.Raw)
		}
		if list := c.ok("GET", "/v1/approvals?state=ended").Get("approvals"); list.Get("0.id").Str != a.Get("id").Str {
			t.Errorf("%s: what was decided is not listed: %s", decision, list.Raw)
		}
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if left, err := io.ReadAll(said); err != nil || len(left) > 0 {
			t.Errorf("%s: behind Ctrl-C: %q, %v", decision, left, err)
		}
		if err := p.Wait(); err != nil {
			t.Errorf("%s: %v", decision, err)
		}
	}
}
