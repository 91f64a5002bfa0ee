package dialects

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/agentframework"
	"holdpoint/translate/auto"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/langgraph"
)

// TestPassesIsTrue checks the rules for each type for which Passes of a Run reports true. The Run
// must emit events of this type unchanged, with their frames. If the Run never gets these events,
// the rest of its output must be the same. The streams come from the backends of every dialect,
// mixed with events of other backends: ordinary runs, resumes, and the exchanges that follow them.
func TestPassesIsTrue(t *testing.T) {
	for _, name := range All().Names() {
		if d := fresh(t, name, nil); isForeign(d) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			scenarios := recorded(t, name)
			rapid.Check(t, func(rt *rapid.T) {
				p := &pair{rt: rt, scenarios: scenarios, at: rapid.SampledFrom(scenarios).Draw(rt, "scenario")}
				for n := range p.sides {
					p.sides[n].seen, p.sides[n].dialect = &dialecttest.Log{}, fresh(t, name, &p.sides[n].warned)
				}
				p.edits = rapid.Bool().Draw(rt, "edits")
				res, _ := p.exchanges(p.request(nil, agui.Pause{}))
				if len(res.Asked.Interrupts) > 0 {
					p.edits = true
					list, _ := p.sides[0].seen.Messages()
					p.exchanges(p.request(list, minted(res.Asked.Pause(name), p.sides[0].seen)))
				}
			})
		})
	}
}

// TestWhatPasses checks that Passes reports true for the most frequent types in an ordinary run
// that has sent a text and a RAW event, and that Passes does not allocate memory.
func TestWhatPasses(t *testing.T) {
	bulk := []agui.Type{agui.TextContent, agui.CallArgs, agui.Raw, agui.StateDelta, agui.Unknown}
	for _, name := range All().Names() {
		d := fresh(t, name, nil)
		if isForeign(d) {
			continue
		}
		_, run, err := d.Begin(&translate.Request{Input: dialecttest.Input(t, `{"threadId":"t","runId":"r"}`), Transcript: noTranscript{}})
		if err != nil {
			t.Fatal(err)
		}
		for _, json := range []string{started, callStart, textContent, `{"type":"RAW","event":{}}`} {
			if err := run.Event(agui.NewEvent([]byte(json)), func(agui.Event) {}); err != nil {
				t.Fatal(err)
			}
		}
		p, ok := run.(translate.Passer)
		if !ok {
			t.Logf("%s is no translate.Passer: it is slower, see docs/new-dialect.md", name)
			continue
		}
		for _, one := range bulk {
			// Passes must report false for two types: the .NET host may send its question in
			// rawEvent of any event of a call, and LangGraph says in RAW which calls run at once.
			want := one != agui.CallArgs || name != agentframework.Name
			if one == agui.Raw {
				want = name != langgraph.Name && name != auto.Name
			}
			if p.Passes(one) != want {
				t.Errorf("%s: %q passes: %v", name, one, !want)
			}
		}
		var types []agui.Type
		for _, json := range noise {
			types = append(types, agui.PeekType([]byte(json)))
		}
		if n := testing.AllocsPerRun(100, func() {
			for _, one := range types {
				p.Passes(one)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations for the question", name, n)
		}
	}
}

func fresh(t testing.TB, name string, warned *[]string) translate.Dialect {
	t.Helper()
	warn := func(msg string, _ ...any) {
		if warned != nil {
			*warned = append(*warned, msg)
		}
	}
	d, err := ready(t).New(name, warn)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func isForeign(d translate.Dialect) bool {
	_, foreign := d.(translate.Foreign)
	return foreign
}

// A pair consists of two Runs of one request. The first Run gets every event. The second Run does
// not always get the events for whose type its Passes reports true.
type pair struct {
	rt        *rapid.T
	scenarios []scenario
	at        scenario // the scenario that the thread follows
	edits     bool     // the recorded streams are changed
	sides     [2]side
}

type side struct {
	dialect translate.Dialect
	warned  []string
	run     translate.Run
	seen    *dialecttest.Log
	emitted []agui.Event
}

func (s *side) passes(t agui.Type) bool {
	p, ok := s.run.(translate.Passer)
	return ok && p.Passes(t)
}

func (s *side) emit(ev agui.Event) {
	s.emitted = append(s.emitted, ev.Clone())
	s.seen.Add(ev)
}

// exchanges plays a request with all its exchanges. It returns false if the dialect refused the
// request.
func (p *pair) exchanges(r *translate.Request) (res translate.Result, went bool) {
	for n := range p.sides {
		s := &p.sides[n]
		s.seen = s.seen.Next(r.Input.Messages)
		own := *r
		own.Transcript = s.seen
		_, run, err := s.dialect.Begin(&own)
		if err != nil {
			return res, false
		}
		s.run = run
	}
	for range 4 {
		if res = p.exchange(); res.Next == nil {
			break
		}
	}
	return res, true
}

func (p *pair) exchange() translate.Result {
	stream, end := p.stream()
	var results [2]translate.Result
	var refusals [2]error // errors of the method End, which end the client's run
	for n := range p.sides {
		p.sides[n].emitted = nil
	}
	broken := false
	for n, json := range stream {
		ev := agui.Event{Type: agui.PeekType([]byte(json)), JSON: []byte(json), Frame: []byte("data: " + json + "\n\n"), Edited: n%7 == 3}
		if broken = p.event(ev); broken {
			break
		}
	}
	e := translate.End{Cut: end == "" || broken}
	if !e.Cut {
		e.Event = agui.NewEvent([]byte(end))
	}
	for n := range p.sides {
		s := &p.sides[n]
		results[n], refusals[n] = s.run.End(e)
		for _, ev := range results[n].HeldEvents {
			s.seen.Add(ev)
		}
	}
	if fmt.Sprint(refusals[0]) != fmt.Sprint(refusals[1]) {
		p.rt.Fatalf("the end is %v; unless it was shown what passed before: %v", refusals[0], refusals[1])
	}
	p.same(results)
	return results[0]
}

// event passes an event to both runs. It returns true if the event ends the runs.
func (p *pair) event(ev agui.Event) bool {
	all, some := &p.sides[0], &p.sides[1]
	passes, before := all.passes(ev.Type), len(all.emitted)
	if passes != some.passes(ev.Type) {
		p.rt.Fatalf("passes: %v; unless it was shown what passed before: %s", passes, ev.JSON)
	}
	err := all.run.Event(ev, all.emit)
	if passes {
		if came := all.emitted[before:]; err != nil || len(came) != 1 || !reflect.DeepEqual(came[0], ev) {
			p.rt.Fatalf("%v, %+v came of what passes: %s", err, came, ev.JSON)
		}
		if !all.passes(ev.Type) {
			p.rt.Fatalf("passes once only: %s", ev.JSON)
		}
	}
	if passes && rapid.Bool().Draw(p.rt, "skips") {
		some.emit(ev)
		return false
	}
	if other := some.run.Event(ev, some.emit); fmt.Sprint(err) != fmt.Sprint(other) {
		p.rt.Fatalf("error %v and %v: %s", err, other, ev.JSON)
	}
	return err != nil
}

// same compares the results of the two runs. If they have a next exchange, its runs become the
// current ones.
func (p *pair) same(results [2]translate.Result) {
	for n, res := range results {
		if res.Next != nil {
			p.sides[n].run = res.Next.Run
		}
	}
	a, b := results[0], results[1]
	if (a.Next == nil) != (b.Next == nil) || a.Next != nil && !reflect.DeepEqual(a.Next.Out, b.Next.Out) {
		p.rt.Fatalf("next %+v and %+v", a.Next, b.Next)
	}
	a.Next, b.Next = nil, nil
	if !reflect.DeepEqual(a, b) {
		p.rt.Fatalf("results\n%+v\n%+v", a, b)
	}
	if a, b := p.sides[0].emitted, p.sides[1].emitted; !reflect.DeepEqual(a, b) {
		p.rt.Fatalf("emitted\n%+v\n%+v", a, b)
	}
	if a, b := p.sides[0].warned, p.sides[1].warned; !slices.Equal(a, b) {
		p.rt.Fatalf("warned %q and %q", a, b)
	}
}

// request draws a request of the thread with the given messages. It is a resume if pause has
// interrupts.
func (p *pair) request(messages []json.RawMessage, pause agui.Pause) *translate.Request {
	r := &translate.Request{Pause: pause, Show: rapid.SampledFrom([]translate.Show{translate.ShowOutcome, translate.ShowBoth, translate.ShowNative}).Draw(p.rt, "show")}
	body := map[string]any{"threadId": "t", "runId": "r", "messages": messages, "tools": []any{}}
	if rapid.Bool().Draw(p.rt, "tools") {
		body["tools"] = []any{map[string]any{"name": "search"}}
	}
	if messages == nil && rapid.Bool().Draw(p.rt, "abandoned") {
		body["messages"] = []any{map[string]any{"id": "u", "role": "user", "content": "x"}, map[string]any{"id": "m", "role": "assistant",
			"toolCalls": []any{map[string]any{"id": "c", "type": "function", "function": map[string]any{"name": "search", "arguments": "{}"}}}}}
	}
	var entries []any
	for _, i := range pause.Interrupts {
		a := agui.Answer{ID: i.ID, Status: agui.Cancelled}
		if said := rapid.SampledFrom([]string{`{"approved":true}`, "", `{"approved":false}`, `"yes"`, `{"approved":true}`}).Draw(p.rt, "answer"); said != "" {
			a.Status, a.Payload = agui.Resolved, json.RawMessage(said)
		}
		r.Answers = append(r.Answers, a)
		entry := map[string]any{"interruptId": i.ID, "status": a.Status}
		if a.Payload != nil {
			entry["payload"] = a.Payload
		}
		entries = append(entries, entry)
	}
	beside := json.RawMessage(`{"id":"beside","role":"user","content":"and"}`)
	if pause.ID != "" {
		body["resume"] = entries
		if rapid.Bool().Draw(p.rt, "beside") {
			r.NewMessages = []agui.Message{agui.ParseMessage(beside)}
			body["messages"] = append(slices.Clone(messages), beside)
		}
	}
	in, ok, err := agui.ParseInput(agui.MustMarshal(body))
	if !ok || err != nil {
		p.rt.Fatalf("%v %v", ok, err)
	}
	r.Input, r.ClientMessages = in, in.Messages
	return r
}

// minted returns the pause as the proxy stores it, with ids and with what the thread has seen.
func minted(p agui.Pause, seen *dialecttest.Log) agui.Pause {
	p = dialecttest.WithIDs(p)
	p.SeenMessages = seen.SeenMessages()
	return p
}
