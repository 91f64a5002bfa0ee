package langgraphserver

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// TestAStreamWithoutUpdates: a stream without "updates" frames contains no questions. They must be
// read from the state of the thread. aegra-api 0.6.0 was run: it sends no other modes together with
// events.
func TestAStreamWithoutUpdates(t *testing.T) {
	open := stateWith(task(asks(idA, question)))
	chunk := `events|{"event":"on_chain_stream","data":{"chunk":[[],"updates",{"__interrupt__":[` + asks(idA, question) + `]}]}}`
	ask := func(t *testing.T, stream ...string) dialecttest.Played {
		after := next(t, plain(t, "", empty).Run, false, frames(append([]string{meta}, stream...)...))
		return dialecttest.Decode(after.Run, &dialecttest.Log{}, false, whole(open)...)
	}
	for name, stream := range map[string][]string{"events alone": {chunk}, "nothing": {}, "values": {`values|{"messages":[]}`}} {
		t.Run(name, func(t *testing.T) {
			if p := ask(t, stream...); len(p.Result.Asked.Interrupts) != 1 || p.Result.Asked.Interrupts[0].Native != idA {
				t.Errorf("%+v", p.Result)
			}
		})
	}
	t.Run("with updates", func(t *testing.T) {
		if p := ask(t, `updates|{"ask":{}}`); len(p.Result.Asked.Interrupts) != 0 {
			t.Errorf("%+v", p.Result)
		}
	})
	p := dialecttest.WithIDs(ask(t, chunk).Result.Asked.Pause(Name))
	resumed := func(t *testing.T, state string) translate.Result {
		_, run, err := resume(t, p, `{"approved":true}`)
		if err != nil {
			t.Fatal(err)
		}
		stream := next(t, run, false, whole(open))
		look := next(t, stream.Run, false, frames(meta))
		return dialecttest.Decode(look.Run, &dialecttest.Log{}, false, whole(state)...).Result
	}
	t.Run("the next question behind an answer", func(t *testing.T) {
		if res := resumed(t, stateWith(task(asks(idB, question)))); len(res.Asked.Interrupts) != 1 || res.Asked.Interrupts[0].Native != idB {
			t.Errorf("%+v", res)
		}
	})
	// The stream ended too soon: the state still has the answered question.
	t.Run("the answered question behind an answer", func(t *testing.T) {
		if res := resumed(t, open); len(res.Asked.Interrupts) != 0 || res.Next == nil || !strings.HasSuffix(res.Next.Out.Path, "/stream") || res.Next.Out.Resumes {
			t.Errorf("%+v", res)
		}
	})
}

// TestAegra: a server is recognized as Aegra by its threads. Holdpoint must never request the
// stream mode "events" from it, not even in later requests of the thread. If a cancel cannot end
// the task of a question, the graph must get a no instead.
func TestAegra(t *testing.T) {
	open := stateWith(task(asks(idA, question)))
	const thread = `{"thread_id":"x","status":"idle","metadata":{"owner":"anonymous"},"user_id":"anonymous"}`
	in := input(t, "")
	_, run, err := newDialect(t).Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: &dialecttest.Log{}})
	if err != nil {
		t.Fatal(err)
	}
	stream := next(t, next(t, run, false, whole(thread)).Run, false, whole(empty))
	const modes = `["values","updates","messages-tuple","custom"]`
	if got := gjson.GetBytes(stream.Out.Body, "stream_mode").Raw; got != modes {
		t.Error(got)
	}
	after := next(t, stream.Run, false, frames(meta, `values|{"__interrupt__":[`+asks(idA, question)+`]}`))
	res := dialecttest.Decode(after.Run, &dialecttest.Log{}, false, whole(open)...).Result
	if res.Backend != aegra || len(res.Asked.Interrupts) != 1 {
		t.Fatalf("%+v", res)
	}
	p := dialecttest.WithIDs(res.Asked.Pause(Name))
	_, run, err = dialecttest.Resume(newDialect(t), p, input(t, dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, ""))), &dialecttest.Log{},
		func(r *translate.Request) { r.Backend = aegra })
	if err != nil {
		t.Fatal(err)
	}
	end := next(t, run, false, whole(open))
	look := next(t, end.Run, false, whole(open)) // it answers the update with the unchanged state
	no := next(t, look.Run, false, whole(open))
	if gjson.GetBytes(no.Out.Body, "command.resume").Raw != `{"`+idA+`":false}` || gjson.GetBytes(no.Out.Body, "stream_mode").Raw != modes {
		t.Errorf("%s", no.Out.Body)
	}
	if res, _ := no.Run.End(translate.End{Status: 400, Body: []byte(`{"message":"Cannot resume: thread is not in interrupted state"}`)}); res.Fate != translate.Untouched || res.Finish.Type != agui.RunErrored {
		t.Errorf("a run that is not taken: %+v", res)
	}
}

// TestAegraWithSeveralCalls: without the stream mode "events", the stream does not show which calls
// run. If more calls are open than questions, another call could get the approval. So an approval
// must be refused.
func TestAegraWithSeveralCalls(t *testing.T) {
	two := `{"values":{"messages":[{"id":"a1","type":"ai","content":"","tool_calls":[{"id":"c1","name":"f","args":{}},{"id":"c2","name":"f","args":{}}]}]},"next":["ask"],"tasks":[` + task(asks(idA, question)) + `]}`
	in := input(t, "")
	_, run, err := newDialect(t).Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: &dialecttest.Log{}, Backend: aegra})
	if err != nil {
		t.Fatal(err)
	}
	stream := next(t, next(t, run, false, whole(`{"thread_id":"x","user_id":"u"}`)).Run, false, whole(empty))
	after := next(t, stream.Run, false, frames(meta, `values|{"__interrupt__":[`+asks(idA, question)+`]}`))
	p := dialecttest.WithIDs(dialecttest.Decode(after.Run, &dialecttest.Log{}, false, whole(two)...).Result.Asked.Pause(Name))
	for payload, want := range map[string]agui.Code{`{"approved":true}`: agui.ApprovalAmbiguous, `{"approved":false}`: ""} {
		if _, _, err := resume(t, p, payload); dialecttest.Code(err) != want {
			t.Errorf("%s: %v, want %q", payload, err, want)
		}
	}
}
