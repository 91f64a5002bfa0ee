package standard

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// mastraAnnounces returns the CUSTOM event with which Mastra announces a suspended call.
func mastraAnnounces(run, call string) string {
	value, _ := json.Marshal(`{"type":"mastra_suspend","toolCallId":"` + call + `","toolName":"f","suspendPayload":{"question":"Sure?"},"args":{"n":1.0},"runId":"` + run + `"}`)
	return crewAnnounces(string(value))
}

// suspendedBy returns the pause of a run with the stream. The stream contains announcements of
// Mastra's.
func suspendedBy(t testing.TB, stream ...string) agui.Pause {
	t.Helper()
	_, run, err := new(Dialect).Begin(&translate.Request{Input: parse(t, ``), Transcript: &dialecttest.Log{}})
	if err != nil {
		t.Fatal(err)
	}
	return dialecttest.WithIDs(dialecttest.Play(run, &dialecttest.Log{}, stream...).Result.Asked.Pause(Name))
}

func TestAnnouncedCallIsAskedAbout(t *testing.T) {
	for name, c := range map[string]struct{ event, want string }{
		"a question":   {mastraAnnounces("r", "c"), `r::c Sure?`},
		"an object":    {crewAnnounces(`{"type":"mastra_suspend","toolCallId":"c","runId":"r","suspendPayload":"Go on?"}`), `r::c Go on?`},
		"nothing said": {crewAnnounces(`{"type":"mastra_suspend","toolCallId":"c","runId":"r","toolName":"f"}`), `r::c The tool f waits for an answer.`},
		"no run":       {crewAnnounces(`{"type":"mastra_suspend","toolCallId":"c"}`), ``},
		"no call":      {crewAnnounces(`{"type":"mastra_suspend","runId":"r"}`), ``},
		"odd members":  {crewAnnounces(`{"type":"mastra_suspend","toolCallId":7,"runId":["r"]}`), ``},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, i := range suspendedBy(t, started, c.event, finished).Interrupts {
				got += i.Native + " " + gjson.GetBytes(i.Object, "message").Str
			}
			if got != c.want {
				t.Errorf("asked %q, want %q", got, c.want)
			}
		})
	}
}

// TestAnswerByCommand: Mastra only announced the question. The answer must be sent in
// command.resume, with the id of the run in which the call was suspended, and nothing else in the
// request may change.
func TestAnswerByCommand(t *testing.T) {
	p := suspendedBy(t, started, mastraAnnounces("r1", "c"), finished)
	for name, c := range map[string]struct{ more, payload, want string }{
		"a value":             {``, `{"x":1.0}`, `"forwardedProps":{"command":{"resume":{"x":1.0},"interruptEvent":{"toolCallId":"c","runId":"r1"}}}`},
		"a cancel":            {``, ``, `"forwardedProps":{"command":{"resume":false,"interruptEvent":{"toolCallId":"c","runId":"r1"}}}`},
		"false is the same":   {``, `false`, `"forwardedProps":{"command":{"resume":false,"interruptEvent":{"toolCallId":"c","runId":"r1"}}}`},
		"other props stay":    {`"forwardedProps":{"k":1.0},`, `1`, `"forwardedProps":{"k":1.0,"command":{"resume":1,"interruptEvent":{"toolCallId":"c","runId":"r1"}}}`},
		"a command of theirs": {`"forwardedProps":{"command":{"goto":"x"}},`, `1`, `"forwardedProps":{"command":{"resume":1,"interruptEvent":{"toolCallId":"c","runId":"r1"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := resume(t, p, parse(t, c.more+dialecttest.ResumeArray(dialecttest.Entry("r1::c~r1", c.payload))))
			if err != nil || !strings.HasSuffix(string(out.Body), `"messages":[],`+c.want+`}`) || !out.Resumes || out.Silence == 0 {
				t.Errorf("%v\n%s, want\n%s", err, out.Body, c.want)
			}
		})
	}
	_, _, err := resume(t, p, parse(t, `"forwardedProps":7,`+dialecttest.ResumeArray(dialecttest.Entry("r1::c~r1", `1`))))
	if dialecttest.Code(err) != agui.InvalidPayload {
		t.Errorf("props that are no object: %v", err)
	}
}

// TestQuestionOfAResumedRun: a resumed run announces another question. Mastra 1.0.3 announces it
// with the id of the current request, 1.1.2 with the id of the first run. The question must have
// the first run's id.
func TestQuestionOfAResumedRun(t *testing.T) {
	p := suspendedBy(t, started, mastraAnnounces("r1", "c"), finished)
	for announced, want := range map[string]string{"r": "r1::d", "r1": "r1::d", "other": "other::d"} {
		// the id of this run is r
		_, run, err := resume(t, p, parse(t, dialecttest.ResumeArray(dialecttest.Entry("r1::c~r1", `1`))))
		if err != nil {
			t.Fatal(err)
		}
		res := dialecttest.Play(run, &dialecttest.Log{}, started, mastraAnnounces(announced, "d"), finished).Result
		if len(res.Asked.Interrupts) != 1 || res.Asked.Interrupts[0].Native != want || !strings.Contains(string(res.Asked.NativeEvents[0]), strings.Split(want, "::")[0]) {
			t.Errorf("announced %q: asked %+v", announced, res.Asked)
		}
	}
}

// FuzzAnswersByCommand checks any request of a client to a question that Mastra only announced.
// Nothing may panic, the output must be JSON, and a denial must be sent as a denial.
func FuzzAnswersByCommand(f *testing.F) {
	f.Add(`"forwardedProps":{"k":1},`, `{"approved":true}`)
	f.Add(``, `false`)
	f.Add(`"forwardedProps":null,`, ``)
	p := suspendedBy(f, started, mastraAnnounces("r1", "c"), finished)
	f.Fuzz(func(t *testing.T, more, payload string) {
		body := `{"threadId":"t","runId":"r","messages":[],` + more + dialecttest.ResumeArray(dialecttest.Entry("r1::c~r1", payload)) + `}`
		in, ok, err := agui.ParseInput([]byte(body))
		if !json.Valid([]byte(body)) || !ok || err != nil {
			return
		}
		out, _, err := resume(t, p, in)
		if err != nil {
			if !dialecttest.IsRunError(err) {
				t.Fatal(err)
			}
			return
		}
		command := gjson.GetBytes(out.Body, "forwardedProps.command")
		if !json.Valid(out.Body) || command.Get("interruptEvent").Raw != `{"toolCallId":"c","runId":"r1"}` {
			t.Fatalf("%s became %s", body, out.Body)
		}
		if (payload == "" || strings.TrimSpace(payload) == "false") != (command.Get("resume").Raw == "false") {
			t.Fatalf("%s became %s", body, out.Body)
		}
	})
}
