package langgraph

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// of0043 returns the stream of a pause as adapters from 0.0.43 on send it: the CUSTOM events follow
// the snapshots.
func of0043(customs ...string) []string {
	return append(append([]string{started, stepAsk, state, messages, stepEnd}, customs...), finished)
}

// of0042 returns the stream of a pause as adapters up to 0.0.42 send it: the CUSTOM events are
// before the last snapshots.
func of0042(customs ...string) []string {
	return append(append([]string{started, stepAsk, state}, customs...), stepEnd, state, messages, finished)
}

// TestTheArrayWhereItIsTaken: a single question is open. If the stream shows an adapter that reads
// the answer in the array resume, the dialect must send the answer there. If the array cannot carry
// the answer, such as a cancel, the dialect must send a map from the question's id to the answer.
func TestTheArrayWhereItIsTaken(t *testing.T) {
	entry := func(payload string) string {
		return `[{"interruptId":"` + idA + `","status":"resolved","payload":{"` + idA + `":` + payload + `}}]`
	}
	A := idA + "~r1"
	yes := dialecttest.ResumeArray(dialecttest.Entry(A, `{"approved":true}`))
	both := dialecttest.ResumeArray(dialecttest.Entry(A, `1`), dialecttest.Entry(idB+"~r2", `2`))
	for name, c := range map[string]struct {
		stream         []string
		more           string
		array, command string
	}{
		"the outcome":                    {[]string{started, withOutcome(adapters(idA, `"x"`, ""))}, yes, entry(`{"approved":true}`), ""},
		"the order of 0.0.43":            {of0043(custom(idA, approval)), yes, entry(`{"approved":true}`), ""},
		"the order of 0.0.42":            {of0042(custom(idA, approval)), yes, "", `{"` + idA + `":{"approved":true}}`},
		"a run that only asks again":     {[]string{started, custom(idA, approval), finished}, yes, "", `{"` + idA + `":{"approved":true}}`},
		"no step":                        {[]string{started, state, messages, custom(idA, approval), finished}, yes, "", `{"` + idA + `":{"approved":true}}`},
		"a denial":                       {of0043(custom(idA, approval)), dialecttest.ResumeArray(dialecttest.Entry(A, `{"approved":false}`)), entry(`{"approved":false}`), ""},
		"a text that is JSON stays text": {of0043(custom(idA, `"n?"`)), dialecttest.ResumeArray(dialecttest.Entry(A, `"42"`)), entry(`"42"`), ""},
		"no id":                          {of0043(custom("", `"n?"`)), dialecttest.ResumeArray(dialecttest.Entry("~r1", `"42"`)), `[{"interruptId":"~r1","status":"resolved","payload":"42"}]`, ""},
		"no id, false":                   {of0043(custom("", `"n?"`)), dialecttest.ResumeArray(dialecttest.Entry("~r1", `false`)), "", `false`},
		"a cancel":                       {of0043(custom(idA, approval)), dialecttest.ResumeArray(dialecttest.Entry(A, ``)), "", `{"` + idA + `":false}`},
		"a cancel that a schema words": {of0043(custom(idA, `{"responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}}`)),
			dialecttest.ResumeArray(dialecttest.Entry(A, ``)), entry(`{"approved":false}`), ""},
		"false":                   {of0043(custom(idA, approval)), dialecttest.ResumeArray(dialecttest.Entry(A, `false`)), "", `{"` + idA + `":false}`},
		"zero":                    {of0043(custom(idA, approval)), dialecttest.ResumeArray(dialecttest.Entry(A, `0`)), "", `{"` + idA + `":0}`},
		"no payload":              {of0043(custom(idA, approval)), dialecttest.ResumeArray(`{"interruptId":"` + A + `","status":"resolved"}`), "", `{"` + idA + `":null}`},
		"{}":                      {of0043(custom(idA, approval)), dialecttest.ResumeArray(dialecttest.Entry(A, `{}`)), "", `{"` + idA + `":{}}`},
		"keys that look like ids": {of0043(custom(idA, approval)), dialecttest.ResumeArray(dialecttest.Entry(A, `{"`+idB+`":1}`)), "", `{"` + idA + `":{"` + idB + `":1}}`},
		"two questions":           {of0043(custom(idA, `"a"`), custom(idB, `"b"`)), both, "", `{"` + idA + `":1,"` + idB + `":2}`},
		"a review of two calls":   {of0043(custom(idA, pyHITL)), dialecttest.ResumeArray(dialecttest.Entry(A, `{"approved":true}`), dialecttest.Entry(idA+"~r2", `false`)), entry(`{"decisions":[{"type":"approve"},{"type":"reject"}]}`), ""},
		"a review that is cancelled": {of0043(custom(idA, jsHITL)), dialecttest.ResumeArray(dialecttest.Entry(A, ``)),
			entry(`{"decisions":[{"type":"reject","message":"Cancelled by user"}]}`), ""},
		"a client of the CUSTOM form":       {of0043(custom(idA, approval)), dialecttest.Command(`{"approved":true}`), entry(`{"approved":true}`), ""},
		"an answer that has its id already": {of0043(custom(idA, approval)), dialecttest.ResumeArray(dialecttest.Entry(A, `{"`+idA+`":false}`)), "", `{"` + idA + `":false}`},
		"both forms":                        {of0043(custom(idA, approval)), yes + "," + dialecttest.Command(`{"approved":true}`), entry(`{"approved":true}`), ""},
		"what else an entry has": {of0043(custom(idA, approval)), `"resume":[{"metadata":{"m":1},"interruptId":"` + A + `","status":"resolved","payload":1}]`,
			`[{"metadata":{"m":1},"interruptId":"` + idA + `","status":"resolved","payload":{"` + idA + `":1}}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDialect(t, Options{})
			p := pausedBy(t, d, c.stream...)
			out, _, err := resumeWith(t, d, p, input(t, c.more), func(r *translate.Request) { r.Valid = approvedOnly })
			if err != nil {
				t.Fatal(err)
			}
			if got := gjson.GetBytes(out.Body, "resume").Raw; got != c.array {
				t.Errorf("resume %s, want %s", got, c.array)
			}
			if sent(out) != c.command || !out.Resumes {
				t.Errorf("command.resume %s, want %s", sent(out), c.command)
			}
			if strings.Contains(string(out.Body), "cancelled\"") {
				t.Errorf("the backend hears of a cancel: %s", out.Body)
			}
		})
	}
}

// TestTheArrayIsNotForTangledCalls: if another call could get the answer, the dialect must send the
// answer as a map with the question's id.
func TestTheArrayIsNotForTangledCalls(t *testing.T) {
	d := newDialect(t, Options{})
	p := pausedBy(t, d, of0043(custom(idA, approval))...)
	p.Private = []byte(strings.Replace(string(p.Private), `"way":`, `"beside":[{"name":"f"}],"way":`, 1))
	out, _, err := resumeWith(t, d, p, input(t, dialecttest.ResumeArray(dialecttest.Entry(idA+"~r1", `{"approved":false}`))))
	if err != nil || gjson.GetBytes(out.Body, "resume").Exists() || sent(out) != `{"`+idA+`":{"approved":false}}` {
		t.Errorf("the backend gets %s (%v)", out.Body, err)
	}
}

// TestTheArrayIsRemembered: a run that only repeats a question does not show the version of the
// adapter. So the version that the earlier pause showed must be used.
func TestTheArrayIsRemembered(t *testing.T) {
	d := newDialect(t, Options{})
	for name, stream := range map[string][]string{"0.0.43": of0043(custom(idA, approval)), "0.0.42": of0042(custom(idA, approval))} {
		p := pausedBy(t, d, stream...)
		_, run, err := resumeWith(t, d, p, input(t, dialecttest.ResumeArray(dialecttest.Entry(idA+"~r1", `1`))))
		if err != nil {
			t.Fatal(err)
		}
		again := dialecttest.Play(run, &dialecttest.Log{}, started, custom(idA, approval), finished).Result.Asked.Pause(Name)
		if keptOf(again).Array != (name == "0.0.43") {
			t.Errorf("%s: %s", name, again.Private)
		}
	}
}

// approvedOnly returns an error if the schema has the property approved and the payload has no
// boolean of this name. It accepts all other payloads.
func approvedOnly(schema, payload json.RawMessage) error {
	if gjson.GetBytes(schema, "properties.approved").Exists() && !gjson.GetBytes(payload, "approved").IsBool() {
		return agui.Errorf(agui.InvalidPayload, "approved")
	}
	return nil
}
