package statement

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/scenario"
	"holdpoint/internal/test/hostile"
)

// said returns the statements of a question as text, one in each line.
func said(object string, calls ...agui.AskedCall) string {
	list, more := Of(&agui.Interrupt{Object: json.RawMessage(object), Calls: calls})
	var lines []string
	for _, s := range list {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", s.Path, s.Name, s.Value)))
	}
	if more {
		lines = append(lines, "more")
	}
	return strings.Join(lines, "\n")
}

// TestStatements: an agent gives a value to interrupt(), or to the function of another framework
// that does the same. Of must find this value in the question. The questions are from testdata.
func TestStatements(t *testing.T) {
	refund := agui.AskedCall{Name: "refund", Args: `{"amount": 50, "to":"ann"}`}
	for _, test := range []struct {
		name, object string
		calls        []agui.AskedCall
		want         string
	}{
		{"nothing", `{"id":"q","message":"Go on?"}`, nil, ""},
		{"an action with arguments", `{"id":"q","metadata":{"langgraph":{"raw":{"action":"pay","args":{"iban":"X","amount":1.10}}}}}`, nil,
			`langgraph.raw  {"action":"pay","args":{"iban":"X","amount":1.10}}`},
		{"the message is not said twice", `{"id":"q","message":"Pay?","metadata":{"langgraph":{"raw":{"message":"Pay?","amount":5}}}}`, nil, `langgraph.raw  {"amount":5}`},
		{"a text", `{"id":"q","message":"Go on?","metadata":{"langgraph":{"raw":"Go on?"}}}`, nil, ""},
		{"a list", `{"id":"q","metadata":{"langgraph":{"raw":[1,"b"]}}}`, nil, `langgraph.raw  [1,"b"]`},
		{"Agent Inbox", `{"id":"q","message":"Send?","metadata":{"langgraph":{"name":"send_email","args":{"to":"bob"},"index":0}}}`, nil, `langgraph send_email {"to":"bob"}`},
		{"LangChain's review, whose call is known", `{"id":"q","metadata":{"langgraph":{"name":"refund","args":{"to":"ann","amount":50},"index":0}}}`, []agui.AskedCall{refund}, ""},
		{"a review that names other arguments than the call has", `{"id":"q","metadata":{"langgraph":{"name":"refund","args":{"to":"eve","amount":50}}}}`, []agui.AskedCall{refund}, `langgraph refund {"to":"eve","amount":50}`},
		{"a schema of the interrupt's own", `{"id":"q","message":"M","reason":"r","responseSchema":{"type":"object"},"metadata":{"langgraph":{"raw":{"message":"M","reason":"r","responseSchema":{"type":"object"},"n":1}}}}`, nil, `langgraph.raw  {"n":1}`},
		{"LangGraph Server", `{"id":"q","metadata":{"langgraph":{"raw":{"step":1},"node":"two","checkpoint_id":"1f","ns":["a"],"resumable":true,"when":"during"}}}`, nil, `langgraph.raw  {"step":1}`},
		{"calls of the same turn", `{"id":"q","metadata":{"langgraph":{"raw":{"x":1},"parallel":[{"name":"b","args":{}}]}}}`, nil, "langgraph.raw  {\"x\":1}\nlanggraph.parallel  [{\"name\":\"b\",\"args\":{}}]"},
		{"CopilotKit", `{"id":"q","message":"Name?","metadata":{"langgraph":{"raw":{"__copilotkit_interrupt_value__":"Name?","__copilotkit_messages__":[{"type":"ai"}]}}}}`, nil, ""},
		{"Mastra, suspended", `{"id":"q","message":"Delete?","metadata":{"mastra":{"type":"mastra_suspend","toolName":"rm","suspendPayload":{"question":"Delete?","size":3},"args":{"path":"a"},"resumeSchema":"{}","runId":"r"}}}`, nil,
			"mastra rm {\"path\":\"a\"}\nmastra.suspendPayload  {\"size\":3}"},
		{"Mastra, an approval of a known call", `{"id":"q","metadata":{"mastra":{"type":"tool_approval","toolName":"refund","runId":"r"}}}`, []agui.AskedCall{refund}, ""},
		{"Strands, its own server", `{"id":"q","message":"Approve call to refund?","metadata":{"strands":{"reason":{"cost":5},"id":"v1","name":"gate","tool_name":"refund","tool_input":{"amount":50,"to":"ann"}}}}`, []agui.AskedCall{refund}, `strands.reason  {"cost":5}`},
		{"Strands, the adapter", `{"id":"q","metadata":{"tool_name":"rm","tool_input":{"p":1},"strandsName":"x","reason":{"step":1},"strands":{"name":"x"}}}`, nil, "rm {\"p\":1}\nreason  {\"step\":1}"},
		{"a reason that repeats the arguments", `{"id":"q","metadata":{"reason":{"to":"ann","amount":50},"strands":{"name":"x"}}}`, []agui.AskedCall{refund}, ""},
		{"ADK", `{"id":"q","message":"Refund?","metadata":{"adk":{"originalFunctionCall":{"id":"adk-1","args":{"amount":50},"name":"refund"},"toolConfirmation":{"hint":"Refund?","confirmed":false,"payload":{"amount":0}}}}}`, nil,
			"adk.originalFunctionCall refund {\"amount\":50}\nadk.toolConfirmation.payload  {\"amount\":0}"},
		{"ADK asks for a value", `{"id":"q","message":"Publish?","metadata":{"adk":{"payload":{"draft":"hello"}}}}`, nil, `adk.payload  {"draft":"hello"}`},
		{"Agent Framework, a call", `{"id":"q","metadata":{"agent_framework":{"type":"t","function_call":{"call_id":"c","name":"rm","arguments":"{\"p\":1}"},"value":{"type":"t","function_call":{}}}}}`, nil, `agent_framework.function_call rm {"p":1}`},
		{"Agent Framework, a workflow", `{"id":"q","message":"First?","metadata":{"agent_framework":{"type":"w","request_id":"r","source_executor_id":"a","request_type":"dict","response_type":"dict","data":{"message":"First?","options":["a"]},"value":{"message":"First?","options":["a"]}}}}`, nil, `agent_framework.data  {"options":["a"]}`},
		{"CrewAI", `{"id":"q","metadata":{"crewai":{"flowId":"t","methodName":"ask","emit":["approved"],"output":{"file":"a"}}}}`, nil, `crewai.output  {"file":"a"}`},
		{"the draft", `{"id":"q","metadata":{"draft":{"reason":"human_approval","payload":{"proposal":{"n":1.0}},"idOmitted":true}}}`, nil, `draft.payload  {"proposal":{"n":1.0}}`},
		{"request-approval", `{"id":"q","metadata":{"request-approval":{"functionName":"f","functionArguments":{"id":"E"}}}}`, nil, `request-approval f {"id":"E"}`},
		{"superagent", `{"id":"q","message":"Go?","metadata":{"superagent":{"session_id":"t","agent_name":"a","reason":"Go?","fields":[{"name":"confirm"}],"timestamp":1,"checkpoint_id":"c"}}}`, nil, `superagent.fields  [{"name":"confirm"}]`},
		{"a proof and notes are not the agent's", `{"id":"q","metadata":{"ag2":{"proof":"secret"},"holdpoint":{"refusal":{"text":"no"}},"phrases":{"phrase":"p"},"tanstack:interruptBinding":{"v":1}}}`, nil, ""},
		{"an action that is a known call", `{"id":"q","metadata":{"langgraph":{"raw":{"action":"refund","args":{"to":"ann","amount":50}}}}}`, []agui.AskedCall{refund}, ""},
		{"its arguments beside its name", `{"id":"q","metadata":{"langgraph":{"raw":{"tool":"refund","to":"ann","amount":50}}}}`, []agui.AskedCall{refund}, ""},
		{"an action that is another one", `{"id":"q","metadata":{"langgraph":{"raw":{"action":"pay","args":{"to":"ann","amount":51},"risk":"low"}}}}`, []agui.AskedCall{refund}, `langgraph.raw  {"action":"pay","args":{"to":"ann","amount":51},"risk":"low"}`},
		{"an empty key", `{"id":"q","metadata":{"":{"":{"holdpoint":1}}}}`, nil, `.  {"":{"holdpoint":1}}`},
		{"what stands beside a proof", `{"id":"q","metadata":{"ag2":{"proof":"secret","amount":5}}}`, nil, "ag2.amount  5"},
		{"a framework that nobody knows", `{"id":"q","metadata":{"framework":{"keep":null,"n":1.5},"predict_state":[{"tool":"t"}]}}`, nil, "framework  {\"keep\":null,\"n\":1.5}\npredict_state  [{\"tool\":\"t\"}]"},
		{"a new member of a known one", `{"id":"q","metadata":{"mastra":{"type":"t","title":"Read this"}}}`, nil, `mastra.title  "Read this"`},
		{"a key twice", `{"id":"q","metadata":{"langgraph":{"raw":{"amount":1,"amount":2}}}}`, nil, `langgraph.raw  {"amount":1,"amount":2}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := said(test.object, test.calls...); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// TestStatementsOfEveryFamily: each family of metadata must have a statement in at least one
// scenario. Unless a statement has no value, its value must be valid JSON.
func TestStatementsOfEveryFamily(t *testing.T) {
	list, err := scenario.List("../../../testdata", "*")
	if err != nil {
		t.Fatal(err)
	}
	families := map[string]bool{}
	look := func(of *scenario.Scenario, line []byte) {
		data, is := bytes.CutPrefix(line, []byte("data:"))
		if !is {
			return
		}
		for _, object := range gjson.GetBytes(data, "outcome.interrupts").Array() {
			list, _ := Of(&agui.Interrupt{Object: json.RawMessage(object.Raw)})
			for _, s := range list {
				families[strings.SplitN(s.Path, ".", 2)[0]] = true
				if s.Value != "" && !agui.ValidText(s.Value) {
					t.Errorf("%s: %s is not JSON: %s", of.Name, s.Path, s.Value)
				}
			}
		}
	}
	for _, s := range list {
		for turn := 1; turn <= s.Turns; turn++ {
			for line := range bytes.Lines(s.Part(scenario.Want(turn))) {
				look(s, line)
			}
		}
	}
	for _, family := range []string{"langgraph", "mastra", "strands", "adk", "agent_framework", "crewai", "draft", "request-approval", "superagent", "reason", ""} {
		if !families[family] {
			t.Errorf("no scenario has a statement of %q: %v", family, families)
		}
	}
}

// TestText: the file of a question must have the metadata as it was recorded, but without any
// proof.
func TestText(t *testing.T) {
	got := Text(&agui.Interrupt{Object: json.RawMessage(`{"metadata":{"langgraph":{"raw":{"a": 1.10}},"ag2":{"proof":"secret","n":1},"holdpoint":{}}}`)})
	if want := `{"langgraph":{"raw":{"a": 1.10}},"ag2":{"n":1}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestManyStatements: the number of statements must be limited. The cost must be linear in the
// length of the question, even if its members are repeated very often.
func TestManyStatements(t *testing.T) {
	object := func(n int) string {
		return `{"message":"m","reason":"r","metadata":{"langgraph":{"raw":{` + strings.Repeat(`"reason":"r","message":"m","x":{},`, n) + `"z":1}}` + strings.Repeat(`,"a":{"b":1}`, n) + `}}`
	}
	if got := said(object(100)); strings.Count(got, "\n") != maxStatements || !strings.HasSuffix(got, "more") {
		t.Error(got)
	}
	text := object(100_000)
	before := hostile.ProcessorTime(t)
	said(text)
	if took := hostile.ProcessorTime(t) - before; took > hostile.Limit {
		t.Errorf("it took %v", took)
	}
}

func FuzzOf(f *testing.F) {
	for _, seed := range []string{
		`{"langgraph":{"name":"n","args":{"a":1}}}`, `{"langgraph":{"name":"","args":null,"raw":[ ]}}`, `{"agent_framework":{"function_call":{"name":"n","arguments":"{\"a\":1}"}}}`,
		`{"":{"":""}}`, `{"adk":{"toolConfirmation":{}}}`, `{"reason":"\ud800"}`, `[]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, metadata string) {
		object := `{"message":"m","metadata":` + metadata + `}`
		if !agui.ValidText(object) {
			t.Skip()
		}
		i := &agui.Interrupt{Object: json.RawMessage(object), Calls: []agui.AskedCall{{Name: "n", Args: `{"a":1}`}}}
		list, _ := Of(i)
		for _, s := range list {
			if s.Value != "" && !agui.ValidText(s.Value) {
				t.Errorf("%s is not JSON: %s", s.Path, s.Value)
			}
		}
		if text := Text(i); text != "" && !agui.ValidText(text) {
			t.Errorf("the file is not JSON: %s", text)
		}
	})
}
