package langgraph

import (
	"encoding/json"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate/dialecttest"
)

// show returns each answer as "id status payload". " +" follows if OwnForm is set, " *" if Native
// is set.
func show(list []agui.Answer) string {
	var lines []string
	for _, a := range list {
		s := a.ID + " " + string(a.Status) + " " + string(a.Payload)
		if a.OwnForm {
			s += " +"
		}
		if a.Native {
			s += " *"
		}
		lines = append(lines, s)
	}
	return strings.Join(lines, "; ")
}

func TestAnswers(t *testing.T) {
	d := newDialect(t, Options{})
	one := pausedBy(t, d, started, custom(idA, approval), finished)
	two := pausedBy(t, d, started, custom(idA, `{"action":"A"}`), custom(idB, `{"action":"B"}`), finished)
	same := pausedBy(t, d, started, custom(idA, `"x"`), custom(idA, `"y"`), finished)
	py := pausedBy(t, d, started, pyCalls, custom(idA, pyHITL), finished)
	js := pausedBy(t, d, started, custom(idA, jsHITL), finished)
	box := pausedBy(t, d, started, custom(idA, inboxOne), finished)
	boxes := pausedBy(t, d, started, custom(idA, "["+inboxOne+","+inboxOne+"]"), finished)
	bare := pausedBy(t, d, started, custom("", approval), finished)
	A, B := idA+"~r1", idB+"~r2"
	withEvent := func(value, event string) string {
		return `"forwardedProps":{"command":{"resume":` + value + `,"interruptEvent":` + event + `}}`
	}
	published := `{"id":"` + B + `","reason":"langgraph:interrupt"}`
	const unknownAnswer = ` resolved 1 *`

	for name, c := range map[string]struct {
		pause agui.Pause
		more  string
		want  string
		code  agui.Code
	}{
		"no answer":                          {one, "", "", ""},
		"an empty resume array (row 6)":      {one, `"resume":[]`, "", ""},
		"null is no answer (row 7)":          {one, dialecttest.Command("null"), "", ""},
		"an object (row 5)":                  {one, dialecttest.ResumeArray(dialecttest.Entry(A, `{"approved":true}`)), A + ` resolved {"approved":true}`, ""},
		"a primitive (row 5)":                {one, dialecttest.ResumeArray(dialecttest.Entry(A, `"x"`)), A + ` resolved "x"`, ""},
		"a null payload (row 5)":             {one, dialecttest.ResumeArray(dialecttest.Entry(A, `null`)), A + ` resolved `, ""},
		"cancelled (row 5)":                  {one, dialecttest.ResumeArray(dialecttest.Entry(A, ``)), A + ` cancelled `, ""},
		"several (row 5)":                    {two, dialecttest.ResumeArray(dialecttest.Entry(B, `null`), dialecttest.Entry(A, `1`)), B + ` resolved ; ` + A + ` resolved 1`, ""},
		"an id that nobody knows":            {one, dialecttest.ResumeArray(dialecttest.Entry("x", `1`)), `x resolved 1`, ""},
		"true for a plain question stays":    {one, dialecttest.ResumeArray(dialecttest.Entry(A, `true`)), A + ` resolved true`, ""},
		"resume [] beside a command (row 6)": {one, `"resume":[],` + dialecttest.Command(`1`), A + ` resolved 1 *`, ""},

		// Short forms of the answer to a review (section 7.3 of the LangGraph reference).
		"true for an action":                     {js, dialecttest.ResumeArray(dialecttest.Entry(A, `true`)), A + ` resolved {"approved":true}`, ""},
		"false for an action":                    {js, dialecttest.ResumeArray(dialecttest.Entry(A, `false`)), A + ` resolved {"approved":false}`, ""},
		"one decision for an action":             {js, dialecttest.ResumeArray(dialecttest.Entry(A, `{"decisions":[{"type":"approve"}]}`)), A + ` resolved {"type":"approve"} +`, ""},
		"one decision for one of two actions":    {py, dialecttest.ResumeArray(dialecttest.Entry(A, `{"decisions":[{"type":"reject"}]}`), dialecttest.Entry(idA+"~r2", `false`)), A + ` resolved {"type":"reject"} +; ` + idA + `~r2 resolved {"approved":false}`, ""},
		"two decisions for one action: no alias": {js, dialecttest.ResumeArray(dialecttest.Entry(A, `{"decisions":[{"type":"approve"},{"type":"approve"}]}`)), A + ` resolved {"decisions":[{"type":"approve"},{"type":"approve"}]}`, ""},
		"decisions beside something: no alias":   {js, dialecttest.ResumeArray(dialecttest.Entry(A, `{"decisions":[{"type":"approve"}],"approved":false}`)), A + ` resolved {"decisions":[{"type":"approve"}],"approved":false}`, ""},
		"\"true\" is no alias":                   {js, dialecttest.ResumeArray(dialecttest.Entry(A, `"true"`)), A + ` resolved "true"`, ""},
		"1 is no alias":                          {js, dialecttest.ResumeArray(dialecttest.Entry(A, `1`)), A + ` resolved 1`, ""},
		"an Agent Inbox's own response":          {box, dialecttest.ResumeArray(dialecttest.Entry(A, `{"type":"ignore","args":null}`)), A + ` resolved {"type":"ignore","args":null} +`, ""},
		"an Agent Inbox's own list":              {box, dialecttest.ResumeArray(dialecttest.Entry(A, `[{"type":"accept","args":null}]`)), A + ` resolved [{"type":"accept","args":null}] +`, ""},
		"a response that says approved too":      {box, dialecttest.ResumeArray(dialecttest.Entry(A, `{"type":"accept","approved":false}`)), A + ` resolved {"type":"accept","approved":false}`, ""},
		"true for an Agent Inbox":                {box, dialecttest.ResumeArray(dialecttest.Entry(A, `true`)), A + ` resolved {"approved":true}`, ""},

		// The backend's own id may belong to an earlier question, so only the published id
		// identifies a question.
		"by native id": {one, dialecttest.ResumeArray(dialecttest.Entry(idA, `1`)), idA + ` resolved 1`, ""},

		// Answers in command.resume (section 6.5 of the LangGraph reference, rule 5).
		"one open: the value":                         {one, dialecttest.Command(`{"approved":true}`), A + ` resolved {"approved":true} *`, ""},
		"one open: JSON text (row 8)":                 {one, dialecttest.Command(`"{\"approved\": true}"`), A + ` resolved {"approved": true} *`, ""},
		"one open: text that is no JSON (row 8)":      {one, dialecttest.Command(`"{yes"`), A + ` resolved "{yes" *`, ""},
		"one open: 42 as text":                        {one, dialecttest.Command(`"42"`), A + ` resolved 42 *`, ""},
		"one open: null as text":                      {one, dialecttest.Command(`"null"`), A + ` resolved  *`, ""},
		"one open: false (row 7)":                     {one, dialecttest.Command(`false`), A + ` resolved false *`, ""},
		"one open: 0 (row 7)":                         {one, dialecttest.Command(`0`), A + ` resolved 0 *`, ""},
		"one open: empty text (row 7)":                {one, dialecttest.Command(`""`), A + ` resolved "" *`, ""},
		"one open: {} (row 7)":                        {one, dialecttest.Command(`{}`), A + ` resolved {} *`, ""},
		"one open: [] (row 7)":                        {one, dialecttest.Command(`[]`), A + ` resolved [] *`, ""},
		"id map, native key":                          {one, dialecttest.Command(`{"` + idA + `":{"a":1}}`), A + ` resolved {"a":1} *`, ""},
		"id map, published key":                       {one, dialecttest.Command(`{"` + A + `":{"a":1}}`), A + ` resolved {"a":1} *`, ""},
		"id map, both keys":                           {one, dialecttest.Command(`{"` + A + `":1,"` + idA + `":2}`), "", agui.InvalidPayload},
		"id map as text":                              {one, dialecttest.Command(`"{\"` + idA + `\": 1}"`), A + ` resolved 1 *`, ""},
		"id map with a null":                          {one, dialecttest.Command(`{"` + idA + `":null}`), A + ` resolved  *`, ""},
		"id map of another question":                  {one, dialecttest.Command(`{"` + idB + `":true}`), idB + ` resolved true *`, ""},
		"id map of another published question":        {one, dialecttest.Command(`{"` + B + `":true}`), B + ` resolved true *`, ""},
		"id map of this and another question":         {one, dialecttest.Command(`{"` + idA + `":1,"` + idB + `":2}`), A + ` resolved 1 *; ` + idB + ` resolved 2 *`, ""},
		"several open: id map, native":                {two, dialecttest.Command(`{"` + idB + `":2,"` + idA + `":1}`), A + ` resolved 1 *; ` + B + ` resolved 2 *`, ""},
		"several open: id map, published":             {two, dialecttest.Command(`{"` + B + `":2,"` + A + `":1}`), A + ` resolved 1 *; ` + B + ` resolved 2 *`, ""},
		"several open: id map of one":                 {two, dialecttest.Command(`{"` + B + `":2}`), B + ` resolved 2 *`, ""},
		"several open: a scalar answers one (fact 4)": {two, dialecttest.Command(`"yes"`), A + ` resolved "yes" *`, ""},
		"one id for two: the map answers both":        {same, dialecttest.Command(`{"` + idA + `":1}`), A + ` resolved 1 *; ` + idA + `~r2 resolved 1 *`, ""},
		"no native id: the value":                     {bare, dialecttest.Command(`true`), `~r1 resolved true *`, ""},
		"HITL: the whole":                             {py, dialecttest.Command(`{"decisions":[1,2]}`), A + ` resolved {"decisions":[1,2]} + *; ` + idA + `~r2 resolved {"decisions":[1,2]} + *`, ""},
		"HITL: the whole as text":                     {js, dialecttest.Command(`"{\"decisions\":[1]}"`), A + ` resolved {"decisions":[1]} + *`, ""},
		"HITL: the whole in an id map":                {py, dialecttest.Command(`{"` + idA + `":{"decisions":[1,2]}}`), A + ` resolved {"decisions":[1,2]} + *; ` + idA + `~r2 resolved {"decisions":[1,2]} + *`, ""},
		"HITL: by published ids":                      {py, dialecttest.Command(`{"` + A + `":true,"` + idA + `~r2":{"decisions":[{"type":"reject"}]}}`), A + ` resolved {"approved":true}; ` + idA + `~r2 resolved {"type":"reject"} +`, ""},
		"HITL: true for one action":                   {js, dialecttest.Command(`true`), A + ` resolved {"approved":true} *`, ""},
		"HITL: true for two actions answers one":      {py, dialecttest.Command(`true`), A + ` resolved {"approved":true} *`, ""},
		"Agent Inbox: the whole":                      {box, dialecttest.Command(`[{"type":"accept","args":null}]`), A + ` resolved [{"type":"accept","args":null}] + *`, ""},
		"Agent Inbox: the whole of two":               {boxes, dialecttest.Command(`[{"type":"accept"},{"type":"ignore"}]`), A + ` resolved [{"type":"accept"},{"type":"ignore"}] + *; ` + idA + `~r2 resolved [{"type":"accept"},{"type":"ignore"}] + *`, ""},

		// Answers with an interruptEvent, which repeats the question.
		"the echo of the question, as text":    {one, withEvent(`1`, dialecttest.Quoted(approval)), A + unknownAnswer, ""},
		"the echo of the question, parsed":     {one, withEvent(`1`, ` {"message":"Please confirm", "files":["a","b","c"],"question":"Delete 3 files?"}`), A + unknownAnswer, ""},
		"the echo of another question":         {one, withEvent(`1`, `"Another?"`), unknownAnswer, ""},
		"the echo of one of two":               {two, withEvent(`1`, `"{\"action\":\"B\"}"`), B + unknownAnswer, ""},
		"Holdpoint's own event":                {two, withEvent(`1`, dialecttest.Quoted(published)), B + unknownAnswer, ""},
		"Holdpoint's own event for both":       {two, withEvent(`{"`+A+`":1,"`+B+`":2}`, dialecttest.Quoted(`{"interrupts":[{"id":"`+A+`"},`+published+`]}`)), A + ` resolved 1 *; ` + B + ` resolved 2 *`, ""},
		"Holdpoint's own event of another day": {two, withEvent(`1`, `"{\"id\":\"other~1\"}"`), unknownAnswer, ""},
		"Mastra's, while LangGraph asks":       {one, withEvent(`1`, `"{\"type\":\"mastra_suspend\"}"`), unknownAnswer, ""},

		// Answers although the thread has no pause.
		"none: a value":                          {agui.Pause{}, dialecttest.Command(`1`), unknownAnswer, ""},
		"none: an id map":                        {agui.Pause{}, dialecttest.Command(`{"` + idB + `":2,"` + A + `":1}`), A + ` resolved 1 *; ` + idB + ` resolved 2 *`, ""},
		"none: an empty map":                     {agui.Pause{}, dialecttest.Command(`{}`), ` resolved {} *`, ""},
		"none: Mastra's":                         {agui.Pause{}, withEvent(`1`, `"{\"type\":\"mastra_suspend\"}"`), unknownAnswer, ""},
		"none: Mastra's on a route of LangGraph": {agui.Pause{Dialect: Name}, withEvent(`1`, `"{\"type\":\"mastra_suspend\"}"`), unknownAnswer, ""},
		"none: both forms (the array may be dropped, the command must not pass)": {agui.Pause{}, dialecttest.ResumeArray(dialecttest.Entry("x", "")) + "," + dialecttest.Command(`1`), `x cancelled ; ` + unknownAnswer[0:], ""},

		// Answers in both forms, resume and command.resume (section 6.5 of the LangGraph reference,
		// rule 6; row 6).
		"both say the same":                   {one, dialecttest.ResumeArray(dialecttest.Entry(A, `{"a":1}`)) + "," + dialecttest.Command(`{"a":1.0}`), A + ` resolved {"a":1}`, ""},
		"both say the same, as a map":         {two, dialecttest.ResumeArray(dialecttest.Entry(A, `1`), dialecttest.Entry(B, `2`)) + "," + dialecttest.Command(`{"`+idA+`":1,"`+idB+`":2}`), A + ` resolved 1; ` + B + ` resolved 2`, ""},
		"both say the same of a review":       {js, dialecttest.ResumeArray(dialecttest.Entry(A, `true`)) + "," + dialecttest.Command(`{"decisions":[{"type":"approve"}]}`), A + ` resolved {"approved":true}`, ""},
		"a yes and a no":                      {js, dialecttest.ResumeArray(dialecttest.Entry(A, `false`)) + "," + dialecttest.Command(`{"decisions":[{"type":"approve"}]}`), "", agui.ResumeConflict},
		"cancelled and a value":               {one, dialecttest.ResumeArray(dialecttest.Entry(A, ``)) + "," + dialecttest.Command(`true`), "", agui.ResumeConflict},
		"different values":                    {one, dialecttest.ResumeArray(dialecttest.Entry(A, `1`)) + "," + dialecttest.Command(`2`), "", agui.ResumeConflict},
		"the command answers one of two":      {two, dialecttest.ResumeArray(dialecttest.Entry(A, `1`), dialecttest.Entry(B, `1`)) + "," + dialecttest.Command(`1`), "", agui.ResumeConflict},
		"the command is for another question": {one, dialecttest.ResumeArray(dialecttest.Entry(A, `1`)) + "," + withEvent(`1`, `"Another?"`), "", agui.ResumeConflict},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := d.Answers(input(t, c.more), c.pause)
			if show(got) != c.want || dialecttest.Code(err) != c.code {
				t.Errorf("answers %q (%v), want %q (%s)", show(got), err, c.want, c.code)
			}
		})
	}
}

// TestEchoWithoutConfig: Python's make_json_safe removes keys of the question's value in rawEvent,
// but not in the text of the event. So the client may send the question back in two forms. The
// dialect must recognize both.
func TestEchoWithoutConfig(t *testing.T) {
	d := newDialect(t, Options{})
	p := pausedBy(t, d, started, `{"type":"CUSTOM","name":"on_interrupt","rawEvent":{"value":{"a":1},"id":"`+idA+`"},"value":"{\"a\": 1, \"config\": {}}"}`, finished)
	for _, event := range []string{`{"a":1}`, `"{\"a\": 1, \"config\": {}}"`} {
		in := input(t, `"forwardedProps":{"command":{"resume":1,"interruptEvent":`+event+`}}`)
		if got, err := d.Answers(in, p); show(got) != idA+"~r1 resolved 1 *" || err != nil {
			t.Errorf("%s: %s %v", event, show(got), err)
		}
	}
}

// TestAnswersOfAnUnreadableRecord: the private state of a pause belongs to another dialect. The
// answers must still be readable, because they name published questions.
func TestAnswersOfAnUnreadableRecord(t *testing.T) {
	d := newDialect(t, Options{})
	for _, private := range []string{``, `null`, `{"natives":[]}`, `7`} {
		p := dialecttest.WithIDs(agui.Pause{Interrupts: []agui.Interrupt{{Native: idA, Object: json.RawMessage(`{"reason":"x"}`), Private: json.RawMessage(private)}}, Private: json.RawMessage(private)})
		out, _, err := resumeWith(t, d, p, input(t, dialecttest.ResumeArray(dialecttest.Entry(idA+"~r1", `1`))))
		if err != nil || sent(out) != `{"`+idA+`":1}` {
			t.Errorf("%q: %s, %v", private, sent(out), err)
		}
	}
}
