package agentframework

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// pauses returns the streams of runs that end with questions, for each group of versions.
func pauses() [][]string {
	flow := append([]string{started}, requests("q", "dict", `{"message":"?"}`)...)
	return [][]string{
		append(append([]string{started}, toolCall("a", "rm", `{"path":"a"}`)...), asks("a", "a"), withList("a")),
		asking(withList("a"), "", "a"),
		events([]string{started}, toolCall("w", "write", `{}`), confirms("c", "w"), []string{finished}),
		asking(withList("a", "b"), "", "a", "b"),
		asking(withOutcome(schemaOld, "a", "b"), "", "a", "b"),
		asking(withOutcome(schemaNew, "af-a", "af-b"), "af-", "a", "b"),
		append(flow, `{"type":"RUN_FINISHED","interrupt":[{"id":"q","value":{}}]}`),
		append(flow, `{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"q","reason":"input_required"}]}}`),
		events([]string{started}, toolCall("w", "write", `{}`), confirms("c", "w"), []string{withOutcome(schemaOld, "c", "a")}),
	}
}

// FuzzEvents: the backend streams any events, one on each line. The dialect must not panic, and all
// output must be JSON. Each question must be answerable, or its answer must be refused with a
// reason.
func FuzzEvents(f *testing.F) {
	for n, stream := range pauses() {
		f.Add(strings.Join(stream, "\n"), n)
		f.Add(strings.Join(append([]string{started, result("a", "done"), textOpen}, stream[1:]...), "\n"), n)
	}
	f.Add(strings.Join([]string{started, callEnds("a"), asks("x", "a"), failedWith("APPROVAL_RESUME_NOT_FOUND", "x")}, "\n"), 4)
	f.Add(strings.Join([]string{started, failedWith("WORKFLOW_RESUME_CANCELLED", "x")}, "\n"), 7)
	f.Add(strings.Join([]string{started, snapshotOf(user, said("a", "c=a"), toolMessage("x", "a", `{"accepted":true}`)), finished}, "\n"), 3)
	f.Fuzz(func(t *testing.T, stream string, row int) {
		lines := strings.Split(stream, "\n")
		for _, line := range lines {
			if !json.Valid([]byte(line)) {
				return // proxy gives a dialect only valid JSON
			}
		}
		checkStream(t, row, lines)
	})
}

// FuzzOrders: the backend streams the events of all versions in any order. The checks are those of
// FuzzEvents.
func FuzzOrders(f *testing.F) {
	words := slices.Concat(toolCall("a", "rm", `{"path":"a"}`), toolCall("b", "rm", `{"path":"b"}`), confirms("c", "a"), confirms("d", "b"), requests("q", "dict", `{}`), []string{
		asks("a", "a"), asks("af-b", "b"), result("a", "done"), result("b", "done"), textOpen, textEnds, strings.Replace(textOpen, "m1", "m2", 1), strings.Replace(textEnds, "m1", "m2", 1), started,
		snapshotOf(user, said("a", "b"), toolMessage("x", "b", "done")), snapshotOf(user, said("a", "b"), toolMessage("x", "a", "done")),
		`{"type":"CUSTOM","name":"status","value":{"state":"IN_PROGRESS"}}`, finished, withList("a"), withList("a", "b"), withOutcome(schemaOld, "a", "b"), withOutcome(schemaNew, "af-b"), withOutcome(schemaOld, "c"),
		failedWith("APPROVAL_RESUME_NOT_FOUND", ""), failedWith("APPROVAL_RESUME_INVALID", ""), failedWith("WORKFLOW_RESUME_CANCELLED", ""), failedWith("RuntimeError", ""),
	})
	for row := range pauses() {
		f.Add([]byte{25, 19, 17, 37}, row)
		f.Add([]byte{25, 20, 18, 22, 40}, row)
	}
	f.Fuzz(func(t *testing.T, order []byte, row int) {
		var lines []string
		for _, b := range order {
			lines = append(lines, words[int(b)%len(words)])
		}
		checkStream(t, row, lines)
	})
}

func checkStream(t *testing.T, row int, lines []string) {
	t.Helper()
	all := pauses()
	p, l := pausedBy(t, all[max(row, -row)%len(all)]...)
	plain, _ := playPlain(t, "", lines...)
	checkPlayed(t, plain)
	var payloads []string
	for n := range p.Interrupts {
		payloads = append(payloads, []string{yes, no, ""}[(n+max(row, 0))%3])
	}
	in := input(t, entries(p, payloads...))
	in.Messages = append(in.Messages, agui.ParseMessage([]byte(`{"id":"u2","role":"user","content":"more"}`)))
	_, run, err := resumeWith(t, newDialect(t), p, l, in, func(r *translate.Request) { r.NewMessages = in.Messages[1:] })
	if err != nil {
		if !dialecttest.IsRunError(err) {
			t.Fatal(err)
		}
		return
	}
	for range 5 {
		got := play(t, run, l, lines...)
		checkPlayed(t, got)
		if got.Result.Next == nil {
			return
		}
		run = got.Result.Next.Run
	}
	t.Fatal("the exchanges have no end")
}

func checkPlayed(t *testing.T, p dialecttest.Played) {
	t.Helper()
	for _, ev := range p.All() {
		if !json.Valid(ev.JSON) {
			t.Fatalf("an event that is no JSON: %s", ev.JSON)
		}
	}
	if p.Result.Next != nil && !json.Valid(p.Result.Next.Out.Body) {
		t.Fatalf("next body %s", p.Result.Next.Out.Body)
	}
	pause := p.Result.Asked.Pause(Name)
	if len(pause.Interrupts) == 0 {
		return
	}
	if p.Result.Fate == translate.Lost || p.Result.Fate == translate.InDoubt || p.Result.Next != nil || p.Result.Finish.Get("outcome").Exists() || p.Result.Finish.Get("interrupt").Exists() {
		t.Fatalf("a pause beside another end: %+v", p.Result)
	}
	if _, err := json.Marshal(pause); err != nil {
		t.Fatalf("the pause cannot be stored: %v", err)
	}
	for _, i := range pause.Interrupts {
		checkInterrupt(t, i.Object)
	}
	pause = dialecttest.WithIDs(pause)
	for _, payload := range []string{"", "true", `{"x":1}`} {
		payloads := make([]string, len(pause.Interrupts))
		for n := range payloads {
			payloads[n] = payload
		}
		in, ok, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[],` + entries(pause, payloads...) + `}`))
		if !ok || err != nil {
			return // two ids are equal
		}
		if _, _, err := resumeWith(t, newDialect(t), pause, &dialecttest.Log{}, in); err != nil && !dialecttest.IsRunError(err) {
			t.Fatal(err)
		}
	}
}

// checkInterrupt checks the members of an interrupt at which a client fails if they are null or
// have another type.
func checkInterrupt(t *testing.T, object json.RawMessage) {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal(object, &o); err != nil {
		t.Fatalf("%v: %s", err, object)
	}
	if _, ok := o["reason"].(string); !ok {
		t.Fatalf("no reason: %s", object)
	}
	for key, v := range o {
		ok := true
		switch key {
		case "message", "toolCallId", "expiresAt", "id":
			_, ok = v.(string)
		case "responseSchema", "metadata":
			_, ok = v.(map[string]any)
		}
		if !ok {
			t.Fatalf("%s is of the wrong kind: %s", key, object)
		}
	}
}

// FuzzAnswers: a client answers any question with any payload. The dialect must not panic, and
// every request to the backend must be JSON. A request without a yes must not approve anything.
func FuzzAnswers(f *testing.F) {
	for n, stream := range pauses() {
		p, _ := pausedBy(f, stream...)
		for _, payload := range []string{"", yes, no, "true", "false", `{"accepted":false}`, `{"accepted":false,"accepted":true}`, `{"steps":[]}`, `{"approved":false,"path":"z"}`} {
			payloads := make([]string, len(p.Interrupts))
			for i := range payloads {
				payloads[i] = payload
			}
			f.Add(n, `[]`, entries(p, payloads...))
		}
		f.Add(n, `[`+user+`,`+said("a", "b")+`,`+toolMessage("x", "a", `{"accepted":true}`)+`]`, `"state":{}`)
		f.Add(n, `[{"id":"x","role":"user","content":"","function_approvals":[{"id":"a","approved":false},{"id":"b","approved":false}]}]`, `"state":{}`)
		f.Add(n, `[]`, `"resume":{"interrupts":[{"id":"a","value":{"accepted":false}},{"id":"b","value":false}]}`)
		f.Add(n, `[]`, `"forwardedProps":{"resume":[{"id":"q","value":{}}],"command":{"resume":{"a":false}}}`)
	}
	f.Fuzz(func(t *testing.T, row int, messages, more string) {
		body := `{"threadId":"t","runId":"r","messages":` + messages + `,` + more + `}`
		if !json.Valid([]byte(body)) {
			return
		}
		in, ok, err := agui.ParseInput([]byte(body))
		if !ok || err != nil {
			return
		}
		d := newDialect(t)
		for _, p := range []agui.Pause{{}, {Dialect: Name}} {
			if _, err := d.Answers(in, p); err != nil && !dialecttest.IsRunError(err) {
				t.Fatal(err)
			}
		}
		all := pauses()
		p, l := pausedBy(t, all[max(row, -row)%len(all)]...)
		out, _, err := resumeWith(t, d, p, l, in)
		if err != nil {
			if !dialecttest.IsRunError(err) {
				t.Fatal(err)
			}
			return
		}
		if strings.Contains(strings.ToLower(body), "true") || strings.Contains(body, `\u`) || strings.Contains(body, `\U`) {
			return
		}
		for _, key := range []string{"messages", "resume"} {
			if raw := gjson.GetBytes(out.Body, key).Raw; strings.Contains(raw, "true") {
				t.Fatalf("%s became %s", body, raw)
			}
		}
	})
}
