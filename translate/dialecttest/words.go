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

// checkWords answers each question that has a plain yes and no in every plain way. Meanwhile it
// answers all other questions with a cancel. The request for a no or a cancel must differ from the
// request for the yes. The payload of a cancelled entry must be ignored.
func (th *thread) checkWords(r *translate.Request) {
	for n := range th.pause.Interrupts {
		i := th.pause.Interrupts[n]
		if i.Yes == nil || i.No == nil {
			continue
		}
		yes, toldYes := th.requests(r, n, Entry(i.ID, string(i.Yes)))
		no, toldNo := th.requests(r, n, Entry(i.ID, string(i.No)))
		cancel, toldCancel := th.requests(r, n, Entry(i.ID, ""))
		beside, toldBeside := th.requests(r, n, strings.TrimSuffix(Entry(i.ID, ""), "}")+`,"payload":`+string(i.Yes)+`}`)
		switch {
		case toldYes && toldNo && indistinguishable(yes, no):
			th.t.Fatalf("a no of %s goes as the yes: %s", i.Object, bodies(no))
		case toldYes && toldCancel && indistinguishable(yes, cancel):
			th.t.Fatalf("a cancel of %s goes as the yes: %s", i.Object, bodies(cancel))
		case toldBeside && (!toldCancel || !indistinguishable(beside, cancel)):
			th.t.Fatalf("a cancel of %s with the payload of a yes goes as %s", i.Object, bodies(beside))
		}
		for _, payload := range unclearPayloads {
			unclear, told := th.requests(r, n, Entry(i.ID, payload))
			a := agui.Answer{ID: i.ID, Status: agui.Resolved, Payload: []byte(payload)}
			if toldYes && told && indistinguishable(unclear, yes) && kit.MeaningOf(i, a) != agui.Approves {
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

// checkBecause checks a denial with a reason. It must count as a denial, it must not be sent as an
// approval, and the agent must get the reason.
func (th *thread) checkBecause(r *translate.Request, n int, yes []translate.Out, toldYes bool) {
	const why = "not in this house"
	i := th.pause.Interrupts[n]
	if i.ReasonMember == "" {
		return
	}
	payload := agui.SetString(slices.Clone(i.No), i.ReasonMember, why)
	said, told := th.requests(r, n, Entry(i.ID, string(payload)))
	switch a := (agui.Answer{ID: i.ID, Status: agui.Resolved, Payload: payload}); {
	case kit.MeaningOf(i, a) != agui.Denies:
		th.t.Fatalf("%s is no denial of %s", payload, i.Object)
	case told && toldYes && indistinguishable(said, yes):
		th.t.Fatalf("a no of %s that says why goes as the yes: %s", i.Object, bodies(said))
	case told && !strings.Contains(bodies(said), why):
		th.t.Fatalf("%s is not told why %s is denied: %s", r.Backend, i.Object, bodies(said))
	}
}

// checkReadings checks the meaning that the audit log would have: the plain yes is an approval, a
// yes with other arguments is an edited approval, and the plain no is a denial.
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

// unclearPayloads are payloads that are not a plain yes, although a reader may take them for one.
// It does not include an object with a no followed by a yes under the same key, because JSON.parse
// and json.loads use the last value, so it is a yes.
var unclearPayloads = []string{
	`{"approved":"true"}`, `{"approved":1}`, `{"approved":null}`, `{"approved":true,"approved":false}`,
	`{"Approved":true}`, `{"approved":[true]}`, `{}`, `[]`, `1`, `"true"`, `"no"`, `{"answer":"yes"}`,
}

// oneOf returns one entry for each question: the parameter entry for question n, and a cancel for
// every other question.
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

// requests returns the requests that the backend gets if the parameter entry answers question n.
// told is false if the answer was refused, or if no request sent it.
func (th *thread) requests(r *translate.Request, n int, entry string) (outs []translate.Out, told bool) {
	in, answers, said := th.answers(r.Input, th.oneOf(n, entry))
	if !said {
		return nil, false
	}
	again := r.With(in, nil)
	again.ClientMessages, again.Pause, again.Answers, again.Transcript = in.Messages, th.pause, answers, NewLog(in.Messages)
	if meaning := kit.MeaningOf(th.pause.Interrupts[n], answers[n]); strings.Contains(entry, `"cancelled"`) && meaning != agui.Denies {
		th.t.Fatalf("a cancel means %v: %s", meaning, entry)
	}
	out, run, err := th.sides[0].dialect.Begin(again)
	if th.refuses(err) {
		return nil, false
	}
	for range 4 { // the answer may need several exchanges
		outs = append(outs, out)
		var p Played
		if _, decodes := run.(translate.Decoder); decodes && out.Method == "GET" {
			// The dialect asks the backend which questions are open. These have not changed since
			// the end of the turn.
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
	return outs, !only // if all requests were GETs, no answer was sent
}

// indistinguishable reports whether the two lists of requests are equal for a backend.
func indistinguishable(a, b []translate.Out) bool {
	return slices.EqualFunc(a, b, func(a, b translate.Out) bool {
		return a.None == b.None && a.Path == b.Path && string(a.Body) == string(b.Body) && reflect.DeepEqual(a.Header, b.Header)
	})
}

// bodies returns the bodies of the requests, joined to one text.
func bodies(list []translate.Out) string {
	var b strings.Builder
	for _, out := range list {
		b.Write(out.Body)
	}
	return b.String()
}
