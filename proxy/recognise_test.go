package proxy

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// child runs the calling test again in a new process, because the test could end its process. It
// returns true in the new process and false in the old one.
func child(t *testing.T) bool {
	t.Helper()
	const mark = "HOLDPOINT_TEST_CHILD"
	if os.Getenv(mark) == t.Name() {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), mark+"="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the process did not survive: %v\n%.900s", err, out)
	}
	return false
}

func post(t *testing.T, url, contentType, body string) (int, string) {
	t.Helper()
	res, err := http.Post(url, contentType, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(got)
}

// TestDeeplyNestedBodyDoesNotEndTheProcess: Holdpoint must refuse a body with very deep nesting. Go
// cannot recover from a stack overflow, which would end all streams.
func TestDeeplyNestedBodyDoesNotEndTheProcess(t *testing.T) {
	if !child(t) {
		return
	}
	g := newRig(t, echo)
	status, _ := post(t, g.front.URL, "application/json", `{"threadId":"t","runId":"r","state":`+strings.Repeat("[", 16_000_000))
	if status != http.StatusBadRequest {
		t.Error(status)
	}
}

// TestRunsInADisguiseDoNotPass: for each of these bodies, there is a backend that reads it as a
// run. So Holdpoint must not forward the body as a request that is not a run.
func TestRunsInADisguiseDoNotPass(t *testing.T) {
	const entry = `[{"interruptId":"n1","status":"resolved"}]`
	for _, tt := range []struct{ name, contentType, body string }{
		// express.json() accepts any charset that begins with "utf-", and iconv-lite decodes UTF-7.
		{"UTF-7 for express", "application/json; charset=utf-7", `+AHs-"threadId":"t","runId":"r","messages":[],"resume":` + entry + `}`},
		{"UTF-7 in the keys", "application/json; charset=utf-7", `{"+AHQ-hreadId":"t","runId":"r","messages":[],"resume":` + entry + `}`},
		// Jackson in Spring decodes by the charset, and Java knows EBCDIC.
		{"EBCDIC for Spring", "application/json; charset=IBM037", "\xc0\x7f\xa3\x88\x99\x85\x81\x84\xc9\x84\x7f\x7a\x7f\xa3\x7f\xd0"},
		// encoding/json compares keys by Unicode's simple folding, which reads U+017F as s.
		{"a long s for Go", "application/json", `{"threadId":"t","runId":"r","messages":[` + oldUser + `,` + newUser + `],"re` + "\u017f" + `ume":` + entry + `}`},
		// json.Decoder.Decode reads one value and ignores the rest.
		{"one value and more for Go", "text/plain", `{"threadId":"t","runId":"r","messages":[],"resume":` + entry + `} x`},
		// Some backends do not require all keys of a run.
		{"answers without a runId", "application/json", `{"threadId":"t","resume":` + entry + `}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newRig(t, echo)
			if status, _ := post(t, g.front.URL, tt.contentType, tt.body); g.called() != 0 {
				t.Errorf("it reached the backend (%d)", status)
			}
		})
	}
}

// TestPathParametersDoNotHideARecord: servlet containers route the path /chat;x like /chat. So both
// paths must have the same record.
func TestPathParametersDoNotHideARecord(t *testing.T) {
	g := newRig(t, asksOnce)
	post(t, g.front.URL+"/chat", "application/json", input("t", "r1", ""))
	post(t, g.front.URL+"/chat;x=1", "application/json", `{"threadId":"t","runId":"r2","messages":[`+oldUser+`,`+newUser+`]}`)
	if g.called() != 1 {
		t.Error("new input reached the backend while a question is open")
	}
}

// TestNoTunnelToTheBackend: a client asks for an upgrade to HTTP/2. Holdpoint must not forward the
// upgrade. Otherwise the client would reach the backend past Holdpoint.
func TestNoTunnelToTheBackend(t *testing.T) {
	g := newRig(t, echo)
	req, _ := http.NewRequest(http.MethodGet, g.front.URL+"/", nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "h2c")
	req.Header.Set("HTTP2-Settings", "AAMAAABkAAQAAP__")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got := g.heads[0].Get("Upgrade"); got != "" {
		t.Errorf("the backend was asked to upgrade to %q", got)
	}
}
