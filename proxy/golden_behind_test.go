package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"holdpoint/internal/agui"
	golden "holdpoint/internal/scenario"
	"holdpoint/proxy"
	"holdpoint/store/memory"
	"holdpoint/translate/dialects"
)

// TestGoldenBehindHoldpoint: the output of Holdpoint is AG-UI. So if an outer Holdpoint stands
// before an inner Holdpoint, the outer one must change only the ids. The outer Holdpoint uses the
// dialect agui and shows the outcome. It also sends a CUSTOM event if the inner Holdpoint sends
// one.
func TestGoldenBehindHoldpoint(t *testing.T) {
	failing := knownFailing(t)
	for _, s := range someScenarios(t, 0) {
		if _, known := failing[s.Name]; known {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			t.Run("its streams", func(t *testing.T) { feedOuter(t, s) })
			t.Run("the whole chain", func(t *testing.T) { playChain(t, s) })
		})
	}
}

// outer returns a Holdpoint in front of inner, which is another Holdpoint.
func outer(t *testing.T, s scenario, c *clock, client proxy.Client, inner http.RoundTripper) http.Handler {
	t.Helper()
	o := proxy.Options{
		Upstream: &url.URL{Scheme: "http", Host: "inner", Path: "/"}, Transport: inner,
		Store: memory.New(memory.Options{Now: c.Now}), Now: c.Now,
	}
	s.configure(t, &o)
	o.Client, o.InterruptTTL, o.NewID = client, 0, func() string { return outerMark }
	var err error
	if o.Dialect, err = dialects.All().New("agui", nil); err != nil {
		t.Fatal(err)
	}
	h, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// outerMark is the suffix that the outer Holdpoint adds to the ids of the inner Holdpoint.
const outerMark = "outer"

// unmarked returns a stream of the outer Holdpoint, with the ids as the inner Holdpoint made them.
func unmarked(stream []byte) []byte { return bytes.ReplaceAll(stream, []byte("~"+outerMark), nil) }

// marked returns a request for the outer Holdpoint: the ids in its resume array have the suffix of
// the outer Holdpoint.
func marked(t *testing.T, body []byte) []byte {
	t.Helper()
	for n, entry := range gjson.GetBytes(body, "resume").Array() {
		if id := entry.Get("interruptId"); id.Exists() {
			var err error
			if body, err = sjson.SetBytes(body, fmt.Sprintf("resume.%d.interruptId", n), id.Str+"~"+outerMark); err != nil {
				t.Fatal(err)
			}
		}
	}
	return body
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// feedOuter sends each stream that the scenario expects through an outer Holdpoint that does not
// know the thread. The request has no messages, so the outer Holdpoint can make a snapshot only
// from the stream.
func feedOuter(t *testing.T, s scenario) {
	if s.env["HOLDPOINT_CLIENT"] == "native" || s.env["HOLDPOINT_TRANSCRIPT_BYTES"] != "" || strings.HasPrefix(s.Name, "contract/resume-without-messages-") {
		// Native clients get the backend's own form. In the other two cases, the client would get a
		// snapshot that the scenario does not have.
		return
	}
	for turn := 1; turn <= s.Turns; turn++ {
		want := s.Part(golden.Want(turn))
		if bytes.HasPrefix(want, []byte("HTTP ")) {
			continue
		}
		client := proxy.ClientOutcome
		if bytes.Contains(want, []byte(agui.OnInterrupt)) {
			client = proxy.ClientBoth
		}
		h := outer(t, s, &clock{now: s.Clock}, client, roundTrip(func(r *http.Request) (*http.Response, error) {
			header := http.Header{"Content-Type": {"text/event-stream"}}
			return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(bytes.NewReader(want)), Request: r}, nil
		}))
		in := gjson.ParseBytes(s.request(turn))
		body := map[string]any{"threadId": in.Get("threadId").Str, "runId": in.Get("runId").Str, "messages": []string{}}
		if v := in.Get("protocolVersion"); v.Exists() {
			body["protocolVersion"] = v.Str
		}
		got, _ := io.ReadAll(serve(h, agui.MustMarshal(body)).Body)
		got = unmarked(got)
		if !bytes.Equal(got, want) {
			t.Errorf("turn %d: %s", turn, firstDifference(string(got), string(want)))
		}
	}
}

// playChain plays a scenario twice: through one Holdpoint alone, and through a chain of an outer
// and an inner Holdpoint. The client reads the outcome. Both ways must give the same bytes. If both
// refuse a payload, they may give different reasons. playChain stops early in the cases in which
// the alone Holdpoint and the chain may differ:
//
//   - The client answers in a backend's own form, which the outer Holdpoint does not know.
//   - A question was lost. Only the outer Holdpoint still has that question.
//   - The inner Holdpoint refuses an answer that only its dialect can judge. The outer Holdpoint
//     has already claimed the pause.
//   - The outer Holdpoint refuses a payload that does not fit the published schema. The dialect of
//     the inner Holdpoint may accept other forms.
//   - The outer Holdpoint refuses a yes for a call that was too large for its record. The dialect
//     of the inner Holdpoint has the call from the backend.
//   - The outer Holdpoint does not send the cancel of a question in doubt, because it does not know
//     what the inner Holdpoint does with it.
//   - The inner Holdpoint is in doubt. The outer Holdpoint sees only an error.
func playChain(t *testing.T, s scenario) {
	s.env = maps.Clone(s.env)
	s.env["HOLDPOINT_CLIENT"] = "outcome"
	alone, inner := newStage(t, s, delivery{}), newStage(t, s, delivery{})
	asked := false
	h := outer(t, s, inner.clock, proxy.ClientOutcome, roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = true
		body, _ := io.ReadAll(r.Body)
		res := serve(inner.handler, body)
		res.Request = r
		return res, nil
	}))
	for turn := 1; turn <= s.Turns; turn++ {
		body := s.request(turn)
		if inOwnForm(body) {
			return
		}
		alone.begin(turn)
		inner.begin(turn)
		asked = false
		want, got := alone.post(body), unmarked(inner.read(serve(h, marked(t, body))))
		if bytes.Contains(want, []byte("holdpoint:lost_question")) {
			return
		}
		if asked && len(inner.backend.sent) == 0 || !asked && len(alone.backend.sent) > 0 && (bytes.Contains(got, []byte(agui.InvalidPayload)) || bytes.Contains(got, []byte(agui.ApprovalUncertain))) {
			return
		}
		if !asked && bytes.Contains(got, []byte("the cancel was not sent to the backend")) {
			return
		}
		if !asked && len(alone.backend.sent) == 0 && bytes.Contains(got, []byte(agui.InvalidPayload)) && bytes.Contains(want, []byte(agui.InvalidPayload)) {
			got, want = withoutReason(got), withoutReason(want)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("turn %d: %s", turn, firstDifference(string(got), string(want)))
			return
		}
		if gjson.GetBytes(inner.record(), "pause").Str == "in doubt" {
			return
		}
	}
}

// withoutReason returns a stream without the reason for which a payload was refused. Each dialect
// has its own texts of reasons, and long texts are cut. The questions and their texts for a person
// stay in the stream.
func withoutReason(stream []byte) []byte { return refusedReason.ReplaceAll(stream, []byte(`$1""`)) }

var refusedReason = regexp.MustCompile(`("refusal":\{"code":"INVALID_PAYLOAD","text":"(?:\\.|[^"\\])*","detail":|"type":"RUN_ERROR","message":)"(?:\\.|[^"\\])*"`)

// inOwnForm reports whether a request may contain an answer in a backend's own form. These forms
// are command.resume, a resume object and a tool message at the end. An answer to request_approval
// or to function_approvals may be anywhere in the request.
func inOwnForm(body []byte) bool {
	resume, messages := gjson.GetBytes(body, "resume"), gjson.GetBytes(body, "messages").Array()
	return gjson.GetBytes(body, "forwardedProps.command").Exists() || gjson.GetBytes(body, "forwardedProps.resume").Exists() ||
		bytes.Contains(body, []byte("function_approvals")) || resume.IsObject() || bytes.Contains(body, []byte("approval_id")) ||
		!resume.Exists() && len(messages) > 0 && messages[len(messages)-1].Get("role").Str == "tool"
}
