package dialecttest

import (
	"reflect"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// checkWords answers each question that has a plain yes and no in every plain way, and all others
// with a cancel. What goes to the backend for a no, or for a cancel, is never what goes for the
// yes. A payload beside a cancel says nothing.
func (th *thread) checkWords(r *translate.Request) {
	for n := range th.pause.Interrupts {
		i := th.pause.Interrupts[n]
		if i.Yes == nil || i.No == nil {
			continue
		}
		yes, toldYes := th.told(r, n, Entry(i.ID, string(i.Yes)))
		no, toldNo := th.told(r, n, Entry(i.ID, string(i.No)))
		cancel, toldCancel := th.told(r, n, Entry(i.ID, ""))
		beside, toldBeside := th.told(r, n, strings.TrimSuffix(Entry(i.ID, ""), "}")+`,"payload":`+string(i.Yes)+`}`)
		switch {
		case toldYes && toldNo && same(yes, no):
			th.t.Fatalf("a no of %s goes as the yes: %s", i.Object, bodies(no))
		case toldYes && toldCancel && same(yes, cancel):
			th.t.Fatalf("a cancel of %s goes as the yes: %s", i.Object, bodies(cancel))
		case toldBeside && (!toldCancel || !same(beside, cancel)):
			th.t.Fatalf("a cancel of %s with the payload of a yes goes as %s", i.Object, bodies(beside))
		}
		for _, payload := range nearly {
			unclear, told := th.told(r, n, Entry(i.ID, payload))
			a := agui.Answer{ID: i.ID, Status: agui.Resolved, Payload: []byte(payload)}
			if toldYes && told && same(unclear, yes) && kit.Says(i, a) != agui.Approves {
				th.t.Fatalf("%s for %s goes as the yes: %s", payload, i.Object, bodies(yes))
			}
		}
		th.checkBecause(r, n, yes, toldYes)
		th.checkReadings(r, n)
		if toldYes && toldNo {
			th.answered++
		}
	}
}

// checkBecause: a no that says why is not a yes, means a no, and the agent is told why.
func (th *thread) checkBecause(r *translate.Request, n int, yes []translate.Out, toldYes bool) {
	const why = "not in this house"
	i := th.pause.Interrupts[n]
	if i.Because == "" {
		return
	}
	payload := agui.SetString(slices.Clone(i.No), i.Because, why)
	said, told := th.told(r, n, Entry(i.ID, string(payload)))
	switch a := (agui.Answer{ID: i.ID, Status: agui.Resolved, Payload: payload}); {
	case kit.Says(i, a) != agui.Denies:
		th.t.Fatalf("%s is no denial of %s", payload, i.Object)
	case told && toldYes && same(said, yes):
		th.t.Fatalf("a no of %s that says why goes as the yes: %s", i.Object, bodies(said))
	case told && !strings.Contains(bodies(said), why):
		th.t.Fatalf("%s is not told why %s is denied: %s", r.Backend, i.Object, bodies(said))
	}
}

// checkReadings: whoever hears of an answer is told that the plain yes is an approval, that one
// with other arguments is edited, and that the plain no is a denial.
func (th *thread) checkReadings(r *translate.Request, n int) {
	i := th.pause.Interrupts[n]
	said := map[string]string{string(i.Yes): "+", string(i.No): "-"}
	if gjson.GetBytes(i.Schema(), "properties.editedArgs").Exists() && gjson.ParseBytes(i.Yes).IsObject() {
		said[string(agui.SetKey(slices.Clone(i.Yes), "editedArgs", []byte(`{"path":"b.txt"}`)))] = "+e"
	}
	for payload, want := range said {
		_, answers, ok := th.answers(r.Input, th.oneOf(n, Entry(i.ID, payload)))
		if !ok {
			continue
		}
		for _, a := range answers {
			if a.ID != i.ID {
				continue
			}
			if got := Readings(th.sides[0].dialect, th.pause, []agui.Answer{a}); got != want {
				th.t.Fatalf("%s for %s is read as %s, want %s", payload, i.Object, got, want)
			}
		}
	}
}

// nearly are payloads that are not plain yes, though somebody might take them for one. A no and
// behind it a yes under the same key is not among them: JSON.parse and json.loads take the last.
var nearly = []string{
	`{"approved":"true"}`, `{"approved":1}`, `{"approved":null}`, `{"approved":true,"approved":false}`,
	`{"Approved":true}`, `{"approved":[true]}`, `{}`, `[]`, `1`, `"true"`, `"no"`, `{"answer":"yes"}`,
}

// oneOf returns entries for all questions: this one for question n, and a cancel for the others.
func (th *thread) oneOf(n int, entry string) (entries []string) {
	for at, i := range th.pause.Interrupts {
		if at == n {
			entries = append(entries, entry)
		} else {
			entries = append(entries, Entry(i.ID, ""))
		}
	}
	return entries
}

// told returns what goes to the backend for an entry about question n.
func (th *thread) told(r *translate.Request, n int, entry string) (outs []translate.Out, told bool) {
	in, answers, said := th.answers(r.Input, th.oneOf(n, entry))
	if !said {
		return nil, false
	}
	again := r.With(in, nil)
	again.Came, again.Pause, again.Answers, again.Transcript = in.Messages, th.pause, answers, NewLog(in.Messages)
	if meaning := kit.Says(th.pause.Interrupts[n], answers[n]); strings.Contains(entry, `"cancelled"`) && meaning != agui.Denies {
		th.t.Fatalf("a cancel means %v: %s", meaning, entry)
	}
	out, run, err := th.sides[0].dialect.Begin(again)
	if th.refuses(err) {
		return nil, false
	}
	for range 4 { // it may need more than one exchange to say all
		outs = append(outs, out)
		var p Played
		if _, decodes := run.(translate.Decoder); decodes && out.Method == "GET" {
			// It looks at what the backend waits for: that is as it was at the end of the turn.
			p = Decode(run, &Log{}, false, translate.Piece{Data: []byte(th.last.Body)})
		} else if decodes {
			p = Decode(run, &Log{}, false)
		} else {
			p = Play(run, &Log{}, started, finished)
		}
		if p.Result.Next == nil {
			break
		}
		out, run = p.Result.Next.Out, p.Result.Next.Run
	}
	only := !slices.ContainsFunc(outs, func(o translate.Out) bool { return o.Method != "GET" })
	return outs, !only // else the backend does not wait any more, and nothing was said
}

// same reports whether a backend could not tell the two apart.
func same(a, b []translate.Out) bool {
	return slices.EqualFunc(a, b, func(a, b translate.Out) bool {
		return a.None == b.None && a.Path == b.Path && string(a.Body) == string(b.Body) && reflect.DeepEqual(a.Header, b.Header)
	})
}

// bodies returns what is sent.
func bodies(list []translate.Out) string {
	var b strings.Builder
	for _, out := range list {
		b.Write(out.Body)
	}
	return b.String()
}
