package langgraph

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/dialecttest"
)

// These are the request and the schema of langchain 1.4.7 with interrupt_mode="per_call". They were
// recorded with ag-ui-langgraph 0.0.47.
const (
	toolApproval    = `{"type":"tool_approval","tool_call_id":"call-1-2","name":"pay","args":{"amount":5,"to":"bob"},"description":"Pay bob?"}`
	approveDecision = `"ApproveDecision":{"properties":{"type":{"const":"approve","type":"string"}},"required":["type"],"type":"object"}`
	rejectDecision  = `"RejectDecision":{"properties":{"type":{"const":"reject","type":"string"},"message":{"type":"string"}},"required":["type"],"type":"object"}`
	respondDecision = `"RespondDecision":{"properties":{"type":{"const":"respond","type":"string"},"message":{"type":"string"}},"required":["type","message"],"type":"object"}`
	payArgs         = `{"properties":{"amount":{"type":"integer"},"to":{"type":"string"}},"required":["amount","to"],"type":"object"}`
	editDecision    = `"EditDecision":{"properties":{"type":{"const":"edit","type":"string"},"edited_action":{"$ref":"#/$defs/EditedAction"}},"required":["type","edited_action"],"type":"object"},` +
		`"EditedAction":{"properties":{"name":{"const":"pay","type":"string"},"args":{"$ref":"#/$defs/pay"}},"required":["name","args"],"type":"object"},"pay":` + payArgs
	fourDecisions = `{"$defs":{` + approveDecision + `,` + editDecision + `,` + rejectDecision + `,` + respondDecision + `},"discriminator":{"propertyName":"type"},` +
		`"oneOf":[{"$ref":"#/$defs/ApproveDecision"},{"$ref":"#/$defs/EditDecision"},{"$ref":"#/$defs/RejectDecision"},{"$ref":"#/$defs/RespondDecision"}]}`
	twoDecisions = `{"$defs":{` + approveDecision + `,` + rejectDecision + `},"oneOf":[{"$ref":"#/$defs/ApproveDecision"},{"$ref":"#/$defs/RejectDecision"}]}`
	oneDecision  = `{"properties":{"type":{"const":"approve","type":"string"}},"required":["type"],"type":"object"}`
)

// rawQuestion returns a RAW event that contains a chunk of the graph's stream.
func rawQuestion(chunk string) string {
	return `{"type":"RAW","event":{"event":"on_chain_stream","name":"LangGraph","data":{"chunk":` + chunk + `}}}`
}

// perCallEvent returns a CUSTOM event with a question's value and its response_schema.
func perCallEvent(value, schema string) string {
	return strings.TrimSuffix(custom(idA, value), "}}") + `,"response_schema":` + schema + `}}`
}

// TestPerCallIsPublished: a review of a single call must be published with the schema of a review,
// limited to the decisions that its response_schema allows.
func TestPerCallIsPublished(t *testing.T) {
	for name, c := range map[string]struct{ event, want string }{
		"every decision": {perCallEvent(toolApproval, fourDecisions), `{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":` + payArgs +
			`,"message":{"type":"string"},"type":{"enum":["approve","edit","reject","respond"]}},"anyOf":[{"required":["approved"]},{"required":["type"]}]}`},
		"approve and reject": {perCallEvent(toolApproval, twoDecisions), `{"type":"object","properties":{"approved":{"type":"boolean"},"message":{"type":"string"}},"required":["approved"]}`},
		"one decision":       {perCallEvent(toolApproval, oneDecision), `{"type":"object","properties":{"approved":{"type":"boolean"},"message":{"type":"string"}},"required":["approved"]}`},
		"no schema, as without rawEvent": {custom(idA, toolApproval),
			`{"type":"object","properties":{"approved":{"type":"boolean"},"message":{"type":"string"}},"required":["approved"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := playPlain(t, newDialect(t, Options{}), started, pyCalls, c.event, finished)
			got := objects(p.Result.Asked.Pause(Name))
			want := `{"reason":"tool_call","message":"Pay bob?","toolCallId":"call-1-2","responseSchema":` + c.want +
				`,"metadata":{"langgraph":{"name":"pay","args":{"amount":5,"to":"bob"}}}}`
			if len(got) != 1 || got[0] != want {
				t.Errorf("objects\n%s\nwant\n%s", strings.Join(got, "\n"), want)
			}
		})
	}
}

// TestPerCallIsAnswered: each answer must become one decision under the id of its interrupt. A
// decision that the tool does not allow must be refused before anything is sent.
func TestPerCallIsAnswered(t *testing.T) {
	d := newDialect(t, Options{})
	four := pausedBy(t, d, started, perCallEvent(toolApproval, fourDecisions), finished)
	two := pausedBy(t, d, started, perCallEvent(toolApproval, twoDecisions), finished)
	one := pausedBy(t, d, started, perCallEvent(toolApproval, oneDecision), finished)
	A := idA + "~r1"
	entry := func(payload string) string { return dialecttest.ResumeArray(dialecttest.Entry(A, payload)) }
	for name, c := range map[string]struct {
		pause      agui.Pause
		more, want string
	}{
		"approve":               {four, entry(`{"approved":true}`), `{"type":"approve"}`},
		"true":                  {four, entry(`true`), `{"type":"approve"}`},
		"edit":                  {four, entry(`{"approved":true,"editedArgs":{"amount":1,"to":"eve"}}`), `{"type":"edit","edited_action":{"name":"pay","args":{"amount":1,"to":"eve"}}}`},
		"reject":                {four, entry(`{"approved":false}`), `{"type":"reject"}`},
		"reject with words":     {four, entry(`{"approved":false,"message":"no"}`), `{"type":"reject","message":"no"}`},
		"cancel":                {four, entry(``), `{"type":"reject","message":"Cancelled by user"}`},
		"own approve":           {four, entry(`{"type":"approve"}`), `{"type":"approve"}`},
		"own respond":           {four, entry(`{"type":"respond","message":"42"}`), `{"message":"42","type":"respond"}`},
		"own edit":              {four, entry(`{"type":"edit","edited_action":{"name":"pay","args":{"amount":2,"to":"x"}}}`), `{"type":"edit","edited_action":{"name":"pay","args":{"amount":2,"to":"x"}}}`},
		"command, own":          {four, dialecttest.Command(`{"type":"reject"}`), `{"type":"reject"}`},
		"command, map":          {four, dialecttest.Command(`{"` + idA + `":{"type":"approve"}}`), `{"type":"approve"}`},
		"command, generic":      {four, dialecttest.Command(`{"approved":false}`), `{"type":"reject"}`},
		"one decision":          {one, entry(`{"approved":true}`), `{"type":"approve"}`},
		"another tool":          {four, entry(`{"type":"edit","edited_action":{"name":"ship","args":{}}}`), ""},
		"an edit of two":        {two, entry(`{"approved":true,"editedArgs":{"amount":1}}`), ""},
		"respond, no message":   {four, entry(`{"type":"respond"}`), ""},
		"a reject of one":       {one, entry(`{"approved":false}`), ""},
		"a cancel of one":       {one, entry(``), ""},
		"decisions":             {four, entry(`{"decisions":[{"type":"approve"}]}`), ""},
		"yes and no":            {four, entry(`{"approved":false,"type":"approve"}`), ""},
		"nothing":               {four, entry(`{}`), ""},
		"a decision unheard of": {four, entry(`{"type":"accept"}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := resumeWith(t, d, c.pause, input(t, c.more))
			switch {
			case c.want == "" && dialecttest.Code(err) != agui.InvalidPayload:
				t.Errorf("the backend gets %s (%v)", sent(out), err)
			case c.want != "" && (err != nil || gjson.Get(sent(out), idA).Raw != c.want):
				t.Errorf("the backend gets %s (%v), want %s", sent(out), err, c.want)
			}
		})
	}
}

// TestPerCallEditsKeepTheirDefinitions: the schema of the edited arguments refers to other
// definitions of the same schema. These definitions must be published with it.
func TestPerCallEditsKeepTheirDefinitions(t *testing.T) {
	schema := strings.Replace(fourDecisions, payArgs, `{"properties":{"to":{"$ref":"#/$defs/Person"}},"type":"object"},"Person":{"type":"string"}`, 1)
	p := pausedBy(t, newDialect(t, Options{}), started, perCallEvent(toolApproval, schema), finished)
	edits := gjson.GetBytes(p.Interrupts[0].Schema(), "properties.editedArgs")
	if edits.Get("properties.to.$ref").Str != "#/$defs/Person" || edits.Get("$defs.Person.type").Str != "string" ||
		gjson.GetBytes(p.Interrupts[0].Schema(), "$defs.Person.type").Str != "string" {
		t.Errorf("%s", p.Interrupts[0].Schema())
	}
}

// TestResponseSchemaBesideTheValue: interrupt(value, response_schema=...) puts the schema next to
// the value, in rawEvent or in a RAW event. The dialect must find it in both places, with and
// without an outcome.
func TestResponseSchemaBesideTheValue(t *testing.T) {
	const schema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
	for name, c := range map[string]struct {
		stream []string
		want   string
	}{
		"the default":           {[]string{perCallEvent(`{"message":"M"}`, schema), finished}, schema},
		"with the outcome":      {[]string{perCallEvent(`{"message":"M"}`, schema), withOutcome(adapters(idA, `{"message":"M"}`, ""))}, schema},
		"in RAW alone":          {[]string{rawQuestion(`{"__interrupt__":[{"id":"` + idA + `","response_schema":` + schema + `}]}`), withOutcome(adapters(idA, `{"message":"M"}`, ""))}, schema},
		"in RAW of a subgraph":  {[]string{rawQuestion(`[["a:1"],{"__interrupt__":[{"id":"` + idA + `","response_schema":` + schema + `}]}]`), withOutcome(adapters(idA, `{"message":"M"}`, ""))}, schema},
		"another's in RAW":      {[]string{rawQuestion(`{"__interrupt__":[{"id":"` + idB + `","response_schema":` + schema + `}]}`), withOutcome(adapters(idA, `{"message":"M"}`, ""))}, ""},
		"none in RAW":           {[]string{rawQuestion(`{"__interrupt__":[{"id":"` + idA + `","response_schema":null}]}`), withOutcome(adapters(idA, `{"message":"M"}`, ""))}, ""},
		"over the value's own":  {[]string{perCallEvent(`{"message":"M","responseSchema":{"type":"string"}}`, schema), finished}, schema},
		"null is none":          {[]string{perCallEvent(`{"message":"M"}`, `null`), finished}, ""},
		"true is none":          {[]string{perCallEvent(`{"message":"M"}`, `true`), finished}, ""},
		"null beside the value": {[]string{perCallEvent(`{"message":"M","response_schema":{"type":"string"}}`, `null`), finished}, `{"type":"string"}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := pausedBy(t, newDialect(t, Options{}), append([]string{started}, c.stream...)...)
			if got := string(p.Interrupts[0].Schema()); got != c.want {
				t.Errorf("schema %s, want %s", got, c.want)
			}
			if !json.Valid(p.Interrupts[0].Object) {
				t.Errorf("%s", p.Interrupts[0].Object)
			}
		})
	}
}
