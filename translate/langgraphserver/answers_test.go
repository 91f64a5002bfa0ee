package langgraphserver

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

const question = `{"question":"Go?","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}}`

func TestBeforeAnAnswer(t *testing.T) {
	open := stateWith(task(asks(idA, question)))
	p := pausedBy(t, open, `updates|{"__interrupt__":[`+asks(idA, question)+`]}`, `values|{"__interrupt__":[`+asks(idA, question)+`]}`)
	if len(p.Interrupts) != 1 {
		t.Fatalf("%+v", p.Interrupts)
	}
	object := gjson.ParseBytes(p.Interrupts[0].Object)
	if object.Get("metadata.langgraph.node").Str != "ask" || object.Get("metadata.langgraph.checkpoint_id").Str != "c1" {
		t.Errorf("%s", object.Raw)
	}
	for name, c := range map[string]struct {
		state  string
		status int
		lost   bool
	}{
		"it waits":                        {open, 0, false},
		"the server has lost the thread":  {"", 404, true},
		"it asks something else":          {stateWith(task(asks(idB, question))), 0, true},
		"another question of the id":      {stateWith(task(asks(idA, `{"question":"Delete all?"}`))), 0, true},
		"it has gone on":                  {empty, 0, true},
		"an answered one is shown beside": {stateWith(task(asks(idB, `1`)), task(asks(idA, question))), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			out, run, err := resume(t, p, `{"approved":true}`)
			if err != nil || out.Resumes || out.Method != "GET" {
				t.Fatalf("%+v %v", out, err)
			}
			var res translate.Result
			if c.status != 0 {
				res, _ = run.End(translate.End{Status: c.status})
			} else {
				res = dialecttest.Decode(run, &dialecttest.Log{}, false, whole(c.state)...).Result
			}
			switch {
			case c.lost:
				if res.Fate != translate.Lost || res.Next != nil {
					t.Errorf("%+v", res)
				}
			case res.Next == nil || !res.Next.Out.Resumes || gjson.GetBytes(res.Next.Out.Body, "command.resume").Raw != `{"`+idA+`":{"approved":true}}`:
				t.Errorf("%+v", res)
			}
		})
	}
}

func TestACancelEndsTheTask(t *testing.T) {
	calls := `{"values":{"messages":[{"id":"a1","type":"ai","content":"","tool_calls":[{"id":"c1","name":"f","args":{}}]}]},"next":["ask"],"tasks":[` + task(asks(idA, question)) + `]}`
	for name, c := range map[string]struct {
		state string
		want  []string
	}{
		"a question":        {stateWith(task(asks(idA, question))), []string{`{"values":null,"as_node":"__end__"}`}},
		"one beside a call": {calls, []string{`{"values":{"messages":[{"type":"tool","content":"Cancelled by user","tool_call_id":"c1","name":"f","status":"error"}]},"as_node":"ask"}`, `{"values":null,"as_node":"__end__"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			p := pausedBy(t, c.state, `updates|{"__interrupt__":[`+asks(idA, question)+`]}`)
			_, run, err := resume(t, p, "")
			if err != nil {
				t.Fatal(err)
			}
			e := next(t, run, false, whole(c.state))
			for n, want := range c.want {
				if string(e.Out.Body) != want || !e.Out.Resumes || !strings.HasSuffix(e.Out.Path, "/state") {
					t.Fatalf("%s %s, want %s", e.Out.Path, e.Out.Body, want)
				}
				// An old server refuses the request, so the graph must get a no.
				if n == len(c.want)-1 {
					res, _ := e.Run.End(translate.End{Status: 500})
					if res.Next == nil || gjson.GetBytes(res.Next.Out.Body, "command.resume").Raw != `{"`+idA+`":false}` {
						t.Errorf("%+v", res)
					}
				}
				e = next(t, e.Run, false, whole(`{"checkpoint":{}}`))
			}
			res := dialecttest.Decode(e.Run, &dialecttest.Log{}, false, whole(empty)...).Result
			if res.Finish.Type != agui.RunFinished || len(res.Asked.Interrupts) > 0 {
				t.Errorf("%+v", res)
			}
		})
	}
}

// TestACancelBesideAKeptAnswer: the graph has stored an answer at which a node failed, and would
// use it instead of any new answer. So a cancel must end the task without sending an answer, even
// for a review.
func TestACancelBesideAKeptAnswer(t *testing.T) {
	const review = `{"action_requests":[{"name":"f","args":{}}],"review_configs":[{"action_name":"f","allowed_decisions":["approve","reject"]}]}`
	calls := func(value string) string {
		return `{"values":{"messages":[{"id":"a1","type":"ai","content":"","tool_calls":[{"id":"c1","name":"f","args":{}}]}]},"next":["ask"],"tasks":[` + task(asks(idA, value)) + `]}`
	}
	for name, value := range map[string]string{"a question": question, "a review": review} {
		t.Run(name, func(t *testing.T) {
			state := calls(value)
			p := pausedBy(t, state, `updates|{"__interrupt__":[`+asks(idA, value)+`]}`)
			if !p.CancelEnds {
				t.Error("the pause does not say that a cancel ends it")
			}
			begin := func(t *testing.T) translate.Run {
				in := input(t, `"messages":[`+hello+`,{"id":"u2","role":"user","content":"and then"}],`+dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, "")))
				out, run, err := dialecttest.Resume(newDialect(t), p, in, &dialecttest.Log{}, func(r *translate.Request) {
					r.EndOnly, r.NewMessages = true, r.Input.Messages[1:]
				})
				if err != nil || out.Method != "GET" {
					t.Fatalf("%+v %v", out, err)
				}
				return run
			}
			t.Run("it asks still", func(t *testing.T) {
				e := next(t, begin(t), false, whole(state))
				for _, node := range []string{"ask", "__end__"} {
					if gjson.GetBytes(e.Out.Body, "as_node").Str != node || gjson.GetBytes(e.Out.Body, "command").Exists() {
						t.Fatalf("%s %s", e.Out.Path, e.Out.Body)
					}
					for _, status := range []int{409, 422, 500} {
						if res, _ := e.Run.End(translate.End{Status: status}); res.Next != nil || res.Fate != translate.Untouched || res.Finish.Type != agui.RunErrored {
							t.Errorf("%s, %d: %+v", node, status, res)
						}
					}
					e = next(t, e.Run, false, whole(`{"checkpoint":{}}`))
				}
				e = next(t, e.Run, false, whole(empty))
				if e.Out.Resumes || !e.Out.TakesNew || gjson.GetBytes(e.Out.Body, "input.messages.#.id").Raw != `["u1","u2"]` {
					t.Errorf("the message does not go: %s", e.Out.Body)
				}
			})
			t.Run("it asks no more", func(t *testing.T) {
				if e := next(t, begin(t), false, whole(empty)); e.Out.Resumes || !strings.HasSuffix(e.Out.Path, "/runs/stream") {
					t.Errorf("%s %s", e.Out.Path, e.Out.Body)
				}
			})
			t.Run("it asks something else", func(t *testing.T) {
				res := dialecttest.Decode(begin(t), &dialecttest.Log{}, false, whole(stateWith(task(asks(idB, `"other"`))))...).Result
				if res.Next != nil || len(res.Asked.Interrupts) != 1 || res.Asked.Interrupts[0].Native != idB {
					t.Errorf("%+v", res)
				}
			})
		})
	}
}

// TestABreakpoint: only a clear yes may continue a run at a breakpoint. A no must not continue it
// even if the server refuses the update that ends the run.
func TestABreakpoint(t *testing.T) {
	state := stateWith()
	p := pausedBy(t, state, `updates|{"__interrupt__":[]}`)
	p.Interrupts[0].Yes, p.Interrupts[0].No = []byte(`{"approved":true}`), []byte(`{"approved":false}`)
	for payload, want := range map[string]string{`{"approved":true}`: "on", `{"approved":false}`: "end", "": "end", `"yes"`: "refused", `{"approved":true,"approved":false}`: "refused", `{}`: "refused"} {
		_, run, err := resume(t, p, payload)
		if err != nil {
			if want != "refused" || dialecttest.Code(err) != agui.InvalidPayload {
				t.Errorf("%s: %v", payload, err)
			}
			continue
		}
		e := next(t, run, false, whole(state))
		got := "end"
		if strings.HasSuffix(e.Out.Path, "/runs/stream") {
			got = "on"
		} else if res, _ := e.Run.End(translate.End{Status: 500}); res.Next != nil {
			t.Errorf("%s: a no goes on as %s", payload, res.Next.Out.Body)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", payload, got, want)
		}
	}
	if _, run, _ := resume(t, p, `{"approved":true}`); run != nil {
		moved := strings.Replace(state, `"c1"`, `"c2"`, 1)
		if res := dialecttest.Decode(run, &dialecttest.Log{}, false, whole(moved)...).Result; res.Fate != translate.Lost {
			t.Errorf("a yes to another breakpoint: %+v", res)
		}
	}
}

// TestWithoutIDs: a server sends questions without ids. It must get the bare value of the answer,
// and only if a single question is open.
func TestWithoutIDs(t *testing.T) {
	one := `{"value":"Go?","when":"during","resumable":true,"ns":["ask:1"]}`
	p := pausedBy(t, stateWith(task(one)), `updates|{"__interrupt__":[`+one+`]}`)
	for payload, want := range map[string]string{`"yes"`: `"yes"`, `{"approved":false}`: `{"approved":false}`, `false`: "", `0`: "", `{}`: ""} {
		_, run, err := resume(t, p, payload)
		if want == "" {
			if dialecttest.Code(err) != agui.InvalidPayload {
				t.Errorf("%s: %v", payload, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if e := next(t, run, false, whole(stateWith(task(one)))); gjson.GetBytes(e.Out.Body, "command.resume").Raw != want {
			t.Errorf("%s", e.Out.Body)
		}
	}
	two := strings.Replace(one, "Go?", "Really?", 1)
	p = pausedBy(t, stateWith(task(one), task(two)), `updates|{"__interrupt__":[`+two+`]}`)
	if len(p.Interrupts) != 2 {
		t.Fatalf("%d questions", len(p.Interrupts))
	}
	if _, _, err := resume(t, p, `"yes"`, `"no"`); dialecttest.Code(err) != agui.InvalidPayload {
		t.Error(err)
	}
	if _, _, err := resume(t, p, "", ""); err != nil {
		t.Errorf("a cancel of both: %v", err)
	}
}

// TestAMessageBesideTheAnswer: the client sends a message together with the answer. The message
// must be sent after the answer. If this is impossible, the client must be told that the message
// was not sent.
func TestAMessageBesideTheAnswer(t *testing.T) {
	open := stateWith(task(asks(idA, question)))
	asked := `updates|{"__interrupt__":[` + asks(idA, question) + `]}`
	p := pausedBy(t, open, asked)
	const said = `{"id":"u2","role":"user","content":"and then"}`
	resumed := func(t *testing.T) translate.Run {
		in := input(t, `"messages":[`+hello+`,`+said+`],`+dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, `{"approved":true}`)))
		_, run, err := dialecttest.Resume(newDialect(t), p, in, &dialecttest.Log{}, func(r *translate.Request) { r.NewMessages = r.Input.Messages[1:] })
		if err != nil {
			t.Fatal(err)
		}
		return next(t, run, false, whole(open)).Run
	}
	t.Run("the run ended", func(t *testing.T) {
		look := next(t, resumed(t), false, frames(meta))
		e := next(t, look.Run, false, whole(`{"values":{"messages":[{"id":"u1","type":"human","content":"hi"}]},"next":[],"tasks":[]}`))
		if e.Out.Resumes || !e.Out.TakesNew || gjson.GetBytes(e.Out.Body, "input.messages.#.id").Raw != `["u2"]` {
			t.Errorf("%+v %s", e.Out, e.Out.Body)
		}
	})
	t.Run("the run paused again", func(t *testing.T) {
		look := next(t, resumed(t), false, frames(meta, asked))
		res := dialecttest.Decode(look.Run, &dialecttest.Log{}, false, whole(open)...).Result
		if res.Next != nil || len(res.Asked.Interrupts) != 1 {
			t.Errorf("%+v", res)
		}
	})
	t.Run("nobody knows the state", func(t *testing.T) {
		look := next(t, resumed(t), false, frames(meta))
		res, err := look.Run.End(translate.End{Status: 400})
		if err != nil || res.Next != nil || res.Finish.Get("metadata.holdpoint.code").Str != string(agui.MessagesNotTaken) {
			t.Errorf("%+v %v", res, err)
		}
	})
}
