package dialects

import (
	"reflect"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/kit"
)

// TestWords checks the recorded questions that have a plain yes and no. The yes and the no must be
// read with these meanings, and the request for a no or a cancel must differ from the request for
// the yes.
func TestWords(t *testing.T) {
	for _, name := range All().Names() {
		if name == "auto" || isForeign(fresh(t, name, nil)) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			asked := 0
			for _, s := range recorded(t, name) {
				for _, stream := range s {
					if p, in := pausedBy(t, fresh(t, name, nil), stream); len(p.Interrupts) == 1 {
						asked += checkWords(t, fresh(t, name, nil), p, in)
					}
				}
			}
			t.Logf("%d questions", asked)
			if asked == 0 {
				t.Error("no question with a plain yes and no")
			}
		})
	}
}

// pausedBy plays the stream to an ordinary run and returns the pause at its end, as the proxy
// stores pauses.
func pausedBy(t *testing.T, d translate.Dialect, stream []string) (agui.Pause, agui.RunInput) {
	t.Helper()
	in := dialecttest.Input(t, `{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"x"}]}`)
	seen := dialecttest.NewLog(in.Messages)
	_, run, err := d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: seen})
	if err != nil {
		t.Fatal(err)
	}
	events, end := split(stream)
	for _, ev := range events {
		if err := run.Event(agui.NewEvent([]byte(ev)), seen.Add); err != nil {
			return agui.Pause{}, in
		}
	}
	res, err := run.End(translate.End{Event: agui.NewEvent([]byte(end))})
	if err != nil {
		return agui.Pause{}, in
	}
	return minted(res.Asked.Pause(d.Name()), seen), in
}

func checkWords(t *testing.T, d translate.Dialect, p agui.Pause, in agui.RunInput) int {
	t.Helper()
	i := &p.Interrupts[0]
	if i.Yes == nil && i.No == nil {
		i.Yes, i.No = kit.Words(*i)
	}
	if i.Yes == nil || i.No == nil {
		return 0
	}
	yes, no := agui.Answer{ID: i.ID, Status: agui.Resolved, Payload: i.Yes}, agui.Answer{ID: i.ID, Status: agui.Resolved, Payload: i.No}
	if kit.MeaningOf(*i, yes) != agui.Approves || kit.MeaningOf(*i, no) != agui.Denies {
		t.Errorf("yes %s and no %s of %s", i.Yes, i.No, i.Object)
	}
	sent := map[string]translate.Out{}
	for what, a := range map[string]agui.Answer{"yes": yes, "no": no, "cancel": {ID: i.ID, Status: agui.Cancelled}} {
		entry := map[string]any{"interruptId": a.ID, "status": a.Status}
		if a.Payload != nil {
			entry["payload"] = a.Payload
		}
		body := agui.SetKey(in.Raw, "resume", agui.MustMarshal([]any{entry}))
		given, _, err := agui.ParseInput(body)
		if err != nil {
			t.Fatal(err)
		}
		list, err := d.Answers(given, p)
		if err != nil || len(list) != 1 {
			t.Fatalf("%s is read as %+v, %v", what, list, err)
		}
		out, _, err := d.Begin(&translate.Request{Input: given, ClientMessages: in.Messages, Pause: p, Answers: list, Transcript: dialecttest.NewLog(given.Messages)})
		if err != nil { // this answer cannot be sent to the backend
			continue
		}
		sent[what] = out
	}
	for _, what := range []string{"no", "cancel"} {
		if out, said := sent[what]; said && reflect.DeepEqual(out, sent["yes"]) {
			t.Errorf("a %s goes as the yes: %s", what, out.Body)
		}
	}
	if len(sent) == 0 {
		t.Errorf("nothing of it can be said: %s", i.Object)
	}
	return 1
}
