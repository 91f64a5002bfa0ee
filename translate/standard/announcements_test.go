package standard

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

func crewAnnounces(value string) string {
	return `{"type":"CUSTOM","name":"on_interrupt","value":` + value + `}`
}

// announces plays the stream to a run without answers and returns the result.
func announces(t *testing.T, stream ...string) translate.Result {
	t.Helper()
	l := &dialecttest.Log{}
	_, run, err := new(Dialect).Begin(&translate.Request{Input: parse(t, ``), Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	p := dialecttest.Play(run, l, stream...)
	if p.Err != nil {
		t.Fatal(p.Err)
	}
	return p.Result
}

// TestAnnouncementWithoutAnOutcome: by default CrewAI announces its question in a CUSTOM event. If
// no outcome follows, the announcement must become the question.
func TestAnnouncementWithoutAnOutcome(t *testing.T) {
	const another = `{"id":"t","reason":"crewai:human_feedback","message":"Another?"}`
	for name, c := range map[string]struct {
		stream []string
		want   []string // the native id and the interrupt of each question
		before int      // the number of events that go before the end
		own    int      // the number of announcements for native clients
	}{
		"CrewAI's":                        {[]string{started, crewAnnounces(crewAsks), finished}, []string{"t " + strings.Replace(crewAsks, `"id":"t",`, "", 1)}, 0, 1},
		"with nulls":                      {[]string{started, crewAnnounces(`{"id":"t","reason":"crewai:human_feedback","message":null}`), finished}, []string{`t {"reason":"crewai:human_feedback"}`}, 0, 1},
		"with an outcome of null":         {[]string{started, crewAnnounces(another), strings.Replace(finished, "}", `,"outcome":null}`, 1)}, []string{`t {"reason":"crewai:human_feedback","message":"Another?"}`}, 0, 1},
		"beside an outcome":               {[]string{started, crewAnnounces(another), outcome(crewAsks)}, []string{"t " + strings.Replace(crewAsks, `"id":"t",`, "", 1)}, 0, 1},
		"the last of two":                 {[]string{started, crewAnnounces(crewAsks), crewAnnounces(another), finished}, []string{`t {"reason":"crewai:human_feedback","message":"Another?"}`}, 0, 2},
		"what follows it goes out before": {[]string{started, crewAnnounces(another), text, finished}, []string{`t {"reason":"crewai:human_feedback","message":"Another?"}`}, 1, 1},
		"of a run that failed":            {[]string{started, crewAnnounces(crewAsks), `{"type":"RUN_ERROR","message":"m"}`}, nil, 1, 0},
		"of a run that was cut":           {[]string{started, crewAnnounces(crewAsks)}, nil, 1, 0},
		"another name":                    {[]string{started, strings.Replace(crewAnnounces(crewAsks), "on_interrupt", "x", 1), finished}, nil, 0, 0},
		"a text":                          {[]string{started, crewAnnounces(`"Delete?"`), finished}, nil, 1, 0},
		"somebody's object":               {[]string{started, crewAnnounces(somebodyAsks), finished}, nil, 1, 0},
		"very much behind it passes":      {[]string{started, crewAnnounces(another), `{"type":"CUSTOM","name":"x","value":"` + strings.Repeat("x", maxHeld) + `"}`, text, finished}, []string{`t {"reason":"crewai:human_feedback","message":"Another?"}`}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			res := announces(t, c.stream...)
			var got []string
			for _, i := range res.Asked.Interrupts {
				got = append(got, i.Native+" "+string(i.Object))
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") || len(res.HeldEvents) != c.before || len(res.Asked.NativeEvents) != c.own {
				t.Errorf("asks %q, %d before, %d own; want %q", got, len(res.HeldEvents), len(res.Asked.NativeEvents), c.want)
			}
			if len(c.want) > 0 && (res.Finish.Get("outcome").Exists() || string(res.Asked.NativeFinish) != c.stream[len(c.stream)-1]) {
				t.Errorf("%+v", res)
			}
		})
	}
}

// TestAnnouncedQuestionIsNeverCancelledAtCrewAI checks that CrewAI gets no cancel, even if the
// question was only announced.
func TestAnnouncedQuestionIsNeverCancelledAtCrewAI(t *testing.T) {
	p := dialecttest.WithIDs(announces(t, started, crewAnnounces(crewAsks), finished).Asked.Pause(Name))
	for payload, want := range map[string]agui.Code{``: agui.InvalidPayload, `""`: agui.InvalidPayload, `"rejected"`: ""} {
		out, _, err := resume(t, p, parse(t, dialecttest.ResumeArray(dialecttest.Entry("t~r1", payload))))
		if dialecttest.Code(err) != want {
			t.Errorf("%s: %v, sent %s", payload, err, out.Body)
		}
	}
}

// TestAnnouncementOfAResumedRun checks that a resumed run can ask another question by announcing
// it.
func TestAnnouncementOfAResumedRun(t *testing.T) {
	p := dialecttest.WithIDs(announces(t, started, crewAnnounces(crewAsks), finished).Asked.Pause(Name))
	_, run, err := resume(t, p, parse(t, dialecttest.ResumeArray(dialecttest.Entry("t~r1", `"approved"`))))
	if err != nil {
		t.Fatal(err)
	}
	played := dialecttest.Play(run, &dialecttest.Log{}, started, crewAnnounces(crewAsks), finished)
	if len(played.Result.Asked.Interrupts) != 1 || played.Result.Fate != translate.Finished || played.Err != nil {
		t.Errorf("%+v", played)
	}
}
