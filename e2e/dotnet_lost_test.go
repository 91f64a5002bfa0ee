//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"holdpoint/e2e/scripted"
)

// These tests are about questions of .NET's hosts that Holdpoint has lost. The hosts store nothing,
// and their provider refuses a history that has a call without a result. So the chat has a call
// that nobody can answer.

// A handChat is a chat whose requests the test writes itself. The messages of each stream are
// appended to its history.
type handChat struct {
	t        *testing.T
	address  string
	thread   string
	threads  bool   // whether each run uses a new thread
	version  string // the protocol version that it declares, "" for an older client
	runs     int
	messages []string
	calls    []string // ids of the calls in the last response
	asked    []string // ids of the questions in the last response
	text     string   // the text of the last response
}

func (c *handChat) post(members string) (status int, told string) {
	c.t.Helper()
	c.runs++
	if c.threads && c.runs > 1 {
		c.thread = fresh("thread")
	}
	if c.version != "" {
		members = fmt.Sprintf(`"protocolVersion":%q,%s`, c.version, members)
	}
	body := fmt.Sprintf(`{"threadId":%q,"runId":"run-%d","messages":[%s],%s}`, c.thread, c.runs, strings.Join(c.messages, ","), members)
	res, err := http.Post(c.address, "application/json", strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	said, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return res.StatusCode, string(said)
}

// run sends a run with the history, and appends the messages of the response to the history.
// members are further members of the body.
func (c *handChat) run(members string) (status int, told string) {
	c.t.Helper()
	status, told = c.post(members)
	c.calls, c.asked = nil, nil
	var calls, results []string
	parent := ""
	c.text = ""
	for _, line := range strings.Split(told, "\n") {
		var ev struct {
			Type, ToolCallID, ToolCallName, Delta, ParentMessageID, MessageID, Content string
			Outcome                                                                    struct{ Interrupts []struct{ ID string } }
		}
		if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &ev) != nil {
			continue
		}
		switch ev.Type {
		case "TEXT_MESSAGE_CONTENT":
			c.text += ev.Delta
		case "TOOL_CALL_START":
			parent = ev.ParentMessageID
			c.calls = append(c.calls, ev.ToolCallID)
			calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":"`, ev.ToolCallID, ev.ToolCallName))
		case "TOOL_CALL_RESULT":
			results = append(results, fmt.Sprintf(`{"id":%q,"role":"tool","toolCallId":%q,"content":%s}`, fresh("result"), ev.ToolCallID, quoted(ev.Content)))
		case "TOOL_CALL_ARGS":
			args := quoted(ev.Delta)
			calls[len(calls)-1] += args[1 : len(args)-1]
		case "RUN_FINISHED":
			for _, i := range ev.Outcome.Interrupts {
				c.asked = append(c.asked, i.ID)
			}
		}
	}
	if len(calls) > 0 {
		c.messages = append(c.messages, fmt.Sprintf(`{"id":%q,"role":"assistant","content":"","toolCalls":[%s"}}]}`, parent, strings.Join(calls, `"}},`)))
	}
	c.messages = append(c.messages, results...)
	if c.text != "" {
		c.messages = append(c.messages, fmt.Sprintf(`{"id":%q,"role":"assistant","content":%s}`, fresh("said"), quoted(c.text)))
	}
	return status, told
}

// says appends a user message to the history, and sends a run.
func (c *handChat) says(words, members string) (status int, told string) {
	c.t.Helper()
	c.messages = append(c.messages, fmt.Sprintf(`{"id":%q,"role":"user","content":%q}`, fresh("u"), words))
	return c.run(members)
}

// entries returns the member resume of a body. It has one entry for each id of asked, and each
// entry ends with the members in rest.
func entries(asked []string, rest string) string {
	var list []string
	for _, id := range asked {
		list = append(list, fmt.Sprintf(`{"interruptId":%q,%s}`, id, rest))
	}
	return `"resume":[` + strings.Join(list, ",") + `]`
}

// pairs returns the answers that the native client of a wrapper (request_approval) sends: one tool
// message for each call.
func pairs(calls []string, approved bool) []string {
	var list []string
	for _, id := range calls {
		approval := id
		list = append(list, fmt.Sprintf(`{"id":%q,"role":"tool","toolCallId":%q,"content":%s}`, fresh("pair"), id, quoted(fmt.Sprintf(`{"approval_id":%q,"approved":%v}`, approval, approved))))
	}
	return list
}

const (
	yesEntry    = `"status":"resolved","payload":{"approved":true}`
	noEntry     = `"status":"resolved","payload":{"approved":false}`
	cancelEntry = `"status":"cancelled"`
	onlyTools   = `"tools":[]`
)

// A dotnetHost is one version of a .NET host with one of its wrappers.
type dotnetHost struct {
	line     scripted.Line
	wrapping scripted.Wrapping
}

func (h dotnetHost) String() string { return fmt.Sprintf("%s %s", h.line, h.wrapping) }

// dialect returns the value of HOLDPOINT_DIALECT for the host.
func (h dotnetHost) dialect() string {
	if h.wrapping == scripted.Plain {
		return "agent-framework"
	}
	return "request-approval"
}

// askingHosts returns every .NET host whose agent asks questions.
func askingHosts() []dotnetHost {
	var list []dotnetHost
	for _, line := range scripted.Lines {
		switch {
		case line.InTree():
			list = append(list, dotnetHost{line, scripted.Wrapped})
		case line == scripted.LineSDK:
			list = append(list, dotnetHost{line, scripted.Plain}, dotnetHost{line, scripted.WrappedB})
		default:
			list = append(list, dotnetHost{line, scripted.Plain}, dotnetHost{line, scripted.Wrapped})
		}
	}
	return list
}

// A manyBackends is a server with many backends, each on its own path.
type manyBackends struct {
	*httptest.Server
	mu  sync.Mutex
	mux *http.ServeMux
	n   int
}

func newManyBackends(t *testing.T) *manyBackends {
	m := &manyBackends{mux: http.NewServeMux()}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		handler, _ := m.mux.Handler(r)
		m.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(m.Close)
	return m
}

// add adds a .NET host on a new path, and returns the path.
func (m *manyBackends) add(h dotnetHost, ledger *scripted.Ledger) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n++
	path := fmt.Sprintf("/chat-%d/", m.n)
	m.mux.Handle(path, http.StripPrefix(strings.TrimSuffix(path, "/"), h.line.New(ledger, h.wrapping)))
	return path
}

// TestDotNetQuestionLost: after a .NET host has asked, Holdpoint is restarted with its store in
// memory. An approval must be refused, nothing may run, and the next message must be answered.
func TestDotNetQuestionLost(t *testing.T) {
	t.Parallel()
	ways := map[string]func(c *handChat, asked, calls []string, native bool){}
	answers := func(rest string, approved bool) func(c *handChat, asked, calls []string, native bool) {
		return func(c *handChat, asked, calls []string, native bool) {
			if native {
				c.messages = append(c.messages, pairs(calls, approved)...)
				if _, told := c.run(onlyTools); !strings.Contains(told, "UNKNOWN_INTERRUPT_ID") {
					c.t.Errorf("a pair whose question is lost is told as %s", told)
				}
				return
			}
			if _, told := c.run(entries(asked, rest)); rest == yesEntry && !strings.Contains(told, "UNKNOWN_INTERRUPT_ID") {
				c.t.Errorf("a yes to a lost question is told as %s", told)
			}
		}
	}
	onNewThreads := func(way func(c *handChat, asked, calls []string, native bool)) func(c *handChat, asked, calls []string, native bool) {
		return func(c *handChat, asked, calls []string, native bool) {
			c.threads = true
			way(c, asked, calls, native)
		}
	}
	ways["yes, each run on a thread of its own"] = onNewThreads(answers(yesEntry, true))
	ways["cancel, each run on a thread of its own"] = onNewThreads(answers(cancelEntry, false))
	ways["yes"], ways["no"], ways["cancel"] = answers(yesEntry, true), answers(noEntry, false), answers(cancelEntry, false)
	ways["a cancel beside words"] = func(c *handChat, asked, _ []string, _ bool) { c.says("plain beside it", entries(asked, cancelEntry)) }
	ways["words, then yes"] = func(c *handChat, asked, calls []string, native bool) {
		c.says("plain early", onlyTools)
		answers(yesEntry, true)(c, asked, calls, native)
	}
	backends := newManyBackends(t)
	for _, dialect := range []string{"auto", "agent-framework", "request-approval"} {
		for _, shown := range []string{"outcome", "both", "native"} {
			t.Run(dialect+"/"+shown, func(t *testing.T) {
				t.Parallel()
				env := map[string]string{"HOLDPOINT_DIALECT": dialect, "HOLDPOINT_CLIENT": shown}
				before, after := ownHoldpoint(t, backends.URL, env), ownHoldpoint(t, backends.URL, env)
				for _, host := range askingHosts() {
					if dialect != "auto" && dialect != host.dialect() {
						continue
					}
					for _, order := range []string{"delete a.txt", "mixed a.txt"} {
						for name, way := range ways {
							native := shown == "native" && host.wrapping != scripted.Plain
							if native && name == "a cancel beside words" {
								continue // there is no id to cancel by
							}
							t.Run(fmt.Sprint(host, "/", order, "/", name), func(t *testing.T) {
								ledger := scripted.NewLedger()
								path := backends.add(host, ledger)
								c := &handChat{t: t, address: before.address + path, thread: fresh("thread")}
								if shown == "outcome" {
									c.version = "1.0"
								}
								if _, told := c.says(order, onlyTools); len(c.asked) == 0 && !native {
									t.Fatalf("nothing is asked: %s", told)
								}
								asked, calls := c.asked, c.calls
								c.address = after.address + path
								way(c, asked, calls, native)
								status, told := c.says("plain and later", onlyTools)
								if status != http.StatusOK || !strings.Contains(c.text, "and later") || strings.Contains(told, `"RUN_ERROR"`) {
									t.Errorf("the chat does not go on: %d %s\n%s", status, told, strings.Join(c.messages, "\n"))
								}
								for what := range ledger.Total() {
									if strings.HasPrefix(what, "delete_file") {
										t.Errorf("it ran: %s", what)
									}
								}
							})
						}
					}
				}
			})
		}
	}
}

// TestDotNetWordsAfterALostQuestion: Holdpoint is restarted after a .NET host has asked. The person
// then writes a text instead of an answer, so nothing in the request names the question. If
// Holdpoint recognizes the host, by HOLDPOINT_DIALECT or by a later question on the path, the chat
// must continue. Otherwise the request is answered as without Holdpoint: the provider refuses the
// history until an answer or a cancel has been sent.
func TestDotNetWordsAfterALostQuestion(t *testing.T) {
	t.Parallel()
	backends := newManyBackends(t)
	for _, dialect := range []string{"auto", "agent-framework", "request-approval"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"HOLDPOINT_DIALECT": dialect}
			before, after := ownHoldpoint(t, backends.URL, env), ownHoldpoint(t, backends.URL, env)
			for _, host := range askingHosts() {
				if dialect != "auto" && dialect != host.dialect() {
					continue
				}
				for _, seen := range []string{"never", "by a question", "by a plain run"} {
					t.Run(fmt.Sprint(host, "/seen ", seen), func(t *testing.T) {
						ledger := scripted.NewLedger()
						path := backends.add(host, ledger)
						chat := func(first, then string) *handChat {
							c := &handChat{t: t, address: first + path, thread: fresh("thread"), version: "1.0"}
							if _, told := c.says("delete a.txt", onlyTools); len(c.calls) == 0 {
								t.Fatalf("nothing is asked: %s", told)
							}
							c.address = then + path
							return c
						}
						goesOn := func(c *handChat) bool {
							status, told := c.says("plain and later", onlyTools)
							return status == http.StatusOK && c.text == "echo: plain and later" && !strings.Contains(told, `"RUN_ERROR"`)
						}
						direct, through := chat(backends.URL, backends.URL), chat(before.address, after.address)
						knows := dialect == "request-approval"
						switch seen {
						case "by a question":
							chat(after.address, after.address)
							knows = true
						case "by a plain run":
							other := &handChat{t: t, address: after.address + path, thread: fresh("thread"), version: "1.0"}
							if !goesOn(other) {
								t.Fatalf("a plain run is told %q", other.text)
							}
							knows = knows || dialect == "agent-framework"
						}
						if goesOn(direct) {
							t.Error("the chat goes on without Holdpoint")
						}
						if h := goesOn(through); h != knows {
							t.Errorf("the chat goes on: %v, the host is known: %v", h, knows)
						}
						if ran := ledger.Total(); len(ran) > 0 {
							t.Errorf("it ran: %v", ran)
						}
					})
				}
			}
		})
	}
}

// freeTurn makes the model call two tools: one of the client, and one of the host that needs no
// approval. The host asks no question. It runs its own tool when it gets the result of the client's
// tool. freeTurn returns that result, and the member tools of a body that declares the client's
// tool.
func (c *handChat) freeTurn(sdk bool) (result, tools string) {
	c.t.Helper()
	tool := "get_location"
	if sdk {
		tool = "pick_color"
	}
	tools = fmt.Sprintf(`"tools":[{"name":%q,"description":"","parameters":{"type":"object"}}]`, tool)
	if _, told := c.says("mixfree", tools); len(c.calls) != 2 || len(c.asked) > 0 {
		c.t.Fatalf("the turn has %d calls, and %d questions: %s", len(c.calls), len(c.asked), told)
	}
	return fmt.Sprintf(`{"id":%q,"role":"tool","toolCallId":%q,"content":"Tuesday Street"}`, fresh("result"), c.calls[0]), tools
}

// TestHonestCallOfAContinuation: a run asks no question. Its model calls two tools: one of the host
// that needs no approval, and one of the client. The client then sends the result of its own tool.
// Holdpoint must leave the call of the host's tool in the request, and the host must run it as it
// does without Holdpoint. This must also hold on another thread, and if a text follows the result.
// After a restart Holdpoint does not know the host's call. Then this call must not reach the host,
// and the chat must continue.
func TestHonestCallOfAContinuation(t *testing.T) {
	t.Parallel()
	backends := newManyBackends(t)
	direct := &holdpoint{address: backends.URL}
	for _, env := range []map[string]string{{}, {"HOLDPOINT_CLIENT": "native"}, {"HOLDPOINT_DIALECT": "agent-framework"}, {"HOLDPOINT_DIALECT": "agui"}} {
		t.Run(fmt.Sprint(env["HOLDPOINT_DIALECT"], env["HOLDPOINT_CLIENT"]), func(t *testing.T) {
			t.Parallel()
			h, restarted := ownHoldpoint(t, backends.URL, env), ownHoldpoint(t, backends.URL, env)
			for _, line := range []scripted.Line{scripted.LineHead, scripted.LineNew, scripted.LineSDK} {
				for name, then := range map[string]struct {
					at     *holdpoint // the Holdpoint that gets the result
					fork   bool
					behind string
				}{
					"the same thread": {at: h}, "another thread": {at: h, fork: true}, "words behind": {at: h, behind: "plain and later"},
					"after a restart": {at: restarted}, "after a restart, words behind": {at: restarted, behind: "plain and later"},
				} {
					t.Run(fmt.Sprint(line, "/", name), func(t *testing.T) {
						play := func(from, to *holdpoint) (ran int, status int, told string, goesOn bool) {
							ledger := scripted.NewLedger()
							path := backends.add(dotnetHost{line, scripted.Plain}, ledger)
							c := &handChat{t: t, address: from.address + path, thread: fresh("thread")}
							result, tools := c.freeTurn(line == scripted.LineSDK)
							c.messages = append(c.messages, result)
							c.address = to.address + path
							if then.fork {
								c.thread = fresh("fork")
							}
							if then.behind != "" {
								status, told = c.says(then.behind, tools)
							} else {
								status, told = c.run(tools)
							}
							for _, n := range ledger.Total() {
								ran += n
							}
							last, _ := c.says("plain at last", tools)
							return ran, status, told, last == http.StatusOK && strings.Contains(c.text, "at last")
						}
						want, wantStatus, _, on := play(direct, direct)
						if want != 1 {
							t.Fatalf("it ran %d times without Holdpoint", want)
						}
						got, gotStatus, told, goesOn := play(h, then.at)
						if then.at == restarted {
							want, on = 0, true // Holdpoint has no record of the call
						}
						if on && !goesOn {
							t.Error("the chat does not go on")
						}
						if got != want || gotStatus != wantStatus || strings.Contains(told, "RUN_ERROR") {
							t.Errorf("it ran %d times with status %d, and %d times with %d without Holdpoint: %s", got, gotStatus, want, wantStatus, told)
						}
					})
				}
			}
		})
	}
}
