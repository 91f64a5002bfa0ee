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

// TestGoldenBehindHoldpoint: Holdpoint's output is AG-UI, so a Holdpoint in front of another
// changes only the ids. The outer one uses the agui dialect and shows the outcome, with a CUSTOM
// event beside it where the inner one has one.
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

// outer returns a Holdpoint in front of inner.
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

// outerMark is the suffix that the outer Holdpoint adds to the inner one's ids.
const outerMark = "outer"

// unmarked returns the outer stream with the inner ids.
func unmarked(stream []byte) []byte { return bytes.ReplaceAll(stream, []byte("~"+outerMark), nil) }

// marked returns a request with the outer ids in its resume array.
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

// feedOuter sends every expected stream through an outer Holdpoint that has not seen the thread.
// The request has no messages, so a snapshot can only be made from the stream.
func feedOuter(t *testing.T, s scenario) {
	if s.env["HOLDPOINT_CLIENT"] == "native" || s.env["HOLDPOINT_TRANSCRIPT_BYTES"] != "" || strings.HasPrefix(s.Name, "contract/resume-without-messages-") {
		return // the backend's own is shown, not Holdpoint's; a snapshot was left out that this request would allow
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

// playChain plays a scenario through one Holdpoint and through two, one behind the other, for a
// client that reads the outcome. It ends where a client answers in a backend's own form, which the
// outer one does not know; where the inner one refuses what only its dialect could judge, for by
// then the outer one has claimed its pause; and where the inner one is in doubt, which the outer
// one takes for the error that it was told; and where the outer one refuses a payload that does not
// fit the schema which the inner one published, for its dialect may take other forms, or a yes for
// a call that it had no room for, which the inner one's dialect has of the backend. It ends, too,
// at a question that was lost: only the outer one has heard which. And it ends where the outer one
// hands no cancel of a doubt on, because it does not know what the inner one makes of it. Both may
// refuse a payload for different reasons.
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

// withoutReason returns a stream without the reason why a payload was refused, because each dialect
// has its own texts, and long ones are cut. The client still gets the same questions with the same
// text for a person.
func withoutReason(stream []byte) []byte { return refusedReason.ReplaceAll(stream, []byte(`$1""`)) }

var refusedReason = regexp.MustCompile(`("refusal":\{"code":"INVALID_PAYLOAD","text":"(?:\\.|[^"\\])*","detail":|"type":"RUN_ERROR","message":)"(?:\\.|[^"\\])*"`)

// inOwnForm reports whether a request may contain an answer in a backend's own form:
// command.resume, a resume object, a tool message at the end, or an answer to request_approval or
// function_approvals anywhere.
func inOwnForm(body []byte) bool {
	resume, messages := gjson.GetBytes(body, "resume"), gjson.GetBytes(body, "messages").Array()
	return gjson.GetBytes(body, "forwardedProps.command").Exists() || gjson.GetBytes(body, "forwardedProps.resume").Exists() ||
		bytes.Contains(body, []byte("function_approvals")) || resume.IsObject() || bytes.Contains(body, []byte("approval_id")) ||
		!resume.Exists() && len(messages) > 0 && messages[len(messages)-1].Get("role").Str == "tool"
}
