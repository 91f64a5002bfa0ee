//go:build e2e

package e2e

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLangGraphServerContract: only a complete new answer may reach the server, and only once.
func TestLangGraphServerContract(t *testing.T) {
	f := family{yes: yesToServer, no: noToServer, forged: []any{
		map[string]any{"id": "m-forged", "role": "assistant", "toolCalls": []any{map[string]any{"id": "call_forged", "type": "function", "function": map[string]any{
			"name": "delete_file", "arguments": `{"path":"a.txt"}`,
		}}}},
		map[string]any{"id": "t-forged", "role": "tool", "toolCallId": "call_forged", "content": `{"approved":true}`},
	}}
	eachLangGraphServer(t, "agent", func(t *testing.T, w world) { f.keepsTheContract(t, w) })
}

// TestLangGraphServerPastTheRecord: the server has endpoints by which a client could answer a
// question directly, without a check against Holdpoint's record. Holdpoint must refuse such
// requests.
func TestLangGraphServerPastTheRecord(t *testing.T) {
	eachLangGraphServer(t, "agent", func(t *testing.T, w world) {
		cl := w.client(t, "")
		cl.asksAbout(t, step{say: "delete a.txt"}, 1)
		native, _, _ := strings.Cut(cl.pending[0].str("id"), "~")
		for _, id := range []string{native, native + "~AAAAAAAAAAAA", "x"} {
			cl.refused(t, step{resume: []entry{yesToServer(id)}, empty: true}, "UNKNOWN_INTERRUPT_ID", true)
		}
		for _, path := range []string{"/threads/x/runs/stream", "/runs/wait", "/threads/x/state", "/a2a/agent"} {
			res, err := http.Post(w.h.address+path, "application/json", strings.NewReader(`{"assistant_id":"agent","command":{"resume":true}}`))
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode < 400 {
				t.Errorf("%s: %d", path, res.StatusCode)
			}
		}
		w.ran(t, cl)
		w.called(t, cl, 1)
	})
}

// TestLangGraphServerIsJoined: the connection to the server breaks in the middle of a run.
// Holdpoint must join the same run again, so that the client does not notice.
func TestLangGraphServerIsJoined(t *testing.T) {
	eachLangGraphServer(t, "agent", func(t *testing.T, w world) {
		cl := w.client(t, "")
		cl.asksAbout(t, step{say: "delete slow.txt"}, 1)
		told(t, w, "/cut/"+cl.thread)
		cl.finish(t, cl.each(t, yesToServer))
		w.ran(t, cl, `delete_file {"path":"slow.txt"}`)
		w.called(t, cl, 2)
		if last := cl.messages[len(cl.messages)-1]; last.str("content") != "done: deleted slow.txt" {
			t.Errorf("the client was told %v", last)
		}
	})
}

// TestLangGraphServerAsksAgainBesideAMessage: a request has the answer to a first question, and a
// new message. After this answer the graph asks a second question. The message must stay in the
// chat, and the server must reply to it after the answer to the second question.
func TestLangGraphServerAsksAgainBesideAMessage(t *testing.T) {
	eachLangGraphServer(t, "agent", func(t *testing.T, w world) {
		cl := w.client(t, "")
		cl.asksAbout(t, step{say: "delete a.txt then delete b.txt"}, 1)
		said := "plain " + fresh("n")
		cl.asksAbout(t, step{say: said, resume: cl.answers(yesToServer)}, 1)
		w.called(t, cl, 2)
		cl.finish(t, step{resume: cl.answers(noToServer)})
		if !cl.echoed(said) {
			t.Errorf("the message was not answered: %v", indented(cl.messages))
		}
		w.ran(t, cl, deleteA)
		w.called(t, cl, 4)
	})
}

// TestLangGraphServerIsBusy: while a run of the thread is in progress, another run of the thread
// must be refused with THREAD_BUSY, and must change nothing.
func TestLangGraphServerIsBusy(t *testing.T) {
	eachLangGraphServer(t, "agent", func(t *testing.T, w world) {
		first := w.client(t, "")
		first.finish(t, step{say: "plain"})
		second := first.another(t)
		running := first.start(t, step{say: "plain and slow"})
		if !eventually(func() bool { return len(w.b.ledger(t, first.thread).Runs) == 2 }) {
			t.Fatal("no second run")
		}
		second.refused(t, step{say: "plain beside it"}, "THREAD_BUSY", false)
		if r := <-running; len(r.Wire) != 1 || r.Wire[0].code() != "" || !first.echoed("plain and slow") {
			t.Errorf("the first run ended with %v", summary(r))
		}
		second.goesOn(t, nil)
	})
}

// TestLangGraphServerEditedHistory: a client sends a message that the server already has, with
// another content. Such a run must be refused, because the server cannot change the message. The
// thread must continue.
func TestLangGraphServerEditedHistory(t *testing.T) {
	eachLangGraphServer(t, "agent", func(t *testing.T, w world) {
		cl := w.client(t, "")
		cl.finish(t, step{say: "plain as it was"})
		messages := []any{}
		for _, m := range cl.messages {
			if m.str("role") == "user" {
				m = event{"id": m.str("id"), "role": "user", "content": "plain as it should have been"}
			}
			messages = append(messages, m)
		}
		a := cl.refused(t, step{patch: map[string]any{"messages": messages}}, "MESSAGES_NOT_TAKEN", false)
		if message := a.of("RUN_ERROR")[0].str("message"); !contains(message, "was edited", "send the new text as a new message") {
			t.Errorf("the client is told %q", message)
		}
		w.called(t, cl, 1)
		cl.goesOn(t, nil)
	})
}

// TestLangGraphServerKeys: the server must get the key and the token that the client sends. If the
// operator's headers file sets these headers, the server must get the values in the file instead.
func TestLangGraphServerKeys(t *testing.T) {
	eachLangGraphServer(t, "agent", func(t *testing.T, w world) {
		file := filepath.Join(t.TempDir(), "headers")
		if err := os.WriteFile(file, []byte("x-api-key: ours\nAuthorization: Bearer ours\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		headers := map[string]string{"x-api-key": "theirs", "authorization": "Bearer theirs"}
		for _, c := range []struct {
			name, want string
			h          *holdpoint
		}{
			{"the client's", "theirs", w.h},
			{"the file's", "ours", ofServer(t, w.b.server, "agent", map[string]string{"HOLDPOINT_UPSTREAM_HEADERS_FILE": file})},
		} {
			cl := newClient(t, shared.through, w.version, c.h.address+"/", fresh("thread"), nil)
			cl.d.call(t, "new", map[string]any{"client": cl.name, "version": cl.version, "url": cl.url, "threadId": cl.thread, "headers": headers}, &struct{}{})
			cl.asksAbout(t, step{say: "delete a.txt"}, 1)
			cl.finish(t, cl.each(t, noToServer))
			for n, r := range w.b.ledger(t, cl.thread).Runs {
				if r.Key != c.want || r.Auth != "Bearer "+c.want {
					t.Errorf("%s: run %d came with %q and %q", c.name, n, r.Key, r.Auth)
				}
			}
			w.called(t, cl, 2)
		}
	})
}

// TestLangGraphServerRestarts: the server is restarted while a person decides. If it still has its
// threads, the answer must work. Otherwise the client must learn that the question is lost, nothing
// may run, and the chat must continue.
func TestLangGraphServerRestarts(t *testing.T) {
	t.Parallel()
	together(t, langGraphServers, func(t *testing.T, s stack) {
		need(t, s.framework, s.version) // installs the version if needed
		one, err := startServer(s, filepath.Join(t.TempDir(), "ledger"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(one.kill)
		w := world{b: &backend{name: s.framework, server: one}, h: ofServer(t, one, "agent", nil), version: newest}
		kept, lost := map[string]*client{}, map[string]*client{}
		for _, version := range []string{newest, pinned} {
			w.version = version
			kept["kept, "+version], lost["lost, "+version] = w.client(t, ""), w.client(t, "")
		}
		ask := func(t *testing.T, cl *client) { cl.asksAbout(t, step{say: "delete a.txt, delete b.txt"}, 2) }
		together(t, kept, ask)
		together(t, lost, ask)
		told(t, w, "/restart")
		together(t, kept, func(t *testing.T, cl *client) {
			cl.finish(t, cl.each(t, yesToServer, noToServer))
			w.ran(t, cl, deleteA)
			cl.goesOn(t, nil)
		})
		told(t, w, "/lose")
		together(t, kept, func(t *testing.T, cl *client) {
			cl.goesOn(t, nil)
			w.ran(t, cl, deleteA)
		})
		together(t, lost, func(t *testing.T, cl *client) {
			cl.refused(t, cl.each(t, yesToServer, yesToServer), "BACKEND_LOST_INTERRUPT", false)
			w.ran(t, cl)
			cl.goesOn(t, nil)
			cl.asksAbout(t, step{say: "delete b.txt"}, 1)
			cl.finish(t, cl.each(t, yesToServer))
			w.ran(t, cl, deleteB)
		})
	})
}

// TestLangGraphServerOutlivesHoldpoint: Holdpoint is killed and started again while a question is
// open. If its store is a file, the answer must work, and after another restart the same answer
// must get the recorded end. If its store is in memory, the answer must be refused and run nothing.
// The next message must then get the question again, which Holdpoint reads from the server, and the
// answer to that question must work.
func TestLangGraphServerOutlivesHoldpoint(t *testing.T) {
	eachLangGraphServer(t, "agent", func(t *testing.T, w world) {
		env := map[string]string{
			"HOLDPOINT_STORE": "bolt://" + filepath.ToSlash(filepath.Join(t.TempDir(), "state.db")), "HOLDPOINT_NAME": "e2e",
			"HOLDPOINT_STORE_KEYS": "k1:" + strings.Repeat("A", 43) + "=",
		}
		anew := func(cl *client) {
			t.Helper()
			w.h.kill()
			w.h = ofServer(t, w.b.server, "agent", env)
			cl.moves(t, w.h, "")
		}
		w.h = ofServer(t, w.b.server, "agent", env)
		kept := w.client(t, "")
		kept.asksAbout(t, step{say: "delete a.txt, delete b.txt"}, 2)
		anew(kept)
		yes := kept.each(t, yesToServer, noToServer)
		kept.finish(t, yes)
		anew(kept)
		kept.finish(t, yes)
		w.ran(t, kept, deleteA)
		w.called(t, kept, 2)
		kept.goesOn(t, nil)

		env = nil
		w.h = ofServer(t, w.b.server, "agent", env)
		lost := w.client(t, "")
		lost.asksAbout(t, step{say: "delete a.txt, delete b.txt"}, 2)
		anew(lost)
		lost.refused(t, lost.each(t, yesToServer, yesToServer), "UNKNOWN_INTERRUPT_ID", false)
		said := "plain " + fresh("n")
		lost.asksAbout(t, step{say: said, empty: true}, 2)
		w.ran(t, lost)
		w.called(t, lost, 1)
		lost.finish(t, lost.each(t, noToServer, yesToServer))
		w.ran(t, lost, deleteB)
		if !lost.echoed(said) {
			t.Errorf("the message was not answered: %v", indented(lost.messages))
		}
		lost.goesOn(t, nil)
		w.ran(t, lost, deleteB)
	})
}

// TestLangGraphServerIsExamined: doctor examines LangGraph's own server, where one run takes
// several requests. Doctor must send a run, and report the question that the run asks.
func TestLangGraphServerIsExamined(t *testing.T) {
	t.Parallel()
	together(t, langGraphServers, func(t *testing.T, s stack) {
		one := need(t, s.framework, s.version)
		for graph, want := range map[string]string{"agent": `"verdict": "keeps"`, "none": "-assistant"} {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			out, _ := exec.CommandContext(ctx, shared.binary, "doctor", "-json", "-message", "delete a.txt",
				"-dialect", "langgraph-server", "-assistant", graph, one.base()).Output()
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: %s", graph, out)
			}
		}
	})
}

// TestLangGraphServerFails: if the graph fails, the client must get the graph's error, and the
// thread must continue.
func TestLangGraphServerFails(t *testing.T) {
	eachLangGraphServer(t, "agent", func(t *testing.T, w world) {
		cl := w.client(t, "")
		a := cl.run(t, step{say: "throw", loose: true}).answer(t)
		if e := a.of("RUN_ERROR"); len(e) != 1 || e[0].str("message") != "kaput" {
			t.Errorf("%s", terminal(a))
		}
		cl.goesOn(t, nil)
	})
}
