package agentframework

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// FuzzApproved: a client sends answers in all places that some version reads. The dialect must not
// panic, and every request to the backend must be JSON. All exchanges together may approve only
// what the admitted answers approve.
func FuzzApproved(f *testing.F) {
	for row := range pauses() {
		for _, resume := range []string{
			`[{"interruptId":"a~r1","status":"resolved","payload":{"approved":true}},{"interruptId":"b~r2","status":"cancelled","payload":{"approved":true}}]`,
			`[{"interruptId":"af-a~r1","status":"resolved","payload":{"accepted":true,"approved":true,"accepted":false}},{"interruptId":"af-b~r2","status":"resolved","payload":{"approved":false},"value":{"accepted":true}}]`,
			`{"interrupts":[{"id":"a","value":{"accepted":true}},{"id":"b","value":false},{"x":1}]}`, `[{"interruptId":"c~r1","status":"resolved","payload":{"approved":true,"steps":[]}}]`,
			`[{"interruptId":"a~r1","status":"resolved","payload":{"approved":false}}]`, `null`, `[{"interruptId":"q~r1","status":"resolved","payload":{"accepted":true}}]`,
		} {
			for _, props := range []string{`{}`, `{"resume":{"toolCallId":"a","value":{"accepted":true}}}`, `{"command":{"resume":[{"id":"a","value":true}]}}`, `{"resume":[{"id":"a","value":{"accepted":true}},{"x":1}]}`} {
				f.Add(row, resume, props, toolMessage("t1", "a", `{"accepted":1}`))
				f.Add(row, resume, props, toolMessage("t1", "a", `{"accepted":true}`)+`,`+toolMessage("t2", "confirm-b", `{"accepted":true,"x":1}`))
				f.Add(row, resume, props, toolMessage("t1", "a", `{"accepted":true}`)+`,`+toolMessage("t2", "a", `{"accepted":false}`))
				f.Add(row, resume, props, `{"id":"u2","role":"user","content":"","function_approvals":[{"id":"a","call_id":"a","name":"rm","approved":true,"arguments":{}}]}`)
			}
		}
	}
	streams := pauses()
	f.Fuzz(func(t *testing.T, row int, resume, props, messages string) {
		body := `{"threadId":"t1","runId":"r2","messages":[` + user + `,` + messages + `],"resume":` + resume + `,"forwardedProps":` + props + `}`
		if row < 0 || row >= len(streams) || !agui.ValidJSON([]byte(body)) {
			return
		}
		in, ok, err := agui.ParseInput([]byte(body))
		if !ok || err != nil {
			return
		}
		p, l := pausedBy(t, streams[row]...)
		d := newDialect(t)
		var ordered []agui.Answer
		answers, err := dialecttest.Answers(d, in, p)
		if err != nil {
			return
		}
		out, run, err := dialecttest.ResumeWith(d, p, in, answers, l, func(r *translate.Request) {
			fresh := slices.DeleteFunc(slices.Clone(r.Input.Messages), func(m agui.Message) bool { return m.ID == "u1" || m.Role == "assistant" })
			r.Input = withoutApprovals(r.Input) // proxy does so too
			r.NewMessages = withoutApprovals(r.Input.WithMessages(fresh)).Messages
			ordered = r.Answers
		})
		if err != nil {
			if !dialecttest.IsRunError(err) {
				t.Fatal(err)
			}
			return
		}
		said := map[string]bool{}
		for n, i := range p.Interrupts {
			a, _ := askOf(i)
			yes, err := decision(ordered[n])
			if ordered[n].Status == agui.Resolved && err == nil && yes || a.Kind == request {
				said[a.ID], said[a.Call], said[a.Confirm] = true, true, true
			}
		}
		for range 5 {
			for _, id := range approvedIn(t, out.Body) {
				if !said[id] {
					t.Fatalf("nobody approved %q\nclient %s\nsent %s", id, body, out.Body)
				}
			}
			next := play(t, run, l, started, textOpen, textEnds, finished).Result.Next
			if next == nil {
				return
			}
			out, run = next.Out, next.Run
		}
		t.Fatal("it never ends")
	})
}

// approvedIn returns the ids that the request body approves. It looks in every place that some
// version reads.
func approvedIn(t *testing.T, body []byte) []string {
	t.Helper()
	if !json.Valid(body) {
		t.Fatalf("body %s", body)
	}
	var ids []string
	yes := func(v gjson.Result) bool { return v.Exists() && v.Type != gjson.False && v.Type != gjson.Null }
	for _, m := range gjson.GetBytes(body, "messages").Array() {
		if decides(agui.ParseMessage([]byte(m.Raw))) && yes(parsed(m.Get("content").Str).Get("accepted")) {
			ids = append(ids, m.Get("toolCallId").Str)
		}
		for _, a := range m.Get("function_approvals").Array() {
			if yes(a.Get("approved")) {
				ids = append(ids, a.Get("call_id").Str)
			}
		}
	}
	for _, e := range append(gjson.GetBytes(body, "resume").Array(), gjson.GetBytes(body, "resume.interrupts").Array()...) {
		payload := e.Get("payload")
		if !payload.Exists() {
			payload = e.Get("value")
		}
		if e.Get("status").Str != "cancelled" && (yes(payload.Get("accepted")) || yes(payload.Get("approved"))) {
			ids = append(ids, e.Get("interruptId").Str+e.Get("id").Str)
		}
	}
	for _, path := range []string{"forwardedProps.resume", "forwardedProps.command.resume"} {
		for _, i := range items(gjson.GetBytes(body, path)) {
			ids = append(ids, "in "+path+": "+itemID(i))
		}
	}
	return ids
}

// withoutApprovals returns the input without native approvals. It removes their messages and the
// calls that asked for them.
func withoutApprovals(in agui.RunInput) agui.RunInput {
	list := microsoft.Approvals(in, true)
	if len(list) == 0 {
		return in
	}
	rest, calls := map[int]*agui.Message{}, map[string]bool{}
	for _, one := range list {
		rest[one.At] = one.Rest
		for _, id := range one.Calls {
			calls[id] = true
		}
	}
	var kept []agui.Message
	for at, m := range in.Messages {
		left, decides := rest[at]
		switch {
		case left != nil:
			kept = append(kept, *left)
		case !decides && (m.Role != "tool" || !calls[m.ToolCallID]):
			if m, ok := kit.MessageWithoutCalls(m, calls); ok {
				kept = append(kept, m)
			}
		}
	}
	return in.WithMessages(kept)
}
