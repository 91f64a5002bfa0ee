package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/event/door"
	"holdpoint/store"
)

// An agent is a fake Agent. It writes decisions into the store. If fails is set, it returns that
// error instead.
type agent struct {
	store store.Store
	fails error
	lacks []agui.ChatOnlyReason
}

func (a *agent) ChatOnlyReasons(*agui.Pause) []agui.ChatOnlyReason { return a.lacks }

func (a *agent) Decide(ctx context.Context, key store.Key, pauseID string, who door.Decider, words []door.Decision) (store.Record, error) {
	if a.fails != nil {
		return store.Record{}, a.fails
	}
	var list []agui.Decision
	for _, w := range words {
		list = append(list, agui.Decision{
			Question: w.Question, Status: w.Status, Payload: w.Payload, Digest: string(w.Status) + string(w.Payload),
			Door: string(who.Door), By: who.Name, Comment: w.Comment,
		})
	}
	if _, err := a.store.Do(ctx, key, store.Decide{PauseID: pauseID, Decisions: list}); err != nil {
		return store.Record{}, err
	}
	return a.store.Load(ctx, key, "")
}

// deciding returns a rig with an agent, so that approvals can be decided.
func deciding(t *testing.T) (*rig, *agent) {
	r := inMemory(t)
	a := &agent{store: r.store}
	r.desk.opts.Agents = map[string]Agent{"billing": a}
	return r, a
}

// post sends a POST request with the operator's token. The response must have this status.
func (r *rig) post(status int, path, body string, headers ...string) gjson.Result {
	r.Helper()
	req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("Content-Type", "application/json")
	for n := 0; n < len(headers); n += 2 {
		req.Header.Set(headers[n], headers[n+1])
	}
	w := httptest.NewRecorder()
	r.desk.ServeHTTP(w, req)
	res := w.Result()
	text, _ := io.ReadAll(res.Body)
	documentedPost(r.T, req, body, res, text)
	if res.StatusCode != status {
		r.Fatalf("POST %s %s: status %d, want %d: %s", path, body, res.StatusCode, status, text)
	}
	return gjson.ParseBytes(text)
}

func (r *rig) digest(n int, question int) string {
	p := pause(n, "refund", `{}`)
	return p.Origin.AskedDigest(&p.Interrupts[question])
}

// TestDecide: a person decides an approval. Then the approval must show the decision and the name
// of this person. If the same decision is sent again, nothing may change.
func TestDecide(t *testing.T) {
	r, a := deciding(t)
	a.lacks = []agui.ChatOnlyReason{agui.NoTools}
	var told []store.Key
	r.desk.opts.OnDecided = func(key store.Key) { told = append(told, key) }
	r.open(1, pause(1, "refund", `{}`))
	before := r.ask(200, "GET", "/v1/approvals/"+id(1))
	if before.Get("waitsForChat").Raw != `["tools"]` {
		t.Errorf("before: %s", before)
	}
	path, body := "/v1/approvals/"+id(1)+"/questions/i1", fmt.Sprintf(`{"decision":"approve","comment":"fine","digest":%q}`, before.Get("questions.0.digest").Str)
	for range 2 {
		got := r.post(200, path, body)
		if got.Get("state").Str != "decided" || got.Get("questions.0.decision.by").Str != "operator" || got.Get("questions.0.decision.comment").Str != "fine" ||
			got.Get("questions.0.decision.status").Str != "resolved" || got.Get("waitsForChat").Raw != `["tools"]` {
			t.Errorf("decided: %s", got)
		}
	}
	if len(told) != 2 || told[0] != keyOf(1) {
		t.Errorf("told of %v", told)
	}
	other := r.post(409, path, strings.Replace(body, "approve", "cancel", 1))
	if other.Get("code").Str != codeDecided || other.Get("approval.questions.0.decision.by").Str != "operator" {
		t.Errorf("otherwise: %s", other)
	}
	if got := ids(r.ask(200, "GET", "/v1/approvals?state=decided")); len(got) != 1 {
		t.Errorf("decided are %v", got)
	}
	if got := ids(r.ask(200, "GET", "/v1/approvals")); len(got) != 0 {
		t.Errorf("waiting are %v", got)
	}
	// A decision is not an end: the thread can still be freed.
	r.ask(200, "DELETE", "/v1/approvals/"+id(1))
	if code := r.post(409, path, strings.Replace(body, "approve", "cancel", 1)).Get("code").Str; code != codeEnded {
		t.Errorf("when it has ended: %s", code)
	}
}

// TestDecideRefused: if a decision is refused, the refusal must name what is wrong, and the desk
// must write nothing into the store.
func TestDecideRefused(t *testing.T) {
	r, a := deciding(t)
	r.open(1, pause(1, "refund", `{}`))
	other := pause(2, "refund", `{}`)
	other.Origin.Agent = "mail"
	r.open(2, other)
	old := pause(3, "refund", `{}`)
	old.Origin = nil
	r.open(3, old)
	digest := r.digest(1, 0)
	one := "/v1/approvals/" + id(1) + "/questions/i1"
	all := "/v1/approvals/" + id(1)
	deep := strings.Repeat("[", agui.MaxDepth) + strings.Repeat("]", agui.MaxDepth)
	for _, c := range []struct {
		status     int
		code       string
		path, body string
	}{
		{428, codeNoDigest, one, `{"decision":"approve"}`},
		{412, codeDigest, one, `{"decision":"approve","digest":"sha256:0"}`},
		{412, codeDigest, one, `{"decision":"approve","digest":"` + r.digest(2, 0) + `"}`},
		{404, codeNoQuestion, "/v1/approvals/" + id(1) + "/questions/i9", `{"decision":"approve","digest":"x"}`},
		{404, codeNoApproval, "/v1/approvals/" + id(9) + "/questions/i1", `{"decision":"approve","digest":"x"}`},
		{404, codeNoApproval, "/v1/approvals/x/questions/i1", `{"decision":"approve","digest":"x"}`},
		{422, codeNotKnown, one, `{"decision":"deny","digest":"` + digest + `"}`},
		{400, codeParameter, one, `{"decision":"perhaps","digest":"` + digest + `"}`},
		{400, codeParameter, one, `{"digest":"` + digest + `"}`},
		{400, codeParameter, one, `{"decision":"approve","payload":1,"digest":"` + digest + `"}`},
		{400, codeParameter, one, `{"decision":"cancel","payload":1,"digest":"` + digest + `"}`},
		{400, codeParameter, one, `{"decision":"approve","comment":"` + strings.Repeat("x", maxComment+1) + `","digest":"` + digest + `"}`},
		{400, codeParameter, one, `{"decision":"approve","reason":"x","digest":"` + digest + `"}`},
		{400, codeParameter, one, `{"decision":"approve","why":"x","digest":"` + digest + `"}`},
		{400, codeParameter, one, `{"decision":"approve","decision":"cancel","digest":"` + digest + `"}`},
		{400, codeParameter, one, `{"decision":"deny","Decision":"approve","digest":"` + digest + `"}`},
		{400, codeParameter, one, `{"Decision":"approve","digest":"` + digest + `"}`},
		{400, codeParameter, one, `{"decision":"approve","DIGEST":"` + digest + `"}`},
		{400, codeParameter, one, `{"deci_sion":"approve","digest":"` + digest + `"}`},
		{400, codeParameter, one, `{"decisio\u006e":"approve","digest":"` + digest + `"}`},
		{400, codeParameter, "/v1/approvals/" + id(1), `{"Decisions":[{"question":"i1","decision":"approve","digest":"` + digest + `"}]}`},
		{400, codeParameter, "/v1/approvals/" + id(1), `{"decisions":[{"question":"i1","Decision":"approve","digest":"` + digest + `"}]}`},
		{400, codeParameter, one, `{"decision":"deny","deci\u0073ion":"approve","digest":"` + digest + `"}`},
		{400, codeParameter, one, `{"decision":"answer","payload":{"approved":false,"Approved":true},"digest":"` + digest + `"}`},
		{400, codeParameter, one, `{"decision":"answer","payload":{"editedArgs":{"path":"a","path":"b"}},"digest":"` + digest + `"}`},
		{400, codeParameter, one, `{"decision":"answer","payload":{"x":"` + "\xff" + `"},"digest":"` + digest + `"}`},
		{400, codeParameter, one, `{"decision":"deny","decision":"answer","payload":` + deep + `,"digest":"` + digest + `"}`},
		{400, codeParameter, one, `{"decision":"answer","payload":` + deep + `,"digest":"` + digest + `"}`},
		{400, codeParameter, all, `{"decisions":[],"Decisions":[{"question":"i1","decision":"approve","digest":"` + digest + `"}]}`},
		{400, codeParameter, one, `{"decision":"approve","digest":"` + digest + `"} x`},
		{400, codeParameter, one, `{"question":"i2","decision":"approve","digest":"` + digest + `"}`},
		{400, codeParameter, one, ``},
		{400, codeParameter, one, `[]`},
		{400, codeParameter, all, `{"decisions":[]}`},
		{400, codeParameter, all, `{"decisions":[{"question":"i1","decision":"approve","digest":"` + digest + `"},{"question":"i1","decision":"cancel","digest":"` + digest + `"}]}`},
		{413, codeParameter, one, `{"comment":"` + strings.Repeat("x", maxBody) + `"}`},
		{409, codeElsewhere, "/v1/approvals/" + id(2) + "/questions/i2", `{"decision":"approve","digest":"` + other.Origin.AskedDigest(&other.Interrupts[0]) + `"}`},
		{412, codeDigest, "/v1/approvals/" + id(3) + "/questions/i3", `{"decision":"approve","digest":"` + digest + `"}`},
	} {
		if got := r.post(c.status, c.path, c.body); got.Get("code").Str != c.code {
			t.Errorf("%s %.80s: %s, want %s", c.path, c.body, got, c.code)
		}
	}
	if code := r.post(415, one, `{}`, "Content-Type", "text/plain").Get("code").Str; code != codeMediaType {
		t.Errorf("another media type: %s", code)
	}
	if code := r.post(403, one, `{}`, "Sec-Fetch-Site", "cross-site").Get("code").Str; code != codeCrossOrigin {
		t.Errorf("a page of another origin: %s", code)
	}
	fine := `{"decision":"approve","digest":"` + digest + `"}`
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{agui.Errorf(agui.InvalidPayload, "it does not fit"), 422, string(agui.InvalidPayload)},
		{agui.Errorf(agui.InterruptExpired, "late"), 422, string(agui.InterruptExpired)},
		{door.ErrNotWritten, 503, string(agui.AuditUnavailable)},
		{errors.New("down"), 503, codeStore},
	} {
		a.fails = c.err
		if got := r.post(c.status, one, fine); got.Get("code").Str != c.code {
			t.Errorf("%v: %s", c.err, got)
		}
	}
	rec, err := r.store.Load(t.Context(), keyOf(1), "")
	r.must(err)
	if rec.Pause.Decisions != nil {
		t.Errorf("%+v stand", rec.Pause.Decisions)
	}
}

// TestReason: a person decides with a reason. If the question's answers have a member for a reason,
// the reason must become part of the answer. Otherwise the desk must refuse the decision.
func TestReason(t *testing.T) {
	r, _ := deciding(t)
	for n, because := range map[int]string{1: "", 2: "reason"} {
		p := pause(n, "refund", `{}`)
		p.Interrupts[0].No, p.Interrupts[0].ReasonMember = json.RawMessage(`{"approved":false}`), because
		r.open(n, p)
	}
	body := func(n int, decision, reason string) (path, text string) {
		return fmt.Sprintf("/v1/approvals/%s/questions/i%d", id(n), n), fmt.Sprintf(`{"decision":%q,"reason":%q,"digest":%q}`, decision, reason, r.digest(n, 0))
	}
	for _, c := range []struct {
		status, n        int
		code             string
		decision, reason string
	}{
		{422, 1, codeNoPlace, "deny", "too much"},
		{400, 2, codeParameter, "approve", "too much"},
		{400, 2, codeParameter, "cancel", "too much"},
		{400, 2, codeParameter, "deny", strings.Repeat("x", maxReason+1)},
	} {
		path, text := body(c.n, c.decision, c.reason)
		if got := r.post(c.status, path, text); got.Get("code").Str != c.code {
			t.Errorf("%.80s: %s", text, got)
		}
	}
	for n, takes := range map[int]bool{1: false, 2: true} {
		if got := r.ask(200, "GET", "/v1/approvals/"+id(n)).Get("questions.0.takesReason").Bool(); got != takes {
			t.Errorf("question %d takes a reason: %v", n, got)
		}
	}
	path, text := body(2, "deny", `"too much"`)
	if got := r.post(200, path, text).Get("questions.0.decision.payload").Raw; got != `{"approved":false,"reason":"\"too much\""}` {
		t.Errorf("the agent is told %s", got)
	}
}

// TestDecideAtOnce: ten callers send different decisions at the same time. One decision counts. The
// other callers must be told who took that decision.
func TestDecideAtOnce(t *testing.T) {
	r, _ := deciding(t)
	r.open(1, pause(1, "refund", `{}`))
	statuses := make([]int, 10)
	var allOf sync.WaitGroup
	for n := range statuses {
		allOf.Go(func() {
			body := fmt.Sprintf(`{"decision":"answer","payload":{"n":%d},"digest":%q}`, n, r.digest(1, 0))
			req := httptest.NewRequest(http.MethodPost, "/v1/approvals/"+id(1)+"/questions/i1", strings.NewReader(body))
			req.Header.Set("Authorization", "Bearer "+secret)
			req.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			r.desk.ServeHTTP(w, req)
			statuses[n] = w.Code
		})
	}
	allOf.Wait()
	heard := 0
	for _, s := range statuses {
		switch s {
		case 200:
			heard++
		case 409:
		default:
			t.Errorf("status %d", s)
		}
	}
	if heard != 1 {
		t.Errorf("%d were heard", heard)
	}
}
