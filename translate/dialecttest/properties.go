package dialecttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// CheckThread plays one thread of a dialect: a recorded scenario whose requests and responses are
// changed in many ways. The function made makes the dialect with the options of the scenario.
// CheckThread checks the rules that all dialects must keep:
//
//   - nothing panics, and each refusal is an *agui.RunError;
//   - the output is valid: bodies are JSON, events are events, and a pause can be stored and sent;
//   - a pause does not share bytes that were only lent to the dialect;
//   - a stream whose texts are cut into smaller pieces has the same result;
//   - the request for a no or a cancel of a question differs from the request for the yes.
//
// CheckThread returns the number of questions that it answered both with a yes and with a no. A
// test that fails prints the requests and the frames of the thread.
func CheckThread(t *rapid.T, made func(Scenario) translate.Dialect, all []Scenario) (answered int) {
	s := rapid.SampledFrom(all).Draw(t, "scenario")
	th := &thread{t: t, edits: rapid.Bool().Draw(t, "edits")}
	th.other = rapid.SampledFrom(all).Draw(t, "other")
	for n := range th.sides {
		th.sides[n] = side{dialect: made(s), log: &Log{}}
	}
	for _, turn := range s.Turns[:min(len(s.Turns), 4)] {
		th.turn(turn)
	}
	return th.answered
}

// A thread is played twice, on two sides. The second side gets the same stream in smaller pieces,
// and must have the same result.
type thread struct {
	t        *rapid.T
	edits    bool
	other    Scenario
	sides    [2]side
	pause    agui.Pause
	ended    []translate.EndedPause
	answered int
	last     Answer // the last response of the turn
	// the turn's events, because a held event may be emitted in a later exchange
	received map[string]bool
}

type side struct {
	dialect translate.Dialect
	log     *Log
	run     translate.Run
	played  Played
}

// turn plays one run of the client on both sides.
func (th *thread) turn(turn Turn) {
	th.received = map[string]bool{}
	in := th.input(turn.Request)
	th.read(in)
	r := th.request(in)
	th.t.Logf("the client sends %s", r.Input.Raw)
	began := false
	var outs [2]translate.Out
	for n := range th.sides {
		s := &th.sides[n]
		own := *r
		s.log = s.log.Next(r.Input.Messages)
		own.Transcript = s.log
		var err error
		outs[n], s.run, err = s.dialect.Begin(&own)
		if th.refuses(err) {
			continue
		}
		began = true
		th.sends(outs[n], n)
		th.checkOut(outs[n], s.run)
	}
	if !began {
		return
	}
	if !reflect.DeepEqual(outs[0], outs[1]) {
		th.t.Fatalf("one request becomes two:\n%+v\n%+v", outs[0], outs[1])
	}
	th.exchanges(turn, r)
}

func (th *thread) exchanges(turn Turn, r *translate.Request) {
	resumed := r.Pause
	for n := range 4 {
		var answer Answer
		if n < len(turn.Answers) {
			answer = turn.Answers[n]
		}
		th.exchange(answer)
		th.last = answer
		next := th.sides[0].played.Result.Next
		if next == nil {
			break
		}
		for n := range th.sides {
			if next = th.sides[n].played.Result.Next; next == nil {
				th.t.Fatal("one goes on, and the other does not")
			}
			th.sides[n].run = next.Run
			th.sends(next.Out, n)
			th.checkOut(next.Out, next.Run)
		}
	}
	res := th.sides[0].played.Result
	if resumed.ID != "" {
		ended := translate.EndedPause{Pause: resumed, Failed: res.Finish.Type == agui.RunErrored}
		th.ended, th.pause = append([]translate.EndedPause{ended}, th.ended...), agui.Pause{}
	}
	if len(res.Asked.Interrupts) == 0 {
		return
	}
	name := th.sides[0].dialect.Name()
	if res.DetectedDialect != "" {
		name = res.DetectedDialect
	}
	if _, err := json.Marshal(res.Asked); err != nil {
		th.t.Fatalf("the pause cannot be kept: %v", err)
	}
	before := agui.MustMarshal(res.Asked)
	th.pause = WithIDs(res.Asked.Pause(name))
	th.pause.SeenMessages = th.sides[0].log.SeenMessages()
	th.checkWords(r)
	overwrite(r.Input.Raw) // the run is over, so nothing may use these bytes any more
	if after := agui.MustMarshal(res.Asked); string(before) != string(after) {
		th.t.Fatalf("the pause lies in the bytes of the request:\n%s", difference(string(before), string(after)))
	}
	for n := range th.sides {
		th.sides[n].log = (&Log{}).AddCalls(th.sides[n].log.Calls()...)
	}
}

// exchange plays one response of the backend to both sides.
func (th *thread) exchange(answer Answer) {
	cut := answer.Cut
	if _, decodes := th.sides[0].run.(translate.Decoder); decodes {
		th.decode(answer)
	} else if answer.Status != ok {
		th.t.Logf("the backend answers with the status %d\n%s", answer.Status, answer.Body)
		end := translate.End{Status: answer.Status, Body: []byte(answer.Body), None: answer.Status == 0}
		for n := range th.sides {
			th.sides[n].play(end)
		}
	} else {
		events := answer.Events()
		if th.edits {
			events = mutatedStream(th.t, events, th.otherAnswer().Events())
		}
		th.t.Logf("the backend sends\n%v", readable(events))
		for n, stream := range [][]string{events, inHalves(th.t, events)} {
			end := translate.End{Cut: cut}
			if at := slices.IndexFunc(stream, func(s string) bool { return asPassed(s).Type.Terminal() }); at >= 0 {
				stream, end = stream[:at], translate.End{Event: asPassed(stream[at])}
			}
			th.sides[n].play(end, stream...)
		}
	}
	th.t.Logf("the client gets\n%v", readable(th.sides[0].played.told()))
	for n := range th.sides {
		th.checkPlayed(th.sides[n].played)
	}
	whole, pieces := th.sides[0].played, th.sides[1].played
	if one, other := whole.story(), pieces.story(); one != other {
		th.t.Fatalf("in pieces it comes to something else:\n%s", difference(one, other))
	}
}

// otherAnswer returns the first response of the scenario other.
func (th *thread) otherAnswer() Answer {
	if list := th.other.Turns[0].Answers; len(list) > 0 {
		return list[0]
	}
	return Answer{}
}

func (s *side) play(end translate.End, stream ...string) {
	if end.Event.JSON != nil {
		end.Event = end.Event.Clone()
	}
	s.played = playTo(s.run, s.log, end, asPassed, stream)
}

// decode plays a response that is not an AG-UI stream.
func (th *thread) decode(answer Answer) {
	body, at := answer.Body, 0
	if th.edits {
		body = strings.Join(mutatedStream(th.t, strings.SplitAfter(body, "\n"), strings.SplitAfter(th.otherAnswer().Body, "\n")), "")
	}
	th.t.Logf("the backend answers with the status %d\n%s", answer.Status, body)
	if len(body) > 1 {
		at = rapid.IntRange(1, len(body)-1).Draw(th.t, "cut")
	}
	for n := range th.sides {
		s := &th.sides[n]
		framing := translate.Unread
		if answer.Status == ok {
			framing = s.run.(translate.Decoder).Framing(answer.MediaType)
		}
		if framing == translate.Unread {
			s.play(translate.End{Status: answer.Status, Body: []byte(body), None: answer.Status == 0})
			continue
		}
		list := Pieces(framing, body)
		if framing == translate.Text && n == 1 {
			first, rest := Split([]byte(body), at)
			list = []translate.Piece{{Data: first}, {Data: rest}}
		}
		s.played = Decode(s.run, s.log, answer.Cut, list...)
		for _, ev := range s.played.All() {
			if !ev.Valid() {
				th.t.Fatalf("no event: %s", ev.JSON)
			}
		}
	}
}

// input returns a random variant of a recorded request.
func (th *thread) input(request []byte) agui.RunInput {
	body := string(request)
	if th.edits {
		body = mutated(th.t, body)
	}
	in, isRun, err := agui.ParseInput([]byte(body))
	if !isRun || err != nil {
		if in, _, err = agui.ParseInput(slices.Clone(request)); err != nil || in.Raw == nil {
			in, _, _ = agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"x"}]}`))
		}
	}
	return in
}

// read calls the methods of the dialect that the package proxy calls before it judges a request.
// They must not panic.
func (th *thread) read(in agui.RunInput) {
	d := th.sides[0].dialect
	pauses := []agui.Pause{{}, {Dialect: d.Name()}, th.pause}
	for _, ended := range th.ended {
		pauses = append(pauses, ended.Pause)
	}
	for _, p := range pauses {
		_, err := d.Answers(in, p)
		th.refuses(err)
		_, err = Answers(d, in, p)
		th.refuses(err)
	}
	if reader, reads := d.(translate.HistoryReader); reads {
		for reply := range reader.Replies(in, "") {
			if reply.At < 0 || reply.At >= len(in.Messages) {
				th.t.Fatalf("a reply of no message: %+v", reply)
			}
		}
	}
	if reader, reads := d.(translate.DecisionReader); reads {
		for _, m := range in.Messages {
			if reader.Decides(m, true, "") && !reader.ReadsDecisions("") || reader.Decides(m, true, d.Name()) && !reader.ReadsDecisions(d.Name()) {
				th.t.Fatalf("a decision of a dialect that reads none: %s", m.JSON)
			}
			if !reader.Decides(m, false, "") {
				continue
			}
			if out := reader.Harmless(m); !agui.ValidJSON(out.JSON) || reader.Decides(out, false, "") {
				th.t.Fatalf("made harmless: %s", out.JSON)
			}
		}
	}
	if taker, takes := d.(translate.Taker); takes {
		taker.Takes(in.Raw, "")
	}
}

// payloads are payloads of answers that a client may send.
var payloads = []string{"", `{"approved":true}`, `{"approved":false}`, `true`, `false`, `"yes"`, `"no"`, `{}`, `7`, `{"approved":false,"editedArgs":{"a":1}}`, `{"approved":true,"editedArgs":{"path":"other"}}`}

// request returns a random request. If the thread has a pause, the request answers it.
func (th *thread) request(in agui.RunInput) *translate.Request {
	r := &translate.Request{
		Input: in, ClientMessages: in.Messages, EndedPauses: th.ended,
		Show: rapid.SampledFrom([]translate.Show{translate.ShowOutcome, translate.ShowBoth, translate.ShowNative}).Draw(th.t, "show"),
	}
	if th.pause.ID == "" {
		return r
	}
	var entries []string
	for _, i := range th.pause.Interrupts {
		entries = append(entries, Entry(i.ID, rapid.SampledFrom(payloads).Draw(th.t, "answer")))
	}
	in, answers, said := th.answers(in, entries)
	if !said {
		return r
	}
	r.Input, r.ClientMessages, r.Pause, r.Answers = in, in.Messages, th.pause, answers
	if rapid.Bool().Draw(th.t, "beside") {
		r.NewMessages = agui.NewMessages(in.Messages, th.pause.SeenMessages)
	}
	return r
}

// answers returns what the dialect reads when the resume array has these entries: the input, and
// the answers in the order of the pause. said is false if the dialect refuses the entries.
func (th *thread) answers(in agui.RunInput, entries []string) (_ agui.RunInput, list []agui.Answer, said bool) {
	body := agui.SetKey(in.WithoutCommand().Raw, "resume", []byte("["+strings.Join(entries, ",")+"]"))
	given, _, err := agui.ParseInput(body)
	if err != nil {
		return in, nil, false
	}
	list, err = th.sides[0].dialect.Answers(given, th.pause)
	if th.refuses(err) {
		return in, nil, false
	}
	list, err = Admit(th.pause, list)
	return given, list, err == nil
}

func (th *thread) refuses(err error) bool {
	if refused := (*agui.RunError)(nil); err != nil && !errors.As(err, &refused) {
		th.t.Fatalf("refused without a code: %v", err)
	}
	return err != nil
}

// told returns the data of the frames that are sent to the client. The last frame lacks what the
// package proxy adds to it.
func (p Played) told() (list []string) {
	for _, ev := range append(p.All(), p.Result.Finish) {
		if len(ev.JSON) > 0 {
			list = append(list, string(ev.JSON))
		}
	}
	return list
}

// readable has the data of frames. It is a type of its own, so that the text is built only if a
// failing test prints it.
type readable []string

// String returns the frames as a text, one on each line.
func (r readable) String() string { return "data: " + strings.Join(r, "\ndata: ") }

// sends logs a request to the backend. It logs only the first side, because the second sends the
// same.
func (th *thread) sends(out translate.Out, side int) {
	switch {
	case side > 0:
	case out.None:
		th.t.Logf("the backend gets nothing")
	case len(out.Body) == 0 && out.Method == "":
		th.t.Logf("the backend gets the same request")
	default:
		th.t.Logf("the backend gets %s %s %s", out.Method, out.Path, out.Body)
	}
}

func (th *thread) checkOut(out translate.Out, run translate.Run) {
	if len(out.Body) > 0 && !agui.ValidJSON(out.Body) {
		th.t.Fatalf("the body is no JSON: %s", out.Body)
	}
	if run == nil {
		th.t.Fatal("no Run")
	}
}

// checkPlayed checks that the events which are sent to the client are valid.
func (th *thread) checkPlayed(p Played) {
	th.refuses(p.Err)
	for _, s := range p.received {
		th.received[s] = true
	}
	for _, ev := range p.All() {
		if !th.received[string(ev.JSON)] && !ev.Valid() || ev.Type.Terminal() {
			th.t.Fatalf("emitted: %s", ev.JSON)
		}
	}
	f, asked := p.Result.Finish, p.Result.Asked
	if f.Type != agui.Unknown && !f.Type.Terminal() || f.Edited && !f.Valid() {
		th.t.Fatalf("the end is %s", f.JSON)
	}
	if len(asked.Interrupts) > 0 && (f.Type != agui.RunFinished || f.Get("outcome.type").Str == "interrupt") {
		th.t.Fatalf("a pause ends with %s", f.JSON)
	}
	for _, i := range asked.Interrupts {
		th.checkInterrupt(i)
	}
	for _, own := range append(slices.Clone(asked.NativeEvents), asked.NativeFinish) {
		if own != nil && !agui.ValidJSON(own) {
			th.t.Fatalf("its own announcement: %s", own)
		}
	}
}

// checkInterrupt checks that every client can read the question i.
func (th *thread) checkInterrupt(i agui.Interrupt) {
	o := gjson.ParseBytes(i.Object)
	if !agui.ValidJSON(i.Object) || !o.IsObject() || o.Get("reason").Type != gjson.String {
		th.t.Fatalf("a question: %s", i.Object)
	}
	for _, key := range []string{"message", "toolCallId", "responseSchema", "metadata", "expiresAt"} {
		if o.Get(key).Type == gjson.Null && o.Get(key).Exists() {
			th.t.Fatalf("%s is null: %s", key, i.Object)
		}
	}
	for _, raw := range []json.RawMessage{i.Private, i.Yes, i.No} {
		if raw != nil && !agui.ValidJSON(raw) {
			th.t.Fatalf("no JSON in a question: %s", raw)
		}
	}
}

// story returns what the client and the package proxy make of the result, as a text to compare. The
// pieces of each text are joined.
func (p Played) story() string {
	var b strings.Builder
	last, shown := "", p.All()
	asked := p.Result.Asked
	for _, own := range asked.NativeEvents {
		shown = append(shown, agui.NewEvent(own))
	}
	asked.NativeEvents = nil
	for _, ev := range shown {
		switch key := string(ev.Type) + " " + ev.Get("messageId").Str + ev.Get("toolCallId").Str; {
		case ev.Type != agui.TextContent && ev.Type != agui.CallArgs || !ev.Valid():
			fmt.Fprintf(&b, "\n%s", ev.JSON)
			last = ""
		case key == last:
			b.WriteString(ev.Get("delta").Str)
		default:
			fmt.Fprintf(&b, "\n%s %s", key, ev.Get("delta").Str)
			last = key
		}
	}
	res := p.Result
	fmt.Fprintf(&b, "\n%s\n%s fate %v spoke %q untaken %d %v", res.Finish.JSON, agui.MustMarshal(asked), res.Fate, res.DetectedDialect, len(res.UnacceptedMessages), p.Err)
	if res.Next != nil {
		fmt.Fprintf(&b, "\nnext %+v", res.Next.Out)
	}
	return b.String()
}

// difference returns the part of each text around the first character that differs.
func difference(one, other string) string {
	at := 0
	for at < min(len(one), len(other)) && one[at] == other[at] {
		at++
	}
	around := func(s string) string { return s[max(0, at-100):min(len(s), at+200)] }
	return around(one) + "\n--\n" + around(other)
}
