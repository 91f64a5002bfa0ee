//go:build e2e

package e2e

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A tellers is a pair of clients of LangGraph's own server. The client in the field alone reaches
// the server through Holdpoint only. The client in the field with reaches it through Holdpoint and
// the real TypeScript adapter, which accepts only thread ids that are UUIDs.
type tellers struct {
	w           world
	alone, with *client
}

func eachTellers(t *testing.T, graph string, test func(t *testing.T, p tellers)) {
	t.Helper()
	t.Parallel()
	need(t, "langgraph-server", "1.5.1") // the adapter is in its packages
	s := need(t, "langgraph-server-py", "0.16.7")
	ours, theirs := ofServer(t, s, graph, nil), ownHoldpoint(t, s.base()+"/adapter", nil)
	together(t, map[string]string{"client-" + newest: newest, "client-" + pinned: pinned}, func(t *testing.T, version string) {
		test(t, tellers{
			world{b: &backend{name: "langgraph-server", server: s}, h: ours, version: version},
			newClient(t, shared.through, version, ours.address+"/", uuid(), nil),
			newClient(t, shared.through, version, theirs.address+"/"+graph, uuid(), nil),
		})
	})
}

func uuid() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// run plays s with both clients. It returns two lists of events, as sorted descriptions: what only
// the first client got, and what only the second client got. It does not compare states.
func (p tellers) run(t *testing.T, s step, answers ...answer) (alone, with []string) {
	t.Helper()
	var words [2][]string
	for n, c := range []*client{p.alone, p.with} {
		s := s
		if len(answers) > 0 {
			s.resume = c.each(t, answers...).resume
		}
		a := c.run(t, s).answer(t)
		if a.code() != "" {
			t.Fatalf("%s: %s", []string{"alone", "with the adapter"}[n], terminal(a))
		}
		for _, e := range a.Events {
			if e.kind() == "STATE_SNAPSHOT" || e.kind() == "RAW" || e["name"] == "on_interrupt" {
				continue
			}
			word := e.kind()
			for _, key := range []string{"name", "stepName", "toolCallName", "delta", "content"} {
				if e.str(key) != "" {
					word += " " + e.str(key)
				}
			}
			if e["name"] == "langgraph.custom" {
				word += " " + text(e["value"])
			}
			words[n] = append(words[n], word)
		}
	}
	t.Logf("told alone:\n\t%s\ntold by the adapter:\n\t%s", strings.Join(words[0], "\n\t"), strings.Join(words[1], "\n\t"))
	p.same(t)
	words[1] = firstPieceOnce(words[1])
	return without(words[0], words[1]), without(words[1], words[0])
}

// firstPieceOnce removes the second of two equal pieces at the beginning of the first text. The
// adapter takes pieces of a text from the frames "messages", until it gets a piece in a frame
// "events" (@ag-ui/langgraph 0.0.43, handleSingleEvent). The server sends both kinds of frames in
// no fixed order. So the adapter sends the first piece twice if the "messages" frame with it
// arrives first.
func firstPieceOnce(words []string) []string {
	at := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "TEXT_MESSAGE_CONTENT ") })
	if at < 0 || at+1 == len(words) || words[at] != words[at+1] {
		return words
	}
	return slices.Delete(slices.Clone(words), at, at+1)
}

// state returns the state that the client has.
func (c *client) state(t *testing.T) map[string]any {
	t.Helper()
	var held struct{ State map[string]any }
	c.d.call(t, "get", map[string]any{"client": c.name}, &held)
	return held.State
}

func without(list, other []string) []string {
	other = slices.Clone(other)
	left := slices.DeleteFunc(slices.Clone(list), func(word string) bool {
		at := slices.Index(other, word)
		if at >= 0 {
			other = slices.Delete(other, at, at+1)
		}
		return at >= 0
	})
	slices.Sort(left)
	return left
}

// same checks that both clients have the same messages and the same state. Before it compares, it
// replaces ids with numbers, and leaves out what LangChain adds to a message, because that depends
// on who made the message. It also moves each result to its call: the adapter gives results other
// ids than the server does, and a client moves such results to the end.
func (p tellers) same(t *testing.T) {
	t.Helper()
	var held [2]struct {
		Messages []map[string]any
		State    map[string]any
	}
	for n, c := range []*client{p.alone, p.with} {
		c.d.call(t, "get", map[string]any{"client": c.name}, &held[n])
		list := []map[string]any{}
		for _, m := range held[n].State["messages"].([]any) {
			list = append(list, only(m.(map[string]any), "id", "type", "content", "tool_calls", "tool_call_id", "name", "status"))
		}
		held[n].State["messages"] = numbered(list)
		held[n].Messages = numbered(held[n].Messages)
		for _, key := range []string{"done", "seen"} { // the tests themselves check these
			delete(held[n].State, key)
		}
	}
	if one, two := indented(held[0].Messages), indented(held[1].Messages); one != two {
		t.Errorf("messages differ, without and with the adapter:\n%s", difference(one, two))
	}
	if one, two := indented(held[0].State), indented(held[1].State); one != two {
		t.Errorf("the state differs, without and with the adapter:\n%s", difference(one, two))
	}
}

func only(m map[string]any, keys ...string) map[string]any {
	left := map[string]any{}
	for _, key := range keys {
		if v, has := m[key]; has {
			left[key] = v
		}
	}
	return left
}

// numbered moves each result to its call, and replaces ids with numbers.
func numbered(messages []map[string]any) []map[string]any {
	results := map[any]map[string]any{}
	for _, m := range messages {
		for _, key := range []string{"tool_call_id", "toolCallId"} {
			if m[key] != nil {
				results[m[key]] = m
				delete(m, key)
			}
		}
	}
	var list []map[string]any
	for _, m := range messages {
		if m["role"] == "tool" || m["type"] == "tool" {
			continue
		}
		list = append(list, m)
		for _, key := range []string{"toolCalls", "tool_calls"} {
			calls, _ := m[key].([]any)
			for _, c := range calls {
				c := c.(map[string]any)
				if result := results[c["id"]]; result != nil {
					list = append(list, result)
				}
				delete(c, "id")
			}
		}
	}
	if len(list) < len(messages) {
		list = append(list, map[string]any{"results without their calls": len(messages) - len(list)})
	}
	for n, m := range list {
		m["id"] = n
	}
	return list
}

// TestLangGraphServerBesideTheAdapter plays one conversation twice: through Holdpoint only, and
// through Holdpoint and the adapter. After each run, the messages and the state must be equal. The
// streams differ only as listed here and in docs/langgraph-server.md.
func TestLangGraphServerBesideTheAdapter(t *testing.T) {
	page := map[string]any{
		"tools":          []any{map[string]any{"name": "show", "description": "Shows it", "parameters": map[string]any{"type": "object"}}},
		"context":        []any{map[string]any{"description": "where", "value": "here"}},
		"forwardedProps": map[string]any{"config": map[string]any{"configurable": map[string]any{"colour": "blue"}}},
	}
	whole := []string{"TEXT_MESSAGE_CONTENT A whole message.", "TEXT_MESSAGE_END", "TEXT_MESSAGE_START"}
	byHand := []string{`CUSTOM langgraph.custom {"progress":1}`, "CUSTOM manually_emit_message", "CUSTOM manually_emit_tool_call"}
	eachTellers(t, "tells", func(t *testing.T, p tellers) {
		for _, one := range []struct {
			s           step
			answers     []answer
			alone, with []string
		}{
			{step{say: "go and think", patch: page}, nil, append(slices.Clone(byHand), whole...), nil},
			{step{}, []answer{gives(map[string]any{"fine": true})}, []string{`TEXT_MESSAGE_CONTENT You said {"fine": true}`, "TEXT_MESSAGE_END", "TEXT_MESSAGE_START"}, nil},
			{step{say: "go", patch: page}, nil, append(slices.Clone(byHand), whole...), nil},
			{step{}, []answer{gives("no")}, []string{`TEXT_MESSAGE_CONTENT You said "no"`, "TEXT_MESSAGE_END", "TEXT_MESSAGE_START"}, nil},
		} {
			alone, with := p.run(t, one.s, one.answers...)
			if !slices.Equal(alone, one.alone) || !slices.Equal(with, one.with) {
				t.Errorf("%q: told alone: %q, told by the adapter alone: %q", one.s.say, alone, with)
			}
		}
		const seen = `{"colour":%s,"context":[{"description":"where","value":"here"}],"tools":1}`
		for c, want := range map[*client]string{p.alone: fmt.Sprintf(seen, `"blue"`), p.with: fmt.Sprintf(seen, "null")} {
			if got := text(c.state(t)["seen"]); got != want {
				t.Errorf("of the page the graph saw %s, want %s", got, want)
			}
		}
	})
}

// TestLangGraphServerApprovalsBesideTheAdapter: with and without the adapter, the same approvals
// must run the same tools and leave the same state.
func TestLangGraphServerApprovalsBesideTheAdapter(t *testing.T) {
	edited := gives(map[string]any{"approved": true, "editedArgs": map[string]any{"path": "c.txt"}})
	eachTellers(t, "agent", func(t *testing.T, p tellers) {
		var want []string
		for _, one := range []struct {
			order   string
			answers []answer
			want    []string
		}{
			{"delete a.txt, delete b.txt", []answer{yesToServer, noToServer}, []string{deleteA}},
			{"delete b.txt", []answer{edited}, []string{deleteC}},
			{"delete b.txt", []answer{cancelled}, nil},
			{"plain and last", nil, nil},
		} {
			p.run(t, step{say: one.order})
			if one.answers != nil {
				p.run(t, step{}, one.answers...)
			}
			want = append(want, one.want...)
			p.w.ran(t, p.alone, want...)
			p.w.ran(t, p.with, want...)
		}
		// The adapter sends the client's state back to the server. So if a graph appends to a value
		// of the state, that value grows with the adapter.
		done, more := text(p.alone.state(t)["done"]), text(p.with.state(t)["done"])
		if done != `["deleted a.txt","not deleted","deleted c.txt","not deleted: Cancelled by user"]` || len(more) <= len(done) {
			t.Errorf("the state has %s, with the adapter %s", done, more)
		}
	})
}

// TestLangGraphServerEmitsACallByHand: a graph written for CopilotKit can emit a call whose
// arguments are an object. The client must get the arguments as text.
func TestLangGraphServerEmitsACallByHand(t *testing.T) {
	t.Parallel()
	s := need(t, "langgraph-server-py", "0.16.7")
	c := newClient(t, shared.through, newest, ofServer(t, s, "tells", nil).address+"/", fresh("thread"), nil)
	a := c.run(t, step{say: "go by object"}).answer(t)
	if !slices.ContainsFunc(a.of("TOOL_CALL_ARGS"), func(e event) bool { return e.str("delta") == `{"a":1}` }) {
		t.Errorf("%v", a.of("TOOL_CALL_ARGS"))
	}
}
