//go:build e2e

package e2e

import (
	"os"
	"testing"

	tries "holdpoint/e2e/newest"
)

// A candidate is a row of the newest packages, together with what its smoke test needs.
type candidate struct {
	tries.Row
	stack          // the server of the row, and its newest version with pinned packages
	also  []string // further Python packages that the server needs
	mode  string   // path on the server

	// pauses sends the agent a message, so that it asks a question. It returns the waiting chat.
	pauses func(t *testing.T, w world) paused
}

// A paused is a chat of a smoke test that waits for the answer to a question.
type paused struct {
	// answer sends an approval if yes is true, and a denial otherwise.
	answer func(t *testing.T, yes bool)
	// ran checks that the right actions ran: those after an approval if yes is true, and otherwise
	// those after a denial.
	ran func(t *testing.T, yes bool)
}

// smokeOf returns a function for candidate.pauses, made of three parts. pause starts a chat, and
// returns it when it waits for an answer. answer approves or denies. ran checks which actions ran.
func smokeOf[C any](pause func(t *testing.T, w world) C, answer func(t *testing.T, c C, yes bool), ran func(t *testing.T, w world, c C, yes bool)) func(t *testing.T, w world) paused {
	return func(t *testing.T, w world) paused {
		c := pause(t, w)
		return paused{
			answer: func(t *testing.T, yes bool) { answer(t, c, yes) },
			ran:    func(t *testing.T, yes bool) { ran(t, w, c, yes) },
		}
	}
}

// says returns a pause function for smokeOf. It sends text to the agent and expects one question.
func says(agent, text string) func(t *testing.T, w world) *client {
	return func(t *testing.T, w world) *client {
		c := w.client(t, agent)
		c.asksAbout(t, step{say: text}, 1)
		return c
	}
}

// yesOrNo returns an answer function for smokeOf. It sends the answer yes or no in the resume
// array.
func yesOrNo(yes, no answer) func(t *testing.T, c *client, said bool) {
	return func(t *testing.T, c *client, said bool) {
		if said {
			c.finish(t, step{resume: c.answers(yes)})
		} else {
			c.finish(t, step{resume: c.answers(no)})
		}
	}
}

// effect returns a ran function for smokeOf. It checks that the tool had this effect once after an
// approval, and no effect after a denial.
func effect(what string) func(t *testing.T, w world, c *client, yes bool) {
	return func(t *testing.T, w world, c *client, yes bool) {
		if yes {
			w.ran(t, c, what)
		} else {
			w.ran(t, c)
		}
	}
}

// clientsRow is the name of the row that tests the clients. This row has no server of its own.
const clientsRow = "@ag-ui/client"

// candidates returns all rows, the small ones first.
func candidates() []candidate {
	row := func(name string, packages ...string) tries.Row { return tries.Row{Name: name, Packages: packages} }
	approving := yesOrNo(accept, reject)
	graph := func(t *testing.T, w world, c *client, yes bool) {
		w.effects(t, c, map[bool]map[string]int{true: {"delete": 1}}[yes])
	}
	return []candidate{
		{Row: row(clientsRow, "@ag-ui/client"), stack: stack{"langgraph", newestLangGraph}, mode: "outcome",
			pauses: smokeOf(says("approve", "go"), approving, graph)},
		{Row: row("langgraph", "ag-ui-langgraph", "langgraph", "langchain"), stack: stack{"langgraph", newestLangGraph},
			also: []string{"fastapi", "uvicorn"}, mode: "default", pauses: smokeOf(says("approve", "go"), approving, graph)},
		{Row: row("pydantic-ai", "pydantic-ai-slim"), stack: stack{"pydanticai", "2.68.0"},
			also: []string{"ag-ui-protocol", "starlette", "uvicorn"}, mode: "stateless",
			pauses: smokeOf(says("agent", "delete a.txt"), approving, effect(deleteA))},
		{Row: row("ag2", "ag2"), stack: stack{"ag2", "1.2.1"},
			also: []string{"ag-ui-protocol", "starlette", "uvicorn"}, mode: "held",
			pauses: smokeOf(says("agent", "delete a.txt"), yesOrNo(gives(true), gives(false)), effect(deleteA))},
		{Row: row("agent-framework", "agent-framework-ag-ui", "agent-framework-core"), stack: stack{"agentframework", "1.7.0"},
			also: []string{"fastapi", "uvicorn"}, mode: "default", pauses: smokeOf(says("approve", "go"), approving, effect(deleteA))},
		{Row: row("strands", "strands-agents", "ag-ui-strands", "bedrock-agentcore"), stack: stack{"strands", "1.62.0"},
			also: []string{"fastapi", "uvicorn"}, mode: "agui", pauses: smokeOf(filesOf("gate"), approving,
				func(t *testing.T, w world, c *client, yes bool) {
					if yes {
						w.gone(t, c, "a.txt")
					} else {
						w.gone(t, c)
					}
				})},
		{Row: row("strands-ts", "@ag-ui/aws-strands", "@strands-agents/sdk"), stack: stack{"strands-ts", "1.19.0"}, mode: "",
			pauses: smokeOf(func(t *testing.T, w world) *client {
				c := w.client(t, "agui/hook")
				c.asksAbout(t, c.wants("delete a.txt"), 1)
				return c
			}, approving, func(t *testing.T, w world, c *client, yes bool) {
				if yes {
					w.deleted(t, c, "a.txt")
				} else {
					w.deleted(t, c)
				}
			})},
		{Row: row("tanstack", "@tanstack/ai", "@tanstack/ai-client", "@tanstack/ai-react"), stack: stack{"tanstack", "0.58.0"}, mode: "chat",
			pauses: smokeOf(tanstackPauses, tanstackIsAnswered, tanstackRan)},
		{Row: row("agno", "agno"), stack: stack{"agno", "3.1.10"}, also: []string{"ag-ui-protocol", "fastapi", "sqlalchemy", "uvicorn"},
			mode: "default", pauses: smokeOf(agnoPauses, agnoIsAnswered, effect(deleteA))},
		{Row: row("google-adk", "ag-ui-adk", "google-adk"), stack: stack{"adk", "0.11.0"}, also: []string{"fastapi", "uvicorn"},
			mode: "outcome", pauses: smokeOf(says("agent", "delete a.txt"), approving, effect(deleteA))},
		{Row: row("mastra", "@ag-ui/mastra", "@mastra/core"), stack: stack{"mastra", "1.1.2"}, mode: "outcome",
			pauses: smokeOf(says("agent", "delete a.txt"), approving, effect(deleteA))},
		{Row: row("crewai", "ag-ui-crewai", "crewai"), stack: stack{"crewai", "1.0.0"}, also: []string{"fastapi", "uvicorn"},
			mode: "outcome", pauses: smokeOf(says("gate", "go"), yesOrNo(gives("approved"), gives("rejected")), effect(deletes))},
	}
}

// filesOf returns a pause function for smokeOf. It makes the agent ask before it deletes a real
// file.
func filesOf(agent string) func(t *testing.T, w world) *client {
	return func(t *testing.T, w world) *client {
		c := w.adapted(t, agent)
		c.gated(t, c.wants("delete a.txt"), 1)
		return c
	}
}

// agnoPauses makes agno ask. agno asks by a tool call without a result, and a tool message answers
// it.
func agnoPauses(t *testing.T, w world) *client {
	c := w.client(t, "agui")
	a := c.run(t, step{say: "delete a.txt"}).answer(t)
	if a.code() != "" || len(a.of("TOOL_CALL_END")) != 1 {
		t.Fatalf("%v\n%s", a.kinds(), terminal(a))
	}
	return c
}

func agnoIsAnswered(t *testing.T, c *client, yes bool) {
	var messages []any
	for _, m := range c.messages {
		messages = append(messages, m)
	}
	all := calls(c.messages)
	answer := map[string]any{"id": fresh("m"), "role": "tool", "toolCallId": all[len(all)-1], "content": text(map[string]any{"accepted": yes})}
	if a := c.run(t, step{patch: map[string]any{"messages": append(messages, answer)}}).answer(t); a.code() != "" {
		t.Errorf("%v: %s", yes, terminal(a))
	}
}

// tanstackPauses makes TanStack's server ask. The chat uses the newest TanStack client.
func tanstackPauses(t *testing.T, w world) *tanstackChat {
	tanstackDriver.Do(func() { tanstackDriver.driver, _, tanstackDriver.err = drive("tanstack", os.Getenv(newestAt)) })
	if tanstackDriver.err != nil {
		t.Fatal(tanstackDriver.err)
	}
	c := newTanStackChat(t, w.h.address+"/agent", map[string]any{"tools": "zod"})
	c.asked(t, "delete a.txt", toolApproval)
	return c
}

func tanstackIsAnswered(t *testing.T, c *tanstackChat, yes bool) {
	click := clickNo
	if yes {
		click = clickYes
	}
	if page := c.clicks(t, click); len(page.Cards) > 0 || page.Threw+page.Error != "" {
		t.Errorf("%v: %+v", yes, page)
	}
}

func tanstackRan(t *testing.T, w world, c *tanstackChat, yes bool) {
	if yes {
		c.ran(t, w.b, deleteA)
	} else {
		c.ran(t, w.b)
	}
}
