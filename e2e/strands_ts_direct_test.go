//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
)

// The tests in this file run without Holdpoint. They check the properties of SDK 1.19.0 and of the
// adapter on which Holdpoint's dialects depend. If a newer version changes such a property, these
// tests fail first.

// bareStrands returns the server in one mode, without Holdpoint, and the id of a new thread.
func bareStrands(mode string) (b *backend, thread string) {
	return &backend{name: mode, mode: mode, server: shared.strands.server}, fresh("bare")
}

// prompt sends a prompt to a native server, and returns the events of its response. cut reports
// whether the response was cut off or missing.
func (b *backend) prompt(t *testing.T, thread string, prompt any) (events []event, contentType string, cut bool) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url(), bytes.NewReader([]byte(text(map[string]any{"prompt": prompt}))))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Amzn-Bedrock-AgentCore-Runtime-Session-Id", thread)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, "", true
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	for line := range bytes.Lines(body) {
		var e event
		if json.Unmarshal(bytes.TrimPrefix(line, []byte("data: ")), &e) == nil {
			events = append(events, e)
		}
	}
	return events, res.Header.Get("Content-Type"), err != nil
}

// askedIn returns the ids of the interrupts in a native stream.
func askedIn(events []event) []string {
	var all []string
	for _, e := range events {
		if i, ok := e["interrupt"].(map[string]any); ok {
			all = append(all, fmt.Sprint(i["id"]))
		}
	}
	return all
}

func kindsOf(events []event) []string {
	var all []string
	for _, e := range events {
		all = append(all, e.kind())
	}
	return all
}

// response returns the prompt that gives the same answer to each of these interrupts.
func response(answer any, ids ...string) []any {
	var list []any
	for _, id := range ids {
		list = append(list, map[string]any{"interruptResponse": map[string]any{"interruptId": id, "response": answer}})
	}
	return list
}

// TestDirectStrandsRunsACallWhoseHookThrew: if a hook before a call throws, the call still runs. To
// clean up, SDK 1.19.0 continues its loop, and so runs all tools of the turn. Strands' own hook
// throws if the answer is not text.
func TestDirectStrandsRunsACallWhoseHookThrew(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"sse/hook", "ndjson/hook", "sse/sequential"} {
		for _, no := range []any{false, nil, map[string]any{"approved": false}, map[string]any{"status": "cancelled"}, 0} {
			t.Run(fmt.Sprint(mode, " ", text(no)), func(t *testing.T) {
				t.Parallel()
				b, thread := bareStrands(mode)
				events, _, _ := b.prompt(t, thread, "delete a.txt and delete b.txt @"+thread)
				b.prompt(t, thread, response(no, askedIn(events)...))
				// The SDK cleans up after its response has ended, so the calls may run later.
				if !eventually(func() bool { return b.ledger(t, thread).Counts["delete_files"] == 2 }) {
					t.Errorf("%s ran %d calls, it ran both", text(no), b.ledger(t, thread).Counts["delete_files"])
				}
			})
		}
		t.Run(mode+" n", func(t *testing.T) {
			t.Parallel()
			b, thread := bareStrands(mode)
			events, _, _ := b.prompt(t, thread, "delete a.txt @"+thread)
			b.prompt(t, thread, response("n", askedIn(events)...))
			if l := b.ledger(t, thread); len(l.Files) != 3 {
				t.Error("the word for no deleted a file")
			}
		})
	}
}

// TestDirectAwsStrandsRunsWhatWasCancelled: the adapter sends a cancelled or denied answer to the
// agent in the adapter's own form. The file is deleted.
func TestDirectAwsStrandsRunsWhatWasCancelled(t *testing.T) {
	t.Parallel()
	b, _ := bareStrands("agui/hook")
	for _, answer := range []answer{cancelled, reject, func(id string) entry { return resolved(id, false) }} {
		c := newClient(t, shared.direct, newest, b.url(), fresh("bare"), nil)
		if a := c.run(t, c.wants("delete a.txt")).answer(t); len(a.outcome()) != 1 {
			t.Fatal(terminal(a))
		}
		a := c.run(t, step{resume: c.answers(answer), empty: true}).answer(t)
		deleted := eventually(func() bool { return len(b.ledger(t, c.thread).Files) == 2 })
		if !deleted || a.code() != "ADAPTER_BUG" {
			t.Errorf("left are %v: %s", b.ledger(t, c.thread).Files, terminal(a))
		}
	}
}

// TestDirectStrandsLines: the documented Express server sends no Content-Type, and an exception in
// the agent cuts the connection off.
func TestDirectStrandsLines(t *testing.T) {
	t.Parallel()
	b, thread := bareStrands("ndjson/hook")
	events, contentType, cut := b.prompt(t, thread, "plain @"+thread)
	if contentType != "" || cut || len(events) == 0 || events[len(events)-1].kind() != "agentResultEvent" {
		t.Errorf("content type %q, cut %v: %v", contentType, cut, kindsOf(events))
	}
	if events, _, cut = b.prompt(t, thread, "fail"); !cut || slices.Contains(kindsOf(events), "agentResultEvent") {
		t.Errorf("cut %v: %v", cut, kindsOf(events))
	}
}

// TestDirectStrandsShowsOneOfTwo: two parallel calls ask. The stream shows only the last question,
// and the other question after the answer to it. Strands invents a result for each waiting call. A
// call that has not begun, as with calls in sequence, has no result.
func TestDirectStrandsShowsOneOfTwo(t *testing.T) {
	t.Parallel()
	for mode, fakes := range map[string]int{"sse/hook": 2, "sse/vended": 2, "sse/middleware": 2, "sse/sequential": 0} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b, thread := bareStrands(mode)
			events, _, _ := b.prompt(t, thread, "delete a.txt and delete b.txt @"+thread)
			results, _ := events[slices.Index(kindsOf(events), "afterToolsEvent")]["message"].(map[string]any)["content"].([]any)
			if len(askedIn(events)) != 1 || len(results) != fakes {
				t.Errorf("asked for %v with %d results, were 1 and %d", askedIn(events), len(results), fakes)
			}
			events, _, _ = b.prompt(t, thread, response("y", askedIn(events)...))
			if len(askedIn(events)) != 1 || len(b.ledger(t, thread).Files) != 2 {
				t.Errorf("then asked for %v", askedIn(events))
			}
		})
	}
}

// TestDirectStrandsTakesAnAnswerToNothing: Strands accepts an answer without a question, and calls
// the model with the existing history. The only sign is in the stream, which then begins with a
// model call and not with the tools.
func TestDirectStrandsTakesAnAnswerToNothing(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"sse/hook", "fresh/hook"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b, thread := bareStrands(mode)
			events, _, _ := b.prompt(t, thread, "delete a.txt @"+thread)
			yes := response("y", askedIn(events)...)
			if mode == "sse/hook" {
				if events, _, _ = b.prompt(t, thread, yes); kindsOf(events)[1] != "beforeToolsEvent" {
					t.Errorf("an answer begins with %v", kindsOf(events)[:2])
				}
			}
			events, _, _ = b.prompt(t, thread, yes)
			if kinds := kindsOf(events); kinds[1] != "beforeModelCallEvent" || kinds[len(kinds)-1] != "agentResultEvent" {
				t.Errorf("an answer to nothing: %v", kinds)
			}
		})
	}
}

// TestDirectStrandsTakesNoWordsWhileItWaits: while the agent waits, a message leads to an error,
// and no request returns the open questions.
func TestDirectStrandsTakesNoWordsWhileItWaits(t *testing.T) {
	t.Parallel()
	b, thread := bareStrands("sse/hook")
	b.prompt(t, thread, "delete a.txt @"+thread)
	for _, prompt := range []any{"plain", []any{}, nil} {
		events, _, _ := b.prompt(t, thread, prompt)
		if last := events[len(events)-1]; last.str("error") != "Agent is in an interrupted state. Resume by invoking with interruptResponse content blocks." {
			t.Errorf("%v was met with %v", prompt, last)
		}
	}
}

// TestDirectStrandsResultNamesNoInterrupt: an agent asks. Neither the final event of a stream nor a
// response without a stream contains the question.
func TestDirectStrandsResultNamesNoInterrupt(t *testing.T) {
	t.Parallel()
	b, thread := bareStrands("json/hook")
	answer, _, _ := b.prompt(t, thread, "delete a.txt @"+thread)
	if result, _ := answer[0]["response"].(map[string]any); result["stopReason"] != "interrupt" || contains(text(answer), "myapp-approval") {
		t.Errorf("answer %v", answer)
	}
}

// TestDirectStrandsLosesTheQuestionOfAnAgentAsATool: an agent uses another agent as a tool, and the
// inner agent asks. Nobody gets the question: it becomes the result of the tool.
func TestDirectStrandsLosesTheQuestionOfAnAgentAsATool(t *testing.T) {
	t.Parallel()
	b, thread := bareStrands("sse/hook")
	events, _, _ := b.prompt(t, thread, "child ask Which env? @"+thread)
	if kinds := kindsOf(events); slices.Contains(kinds, "interruptEvent") || !contains(text(events), `"status":"success"`, `\"name\":\"ask_user\"`) {
		t.Errorf("events %v", kinds)
	}
}

// bareAwsStrands returns the adapter without Holdpoint, and a client with two open questions about
// files.
func bareAwsStrands(t *testing.T, mode string) (*backend, *client) {
	t.Helper()
	b, _ := bareStrands(mode)
	c := newClient(t, shared.direct, newest, b.url(), fresh("bare"), nil)
	c.run(t, c.wants("delete a.txt and delete b.txt"))
	return b, c
}

// TestDirectAwsStrandsLeavesHumanInTheLoopBehind: the adapter makes an agent for each thread, and
// leaves out Strands' HumanInTheLoop. So nobody is asked, and the files are deleted.
func TestDirectAwsStrandsLeavesHumanInTheLoopBehind(t *testing.T) {
	t.Parallel()
	if b, c := bareAwsStrands(t, "agui/vended"); len(c.pending) > 0 || len(b.ledger(t, c.thread).Files) != 1 {
		t.Errorf("asked %v", c.pending)
	}
}

// TestDirectAwsStrandsIsWedgedByInput: while the adapter waits, a message or an empty resume makes
// it lose the question and locks the thread.
func TestDirectAwsStrandsIsWedgedByInput(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]step{
		"words":     {say: "plain", empty: true},
		"no answer": {patch: map[string]any{"resume": []any{}}, empty: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, c := bareAwsStrands(t, "agui/hook")
			right := step{resume: c.answers(func(id string) entry { return resolved(id, "y") }), empty: true}
			for _, s := range []struct {
				step
				code string
			}{{wrong, "ADAPTER_BUG"}, {right, "UNKNOWN_INTERRUPT"}, {step{say: "plain", empty: true}, "ADAPTER_BUG"}} {
				if a := c.run(t, s.step).answer(t); a.code() != s.code {
					t.Errorf("answer: %s", terminal(a))
				}
			}
			if l := b.ledger(t, c.thread); len(l.Effects) > 0 {
				t.Errorf("ran %v", l.Effects)
			}
		})
	}
}

// TestDirectAwsStrandsKeepsNoContract: the adapter accepts answers to only some of its questions.
// If an answer has no payload, it asks again. If the same answer is sent a second time, the adapter
// does not recognize it.
func TestDirectAwsStrandsKeepsNoContract(t *testing.T) {
	t.Parallel()
	b, c := bareAwsStrands(t, "agui/hook")
	first := step{resume: []entry{resolved(c.pending[0].str("id"), "y")}, empty: true}
	if a := c.run(t, first).answer(t); len(a.outcome()) != 1 {
		t.Errorf("one of two answers: %s", terminal(a))
	}
	if a := c.run(t, step{resume: []entry{{ID: c.pending[0].str("id"), Status: "resolved"}}, empty: true}).answer(t); len(a.outcome()) != 1 {
		t.Errorf("an answer without payload: %s", terminal(a))
	}
	if a := c.run(t, first).answer(t); a.code() != "UNKNOWN_INTERRUPT" {
		t.Errorf("the same answer again: %s", terminal(a))
	}
	if l := b.ledger(t, c.thread); len(l.Effects) != 1 {
		t.Errorf("ran %v", l.Effects)
	}
}

// TestDirectAwsStrandsDropsAMessageBesideTheAnswers: if a request has both answers and a message,
// the model does not get the message, although the adapter's MESSAGES_SNAPSHOT contains it. The
// model gets it in the next run, if the client sends it again.
func TestDirectAwsStrandsDropsAMessageBesideTheAnswers(t *testing.T) {
	t.Parallel()
	_, c := bareAwsStrands(t, "agui/hook")
	a := c.run(t, step{say: "plain beside", resume: c.answers(func(id string) entry { return resolved(id, "y") }), empty: true}).answer(t)
	if c.echoed("plain beside") || !contains(text(a.of("MESSAGES_SNAPSHOT")), "plain beside") {
		t.Errorf("the message beside the answers: %s", indented(c.messages))
	}
}
