package langgraph

import (
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate/dialecttest"
)

// TestInterpret: the meaning of an answer must also be recognized in LangChain's own format, and
// for each action of a review separately.
func TestInterpret(t *testing.T) {
	d := newDialect(t, Options{})
	js := pausedBy(t, d, started, custom(idA, jsHITL), finished)
	py := pausedBy(t, d, started, pyCalls, custom(idA, pyHITL), finished)
	box := pausedBy(t, d, started, custom(idA, inboxOne), finished)
	boxes := pausedBy(t, d, started, custom(idA, "["+inboxOne+","+inboxOne+"]"), finished)
	free := pausedBy(t, d, started, custom(idA, approval), finished)
	one := func(payload string) string { return dialecttest.ResumeArray(dialecttest.Entry(idA+"~r1", payload)) }
	const edit = `{"type":"edit","edited_action":{"name":"send_email","args":{"to":"x","cancel":true}}}`
	for name, c := range map[string]struct {
		pause agui.Pause
		more  string
		want  string // + approved, - denied, ? unclear, e edited
	}{
		"approved":                     {js, one(`{"approved":true}`), "+"},
		"true":                         {js, one(`true`), "+"},
		"approved and edited":          {js, one(`{"approved":true,"editedArgs":{"to":"x"}}`), "+e"},
		"type approve":                 {js, one(`{"type":"approve"}`), "+"},
		"type edit":                    {js, one(edit), "+e"},
		"type reject":                  {js, one(`{"type":"reject","message":"no"}`), "-"},
		"type respond":                 {js, one(`{"type":"respond","message":"yes"}`), "?"},
		"decisions: approve":           {js, one(`{"decisions":[{"type":"approve"}]}`), "+"},
		"decisions: edit":              {js, one(`{"decisions":[` + edit + `]}`), "+e"},
		"decisions: reject":            {js, one(`{"decisions":[{"type":"reject"}]}`), "-"},
		"decisions: respond":           {js, one(`{"decisions":[{"type":"respond","message":"yes"}]}`), "?"},
		"of two: approve and reject":   {py, dialecttest.Command(`{"decisions":[{"type":"approve"},{"type":"reject"}]}`), "+-"},
		"of two: reject and approve":   {py, dialecttest.Command(`{"decisions":[{"type":"reject"},{"type":"approve"}]}`), "-+"},
		"of two: edit and approve":     {py, dialecttest.Command(`{"decisions":[` + edit + `,{"type":"approve"}]}`), "+e+"},
		"of two: both in entries":      {py, dialecttest.ResumeArray(dialecttest.Entry(idA+"~r1", `{"decisions":[{"type":"approve"}]}`), dialecttest.Entry(idA+"~r2", `false`)), "+-"},
		"inbox: accept":                {box, one(`{"type":"accept","args":null}`), "+"},
		"inbox: a list":                {box, one(`[{"type":"accept","args":null}]`), "+"},
		"inbox: edit":                  {box, one(`{"type":"edit","args":{"action":"send_email","args":{"to":"x"}}}`), "+e"},
		"inbox: ignore":                {box, one(`{"type":"ignore","args":null}`), "-"},
		"inbox: response":              {box, one(`{"type":"response","args":"yes"}`), "?"},
		"inbox: the whole of two":      {boxes, dialecttest.Command(`[{"type":"accept"},{"type":"ignore"}]`), "+-"},
		"a free question: approved":    {free, one(`{"approved":true}`), "+"},
		"a free question: denied":      {free, one(`{"approved":false}`), "-"},
		"a free question: other words": {free, one(`{"files":["a"]}`), "?"},
		"cancelled":                    {js, dialecttest.ResumeArray(dialecttest.Entry(idA+"~r1", "")), "-"},
	} {
		t.Run(name, func(t *testing.T) {
			answers, err := d.Answers(input(t, c.more), c.pause)
			if err != nil {
				t.Fatal(err)
			}
			if got := dialecttest.Readings(d, c.pause, answers); got != c.want {
				t.Errorf("%+v are read as %s, want %s", answers, got, c.want)
			}
		})
	}
}
