package yesno

import (
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// TestANoThatCouldBeReadAsTheYesIsRefused checks each way of reading an answer that the comment of
// NewWords lists. A no that a backend could read as the yes in this way must be refused.
func TestANoThatCouldBeReadAsTheYesIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		yes, no Template
		wrong   string // the beginning of the error, empty if accepted
	}{
		"the defaults":                    {`{"approved":true}`, `{"approved":false}`, ""},
		"with both places":                {`{"approved":true,"arguments":"$arguments"}`, `{"approved":false,"reason":"$reason"}`, ""},
		"nested, with a constant":         {`{"v":1,"answer":{"decision":"go"}}`, `{"v":1,"answer":{"decision":"stay"}}`, ""},
		"a member that says no":           {`{"rejected":false}`, `{"rejected":true}`, ""},
		"words":                           {`granted`, `refused by a person`, ""},
		"values":                          {`true`, `false`, ""},
		"numbers":                         {`1`, `0`, ""},
		"JSON strings":                    {`"go"`, `"stay"`, ""},
		"equal":                           {`granted`, `granted`, "no: one of the two"},
		"equal but for case and signs":    {`granted`, ` GRANTED! `, "no: one of the two"},
		"the yes within it":               {`granted`, `not granted`, "no: one of the two"},
		"it within the yes":               {`refused not`, `refused`, "no: one of the two"},
		"a word for yes":                  {`granted`, `do not proceed`, "no: it could be taken"},
		"another word for yes":            {`granted`, `ok then not`, "no: it could be taken"},
		"no letters":                      {`granted`, `--`, "no: it has no words"},
		"nothing":                         {`granted`, ``, "no: it is empty"},
		"no yes":                          {``, `denied`, "yes: it is empty"},
		"null":                            {`true`, `null`, "no: want"},
		"an array":                        {`[true]`, `[false]`, "yes: want"},
		"two trues":                       {`1`, `2`, "no: it could be taken"},
		"an empty object":                 {`{"approved":true}`, `{}`, "no: it is empty"},
		"the member is missing":           {`{"approved":true}`, `{"reason":"x"}`, `no: it has no "approved"`},
		"the member is null":              {`{"approved":true}`, `{"approved":null,"x":1}`, ""},
		"the member is a text":            {`{"go":true}`, `{"go":"never"}`, `no: "go" is true`},
		"the member is an object":         {`{"go":true}`, `{"go":{"a":false}}`, `no: "go" is true`},
		"one of two members":              {`{"approved":true,"go":true}`, `{"approved":false,"go":true}`, "no: it contains the word of the yes"},
		"another approves":                {`{"go":true}`, `{"go":false,"confirmed":true}`, "no: it could be taken"},
		"a value that contains the yes's": {`{"decision":"approve"}`, `{"decision":"disapprove"}`, `no: "decision": one of`},
		"a name that contains the yes's":  {`{"decision":"grant"}`, `{"decision":"stay","granted":false}`, "no: it contains the word of the yes"},
		"a true elsewhere":                {`{"go":true}`, `{"go":false,"cancelled":true}`, "no: it contains the word of the yes"},
		"the same in every member":        {`{"a":1}`, `{"a":1,"b":"x"}`, "no: it has the same value"},
		"only the arguments differ":       {`{"arguments":"$arguments"}`, `{"arguments":false}`, "no: it has the same value"},
		"the bare arguments":              {`"$arguments"`, `"no"`, "yes: $arguments"},
		"of two kinds":                    {`{"approved":true}`, `denied`, "no: the yes and the no"},
		"of two other kinds":              {`granted`, `false`, "no: the yes and the no"},
		"an object that is broken":        {`{"approved":true`, `{"approved":false}`, "yes: it begins like"},
		"a name twice":                    {`{"go":true,"Go":false}`, `{"go":false}`, `yes: it has the name "Go" twice`},
		"the arguments in a no":           {`{"go":true}`, `{"go":false,"a":"$arguments"}`, `no: "$arguments" is not a placeholder`},
		"a place within a text":           {`{"go":true,"a":"with $arguments"}`, `{"go":false}`, `yes: "with $arguments" is not a placeholder`},
		"a place that there is not":       {`{"go":true,"a":"$args"}`, `{"go":false}`, `yes: "$args" is not a placeholder`},
		"a place twice":                   {`{"go":true,"a":"$arguments","b":"$arguments"}`, `{"go":false}`, "yes: $arguments must be in it once"},
		"a place in an array":             {`{"go":true,"a":["$arguments"]}`, `{"go":false}`, "yes: $arguments must be in it once"},
		"a place for a name":              {`{"go":true,"$arguments":1}`, `{"go":false}`, `yes: "$arguments" is the name of a member`},
		"too large":                       {Template(`{"go":true,"x":"` + strings.Repeat("x", maxTemplate) + `"}`), `{"go":false}`, "yes: it has 4"},
		"nested too deeply":               {Template(`{"go":` + strings.Repeat("[", 1200) + strings.Repeat("]", 1200) + `}`), `{"go":false}`, "yes: it begins like"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewWords(c.yes, c.no)
			if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.HasPrefix(err.Error(), c.wrong)) {
				t.Errorf("%v, want %q", err, c.wrong)
			}
			if wrong := (*WordError)(nil); err != nil && (!errors.As(err, &wrong) || wrong.Unwrap() == nil) {
				t.Errorf("%#v", err)
			}
		})
	}
}

// TestWhatIsSent checks the content that is sent for an answer, and that this content is read as
// the same answer again.
func TestWhatIsSent(t *testing.T) {
	plain := newWords(t, `{"approved":true}`, `{"approved":false}`)
	full := newWords(t, `{"v":1,"decision":"go","with":{"arguments":"$arguments"}}`, `{"v":1,"decision":"stay","why":"$reason"}`)
	words := newWords(t, `granted`, `refused`)
	for _, c := range []struct {
		words         Words
		payload, want string // empty payload: cancelled; empty want: refused
		reads         string // empty if it equals payload
	}{
		{plain, `{"approved":true}`, `{"approved":true}`, ""},
		{plain, `{"approved":true,"note":"x"}`, `{"approved":true}`, `{"approved":true}`},
		{plain, `{"approved":false}`, `{"approved":false}`, ""},
		{plain, ``, `{"approved":false}`, `{"approved":false}`},
		{plain, `{"approved":true,"approved":false}`, `{"approved":false}`, `{"approved":false}`},
		{plain, `{"approved":true,"Approved":"no"}`, `{"approved":false}`, `{"approved":false}`},
		{plain, `{"approved":"true"}`, `{"approved":false}`, `{"approved":false}`},
		{plain, `true`, `{"approved":false}`, `{"approved":false}`},
		{plain, `{"approved":true,"editedArgs":{"path":"b"}}`, ``, ""},
		{plain, `{"approved":true,"editedArgs":null}`, `{"approved":true}`, `{"approved":true}`},
		{plain, `{"approved":false,"editedArgs":{"path":"b"},"reason":"why"}`, `{"approved":false}`, `{"approved":false}`},
		{full, `{"approved":true}`, `{"v":1,"decision":"go","with":{"arguments":{"path":"a"}}}`, ""},
		{full, `{"approved":true,"editedArgs":{"path": "b"}}`, `{"v":1,"decision":"go","with":{"arguments":{"path":"b"}}}`, `{"approved":true,"editedArgs":{"path":"b"}}`},
		{full, `{"approved":true,"editedArgs":{"path":"$reason"}}`, `{"v":1,"decision":"go","with":{"arguments":{"path":"$reason"}}}`, ""},
		{full, `{"approved":true,"editedArgs":{"a":1},"edited_args":{"a":2}}`, ``, ""},
		{full, `{"approved":true,"editedArgs":[1]}`, ``, ""},
		{full, `{"approved":false,"reason":"too \"dear\""}`, `{"v":1,"decision":"stay","why":"too \"dear\""}`, ""},
		{full, `{"approved":false}`, `{"v":1,"decision":"stay","why":""}`, ""},
		{full, ``, `{"v":1,"decision":"stay","why":""}`, `{"approved":false}`},
		{full, `{"approved":false,"reason":"do not go"}`, `{"v":1,"decision":"stay","why":""}`, `{"approved":false}`},
		{full, `{"approved":false,"reason":"ok"}`, `{"v":1,"decision":"stay","why":""}`, `{"approved":false}`},
		{full, `{"approved":false,"reason":["x"]}`, `{"v":1,"decision":"stay","why":""}`, `{"approved":false}`},
		{words, `{"approved":true}`, `granted`, ""},
		{words, `{"approved":false,"reason":"granted"}`, `refused`, `{"approved":false}`},
	} {
		a := agui.Answer{ID: "i", Status: agui.Resolved, Payload: []byte(c.payload)}
		if c.payload == "" {
			a.Status, a.Payload = agui.Cancelled, nil
		}
		got, err := c.words.Content(a, `{"path": "a"}`)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s becomes %s (%v), want %s", c.payload, got, err, c.want)
		}
		if err != nil {
			continue
		}
		if c.reads == "" {
			c.reads = c.payload
		}
		if back, ok := c.words.Payload(text(got), `{"path": "a"}`); !ok || string(back) != c.reads {
			t.Errorf("%s reads back as %s, want %s", got, back, c.reads)
		}
	}
}

// TestMeaningOfAContent checks how a content is read. If a content is not the template of the yes,
// but a backend could read it as the yes, it must be unclear.
func TestMeaningOfAContent(t *testing.T) {
	object := newWords(t, `{"v":1,"answer":{"go":true}}`, `{"v":1,"answer":{"go":false}}`)
	texts := newWords(t, `{"decision":"grant"}`, `{"decision":"refuse"}`)
	words, value := newWords(t, `granted`, `refused`), newWords(t, `true`, `false`)
	for _, c := range []struct {
		words   Words
		content string
		want    Verdict
	}{
		{object, `{"v":1,"answer":{"go":true}}`, Yes},
		{object, ` {"answer": {"go": true}, "x": 2}`, Yes},
		{object, `{"answer":{"go":false}}`, No},
		{object, `{"answer":{"Go":true}}`, Unclear},
		{object, `{"answer":{"go":false,"go":true}}`, Unclear},
		{object, `{"answer":{"go":1}}`, Unclear},
		{object, `{"answer":{"go":"yes"}}`, Unclear},
		{object, `{"answer":{"go":null}}`, Nothing},
		{object, `{"go":true}`, Nothing},
		{object, `deleted`, Nothing},
		{object, `{"answer":{"go":true}`, Unclear},
		{object, `{"answer":{"go":NaN}}`, Unclear},
		{object, `{"\u0067o":NaN}`, Unclear},
		{object, `{"gone":NaN}`, Unclear},
		{object, `{"deleted":NaN}`, Nothing},
		{object, strings.Repeat("[", 1001) + strings.Repeat("]", 1001), Unclear},
		{texts, `{"decision":"grant"}`, Yes},
		{texts, `{"decision":"Grant!"}`, Unclear},
		{texts, `{"decision":"wait"}`, Nothing},
		{words, `granted`, Yes},
		{words, "refused\n", No},
		{words, `Granted.`, Unclear},
		{words, `"refused"`, Unclear},
		{words, `it was granted`, Nothing},
		{value, `true`, Yes},
		{value, `false`, No},
		{value, `True`, Unclear},
		{value, `"true"`, Unclear},
	} {
		if got := c.words.Read(text(c.content)); got != c.want {
			t.Errorf("%.60s: %v, want %v", c.content, got, c.want)
		}
	}
	if got := value.Read(gjson.Parse(`true`)); got != Unclear {
		t.Errorf("a content that is no text: %v", got)
	}
	if got := words.Read(gjson.Parse(`[{"type":"text","text":"granted"}]`)); got != Unclear {
		t.Errorf("a content in parts: %v", got)
	}
	if got := object.Read(gjson.Parse(`[{"type":"text","text":"{\"answer\":{\"go\":false}}"}]`)); got != Unclear {
		t.Errorf("an object in parts: %v", got)
	}
}

func newWords(t testing.TB, yes, no Template) Words {
	t.Helper()
	words, err := NewWords(yes, no)
	if err != nil {
		t.Fatal(err)
	}
	return words
}

func text(s string) gjson.Result { return gjson.Result{Type: gjson.String, Str: s} }
