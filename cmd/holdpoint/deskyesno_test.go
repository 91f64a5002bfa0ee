//go:build unix

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// TestDeskOfFreeQuestions: a plain interrupt() of LangGraph can ask with any value, and accepts any
// value as the answer. With HOLDPOINT_ANSWERS the desk shows the action and the arguments of the
// question, offers a yes and a no, and sends the configured value for the chosen one to the agent.
// Without HOLDPOINT_ANSWERS the desk asks the approver for a text.
func TestDeskOfFreeQuestions(t *testing.T) {
	t.Parallel()
	const id = "95b93ade5d71718992515f7daf83c1ce"
	answers := make(chan string, 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		send := func(event string) { io.WriteString(w, "data: "+event+"\n\n") }
		send(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)
		if given := gjson.GetBytes(body, "forwardedProps.command.resume"); given.Exists() {
			answers <- given.Raw
		} else {
			const value = `{"action":"pay","args":{"to":"Bob","amount":5}}`
			send(`{"type":"CUSTOM","name":"on_interrupt","value":"` + strings.ReplaceAll(value, `"`, `\"`) + `","rawEvent":{"id":"` + id + `","value":` + value + `}}`)
		}
		send(`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)
	}))
	defer upstream.Close()
	begin := func(t *testing.T, settings ...string) (caller, gjson.Result) {
		at := socket(t)
		_, addr := start(t, append(settings, "HOLDPOINT_UPSTREAM="+upstream.URL, "HOLDPOINT_CLIENT=outcome", "HOLDPOINT_DESK_LISTEN="+at, "HOLDPOINT_DESK_TOKEN="+deskToken)...)
		res, err := http.Post("http://"+addr+"/", "application/json", strings.NewReader(`{"protocolVersion":"1.0","threadId":"t","runId":"r","state":{},"messages":[{"id":"u","role":"user","content":"pay"}],"tools":[],"context":[],"forwardedProps":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		c := caller{T: t, at: at, token: deskToken}
		return c, c.ok("GET", "/v1/approvals").Get("approvals.0")
	}
	const rule = `HOLDPOINT_ANSWERS=pay {"go":true,"args":"$arguments"} {"go":false,"why":"$reason"}`
	for name, c := range map[string]struct{ decision, says, want string }{
		"approved":  {`"decision":"approve"`, "approved", `{"go":true,"args":{"to":"Bob","amount":5}}`},
		"edited":    {`"decision":"answer","payload":{"approved":true,"editedArgs":{"to":"Bob","amount":4}}`, "approved", `{"go":true,"args":{"to":"Bob","amount":4}}`},
		"denied":    {`"decision":"deny","reason":"too dear"`, "denied", `{"go":false,"why":"too dear"}`},
		"cancelled": {`"decision":"cancel"`, "denied", `{"go":false,"why":""}`},
	} {
		t.Run(name, func(t *testing.T) {
			desk, a := begin(t, rule)
			q := a.Get("questions.0")
			if q.Get("kind").Str != "tool" || q.Get("calls.0.name").Str != "pay" || q.Get("calls.0.arguments").Raw != `{"to":"Bob","amount":5}` || !q.Get("yesKnown").Bool() || !q.Get("noKnown").Bool() || !q.Get("takesReason").Bool() {
				t.Errorf("the desk shows %s", q.Raw)
			}
			status, got := desk.send("POST", "/v1/approvals/"+a.Get("id").Str+"/questions/"+q.Get("id").Str, `{`+c.decision+`,"digest":"`+q.Get("digest").Str+`"}`)
			if status != http.StatusOK {
				t.Fatalf("%d %s", status, got)
			}
			if sent := <-answers; sent != `{"`+id+`":`+c.want+`}` {
				t.Errorf("the agent gets %s, want %s", sent, c.want)
			}
			if said := desk.ok("GET", "/v1/approvals/"+a.Get("id").Str).Get("questions.0.decision.says").Str; said != "" && said != c.says {
				t.Errorf("the desk says %q, want %q", said, c.says)
			}
		})
	}
	t.Run("without the setting", func(t *testing.T) {
		if _, a := begin(t); a.Get("questions.0.kind").Str != "text" || a.Get("questions.0.yesKnown").Bool() {
			t.Errorf("the desk shows %s", a.Raw)
		}
	})
}
