package langgraph

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate/dialecttest"
)

// TestDecisions checks the table of decisions in section 7.3 of the LangGraph reference, with the
// keys of Python, of JavaScript and of the alpha version.
func TestDecisions(t *testing.T) {
	respond := `{"action_requests":[{"name":"f","args":{}}],"review_configs":[{"action_name":"f","allowed_decisions":["approve","edit","reject","respond"]}]}`
	noReject := `{"action_requests":[{"name":"f","args":{}}],"review_configs":[{"action_name":"f","allowed_decisions":["approve"]}]}`
	alpha := `{"action_requests":[{"name":"f","arguments":{}}],"review_configs":[{"action_name":"f","allowed_decisions":["edit"]}]}`
	for name, c := range map[string]struct {
		value, payload string // an empty payload means cancelled
		want           string // the decision that is sent
		code           agui.Code
	}{
		"approved":                        {jsHITL, `{"approved":true}`, `{"type":"approve"}`, ""},
		"approved with a message":         {jsHITL, `{"approved":true,"message":"ok"}`, `{"type":"approve"}`, ""},
		"edited, JS":                      {jsHITL, `{"approved":true,"editedArgs":{"to":"x"}}`, `{"type":"edit","editedAction":{"name":"send_email","args":{"to":"x"}}}`, ""},
		"edited, Python":                  {respond, `{"approved":true,"editedArgs":{"to":1.0}}`, `{"type":"edit","edited_action":{"name":"f","args":{"to":1.0}}}`, ""},
		"edited, alpha":                   {alpha, `{"approved":true,"editedArgs":{}}`, `{"type":"edit","edited_action":{"name":"f","arguments":{}}}`, ""},
		"edited with null is not edited":  {jsHITL, `{"approved":true,"editedArgs":null}`, `{"type":"approve"}`, ""},
		"denied":                          {jsHITL, `{"approved":false}`, `{"type":"reject"}`, ""},
		"denied with a message":           {jsHITL, `{"approved":false,"message":"no <b>"}`, `{"type":"reject","message":"no <b>"}`, ""},
		"cancelled":                       {jsHITL, ``, `{"type":"reject","message":"Cancelled by user"}`, ""},
		"true":                            {jsHITL, `true`, `{"type":"approve"}`, ""},
		"false":                           {jsHITL, `false`, `{"type":"reject"}`, ""},
		"one decision":                    {jsHITL, `{"decisions":[{"type":"reject","message":"m"}]}`, `{"type":"reject","message":"m"}`, ""},
		"an edit in Python's keys for JS": {jsHITL, `{"decisions":[{"type":"edit","edited_action":{"name":"g","args":{"a":1}}}]}`, `{"type":"edit","editedAction":{"name":"g","args":{"a":1}}}`, ""},
		"an edit in JS's keys for alpha":  {alpha, `{"decisions":[{"type":"edit","editedAction":{"name":"f","args":{"a":1}}}]}`, `{"type":"edit","edited_action":{"name":"f","arguments":{"a":1}}}`, ""},
		"respond, where it is offered":    {respond, `{"type":"respond","message":"42"}`, `{"message":"42","type":"respond"}`, ""},
		"type approve, where offered":     {respond, `{"type":"approve"}`, `{"type":"approve"}`, ""},
		"type edit, where offered":        {respond, `{"type":"edit","editedArgs":{"a":1}}`, `{"type":"edit","edited_action":{"name":"f","args":{"a":1}}}`, ""},
		"type reject, where offered":      {respond, `{"type":"reject"}`, `{"type":"reject"}`, ""},

		"edit that is not allowed":           {noReject, `{"approved":true,"editedArgs":{}}`, "", agui.InvalidPayload},
		"reject that is not allowed":         {noReject, `{"approved":false}`, "", agui.InvalidPayload},
		"cancelled without reject":           {noReject, ``, "", agui.InvalidPayload},
		"approve that is not allowed":        {alpha, `{"approved":true}`, "", agui.InvalidPayload},
		"a type that is not allowed":         {respond, `{"type":"ignore"}`, "", agui.InvalidPayload},
		"a decision of no type":              {jsHITL, `{"decisions":[{}]}`, "", agui.InvalidPayload},
		"a decision that is no object":       {jsHITL, `{"decisions":["approve"]}`, "", agui.InvalidPayload},
		"type is not read where not offered": {jsHITL, `{"type":"approve"}`, "", agui.InvalidPayload},
		"type and approved differ":           {respond, `{"type":"approve","approved":false}`, "", agui.InvalidPayload},
		"approved and type differ":           {respond, `{"type":"reject","approved":true}`, "", agui.InvalidPayload},
		"type approve with edits":            {respond, `{"type":"approve","editedArgs":{}}`, "", agui.InvalidPayload},
		"denied with edits":                  {jsHITL, `{"approved":false,"editedArgs":{"to":"x"}}`, "", agui.InvalidPayload},
		"the last of two equal keys counts":  {jsHITL, `{"approved":true,"approved":false}`, `{"type":"reject"}`, ""},
		"approved as text":                   {jsHITL, `{"approved":"true"}`, "", agui.InvalidPayload},
		"approved as a number":               {jsHITL, `{"approved":1}`, "", agui.InvalidPayload},
		"Approved in capitals":               {jsHITL, `{"Approved":true}`, "", agui.InvalidPayload},
		"nothing":                            {jsHITL, `{}`, "", agui.InvalidPayload},
		"no payload":                         {jsHITL, `null`, "", agui.InvalidPayload},
		"a text":                             {jsHITL, `"approve"`, "", agui.InvalidPayload},
		"edited arguments that are a list":   {jsHITL, `{"approved":true,"editedArgs":[]}`, "", agui.InvalidPayload},
		"an edit without arguments":          {jsHITL, `{"decisions":[{"type":"edit"}]}`, "", agui.InvalidPayload},
		"a message that is no text":          {jsHITL, `{"approved":false,"message":1}`, "", agui.InvalidPayload},
		"a reject's message that is no text": {jsHITL, `{"decisions":[{"type":"reject","message":1}]}`, "", agui.InvalidPayload},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDialect(t, Options{})
			p := pausedBy(t, d, started, custom(idA, c.value), finished)
			out, _, err := resumeWith(t, d, p, input(t, dialecttest.ResumeArray(dialecttest.Entry(idA+"~r1", c.payload))))
			if dialecttest.Code(err) != c.code {
				t.Fatalf("error %v, want %q", err, c.code)
			}
			if want := `{"` + idA + `":{"decisions":[` + c.want + `]}}`; c.code == "" && sent(out) != want {
				t.Errorf("command.resume %s, want %s", sent(out), want)
			}
		})
	}
}

// TestDecisionsAreAssembled: one interrupt has several actions, and each is a question. Their
// decisions must be sent together, whatever form the answers have (section 7.3 of the LangGraph
// reference, row 15).
func TestDecisionsAreAssembled(t *testing.T) {
	d := newDialect(t, Options{})
	p := pausedBy(t, d, started, pyCalls, custom(idA, pyHITL), finished)
	bare := pausedBy(t, d, started, pyCalls, custom("", pyHITL), finished)
	first, second := idA+"~r1", idA+"~r2"
	for name, c := range map[string]struct {
		pause      agui.Pause
		more, want string
		code       agui.Code
	}{
		"entries in any order":        {p, dialecttest.ResumeArray(dialecttest.Entry(second, `false`), dialecttest.Entry(first, `true`)), `{"` + idA + `":{"decisions":[{"type":"approve"},{"type":"reject"}]}}`, ""},
		"one cancelled":               {p, dialecttest.ResumeArray(dialecttest.Entry(first, ``), dialecttest.Entry(second, `true`)), `{"` + idA + `":{"decisions":[{"type":"reject","message":"Cancelled by user"},{"type":"approve"}]}}`, ""},
		"one missing":                 {p, dialecttest.ResumeArray(dialecttest.Entry(first, `true`)), "", agui.PartialResume},
		"the whole in command.resume": {p, dialecttest.Command(`{"decisions":[{"type":"approve"},{"type":"reject","message":"m"}]}`), `{"` + idA + `":{"decisions":[{"type":"approve"},{"type":"reject","message":"m"}]}}`, ""},
		"the whole as text":           {p, dialecttest.Command(`"{\"decisions\":[{\"type\":\"approve\"},{\"type\":\"approve\"}]}"`), `{"` + idA + `":{"decisions":[{"type":"approve"},{"type":"approve"}]}}`, ""},
		"the whole, too few (fact 5)": {p, dialecttest.Command(`{"decisions":[{"type":"approve"}]}`), "", agui.InvalidPayload},
		"the whole, too many":         {p, dialecttest.Command(`{"decisions":[{"type":"approve"},{"type":"approve"},{"type":"approve"}]}`), "", agui.InvalidPayload},
		"the whole, no list":          {p, dialecttest.Command(`{"decisions":{"type":"approve"}}`), "", agui.InvalidPayload},
		"the whole, one not allowed":  {p, dialecttest.Command(`{"decisions":[{"type":"approve"},{"type":"edit","edited_action":{"name":"delete_file","args":{}}}]}`), "", agui.InvalidPayload},
		"true for both is for one":    {p, dialecttest.Command(`true`), "", agui.PartialResume},
		"no native id: the value":     {bare, dialecttest.ResumeArray(dialecttest.Entry("~r1", `true`), dialecttest.Entry("~r2", `true`)), `{"decisions":[{"type":"approve"},{"type":"approve"}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := resumeWith(t, d, c.pause, input(t, c.more))
			if dialecttest.Code(err) != c.code || c.code == "" && sent(out) != c.want {
				t.Errorf("command.resume %s (%v), want %s (%s)", sent(out), err, c.want, c.code)
			}
		})
	}
}

// TestResponses checks the responses to an Agent Inbox (section 7.4 of the LangGraph reference).
func TestResponses(t *testing.T) {
	none := `{"action_request":{"action":"f","args":{}},"config":{"allow_accept":false}}`
	stripped := `{"action_request":{"action":"f","args":{}}}`
	for name, c := range map[string]struct {
		value, more string
		want        string
		code        agui.Code
	}{
		"approved: accept":                      {inboxOne, dialecttest.Entry("A", `{"approved":true}`), `{"type":"accept","args":null}`, ""},
		"a list in, a list out":                 {"[" + inboxOne + "]", dialecttest.Entry("A", `{"approved":true}`), `[{"type":"accept","args":null}]`, ""},
		"edited":                                {inboxOne, dialecttest.Entry("A", `{"approved":true,"editedArgs":{"to":"x"}}`), `{"type":"edit","args":{"action":"send_email","args":{"to":"x"}}}`, ""},
		"denied with a text: response":          {inboxOne, dialecttest.Entry("A", `{"approved":false,"message":"why?"}`), `{"type":"response","args":"why?"}`, ""},
		"denied: ignore":                        {inboxOne, dialecttest.Entry("A", `{"approved":false}`), `{"type":"ignore","args":null}`, ""},
		"cancelled: ignore":                     {inboxOne, dialecttest.Entry("A", ``), `{"type":"ignore","args":null}`, ""},
		"true":                                  {inboxOne, dialecttest.Entry("A", `true`), `{"type":"accept","args":null}`, ""},
		"false":                                 {"[" + inboxOne + "]", dialecttest.Entry("A", `false`), `[{"type":"ignore","args":null}]`, ""},
		"its own form":                          {inboxOne, dialecttest.Entry("A", `{"type":"response","args":"x"}`), `{"type":"response","args":"x"}`, ""},
		"its own form for a list":               {"[" + inboxOne + "]", dialecttest.Entry("A", `[{"type":"edit","args":{"action":"a","args":{"b":1}}}]`), `[{"type":"edit","args":{"action":"a","args":{"b":1}}}]`, ""},
		"config taken out by Python (row 14)":   {stripped, dialecttest.Entry("A", `{"approved":true,"editedArgs":{}}`), `{"type":"edit","args":{"action":"f","args":{}}}`, ""},
		"accept not allowed":                    {none, dialecttest.Entry("A", `true`), "", agui.InvalidPayload},
		"edit not allowed":                      {none, dialecttest.Entry("A", `{"approved":true,"editedArgs":{}}`), "", agui.InvalidPayload},
		"ignore not allowed":                    {none, dialecttest.Entry("A", `false`), "", agui.InvalidPayload},
		"cancelled where ignore is not allowed": {none, dialecttest.Entry("A", ``), "", agui.InvalidPayload},
		"its own form, not allowed":             {none, dialecttest.Entry("A", `{"type":"accept","args":null}`), "", agui.InvalidPayload},
		"its own form, a response of no text":   {inboxOne, dialecttest.Entry("A", `{"type":"response","args":1}`), "", agui.InvalidPayload},
		"its own form, an edit of nothing":      {inboxOne, dialecttest.Entry("A", `{"type":"edit","args":null}`), "", agui.InvalidPayload},
		"two responses for one request":         {inboxOne, dialecttest.Entry("A", `[{"type":"accept"},{"type":"accept"}]`), "", agui.InvalidPayload},
		"a text (agent-chat-ui #85)":            {inboxOne, dialecttest.Entry("A", `"yes"`), "", agui.InvalidPayload},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDialect(t, Options{})
			p := pausedBy(t, d, started, custom(idA, c.value), finished)
			out, _, err := resumeWith(t, d, p, input(t, dialecttest.ResumeArray(strings.Replace(c.more, `"A"`, `"`+idA+`~r1"`, 1))))
			if want := `{"` + idA + `":` + c.want + `}`; dialecttest.Code(err) != c.code || c.code == "" && sent(out) != want {
				t.Errorf("command.resume %s (%v), want %s (%s)", sent(out), err, want, c.code)
			}
		})
	}
	t.Run("several requests", func(t *testing.T) {
		d := newDialect(t, Options{})
		p := pausedBy(t, d, started, custom(idA, "["+inboxOne+","+inboxOne+"]"), finished)
		for more, want := range map[string]string{
			dialecttest.ResumeArray(dialecttest.Entry(idA+"~r1", `true`), dialecttest.Entry(idA+"~r2", `false`)): `[{"type":"accept","args":null},{"type":"ignore","args":null}]`,
			dialecttest.Command(`[{"type":"ignore"},{"type":"accept"}]`):                                         `[{"type":"ignore","args":null},{"type":"accept","args":null}]`,
		} {
			out, _, err := resumeWith(t, d, p, input(t, more))
			if err != nil || sent(out) != `{"`+idA+`":`+want+`}` {
				t.Errorf("command.resume %s (%v), want %s", sent(out), err, want)
			}
		}
	})
}
