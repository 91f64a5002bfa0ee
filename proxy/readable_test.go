package proxy

import (
	"net/http"
	"strings"
	"testing"
)

// These are requests of the two .NET clients. Both have the thread t and a long run id.
const (
	inTreeRequest = `{"threadId":"t","runId":"run_0d66c3ca00004ab4b96e8b2898de1e9a","messages":[{"name":null,"id":"u1","role":"user","content":"go"}],"context":[]}`
	sdkRequest    = `{"threadId":"t","runId":"run_OZLVt2DmBrMeqZz7wpQrf3r5","messages":[{"role":"user","content":"go"}]}`
)

// TestReadableStream sends streams through Holdpoint to the two .NET clients and to an unknown
// client. It checks what each of them gets.
func TestReadableStream(t *testing.T) {
	t.Parallel()
	const (
		snapshot = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"old","role":"assistant","content":"before"},{"id":"u1","role":"user","content":"go"},{"id":"m1","role":"assistant","content":"said"},{"id":"m2","role":"assistant","content":"only here"}]}`
		begun    = `{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`
		said     = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"said"}`
		ended    = `{"type":"TEXT_MESSAGE_END","messageId":"m1"}`
	)
	here := []string{`{"type":"TEXT_MESSAGE_START","messageId":"m2","role":"assistant"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m2","delta":"only here"}`, `{"type":"TEXT_MESSAGE_END","messageId":"m2"}`}
	events := []string{started, `{"type":"STEP_STARTED","stepName":"s"}`, begun, said, said, said, ended, snapshot, `{"type":"THINKING_START"}`, finished}
	for _, test := range []struct {
		name, body string
		form       Client
		want       []string
	}{
		{"in-tree", inTreeRequest, ClientAuto, append([]string{begun, said, said, said, ended}, here...)},
		{"sdk", sdkRequest, ClientAuto, append(append([]string{events[1], begun, said, said, said, ended}, here...), snapshot)},
		{"sdk, the operator names the form", sdkRequest, ClientOutcome, append(append([]string{events[1], begun, said, said, said, ended}, here...), snapshot)},
		{"in-tree, the operator wants the backend's own stream", inTreeRequest, ClientNative, events[1:9]},
		{"unknown", input("t", "r", ""), ClientAuto, events[1:9]},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { sendStream(w, streamOf(events...)) }, func(o *Options) { o.Client = test.form })
			got := strings.Split(strings.TrimSuffix(strings.ReplaceAll(g.do(test.body), "data: ", ""), "\n\n"), "\n\n")
			if inside := got[1 : len(got)-1]; strings.Join(inside, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(inside, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}
