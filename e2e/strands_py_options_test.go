//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// ownStrands runs test for each version of Strands that has the place called name. Holdpoint gets
// the settings in env.
func ownStrands(t *testing.T, name string, env map[string]string, test func(t *testing.T, w world)) {
	t.Helper()
	env["HOLDPOINT_DIALECT"] = "strands"
	for _, s := range shared.strandsPy {
		if s.has(name) {
			t.Run(s.version+"/"+name, func(t *testing.T) {
				t.Parallel()
				h := ownHoldpoint(t, s.base(), env)
				for _, version := range []string{newest, pinned} {
					test(t, world{b: &backend{name: s.version + " " + name, mode: name, server: s}, h: h, version: version})
				}
			})
		}
	}
}

// strandsFile writes a file for HOLDPOINT_STRANDS_FILE and returns its path.
func strandsFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "strands.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestStrandsPythonAnswersByName: HOLDPOINT_STRANDS_FILE sets the form of an answer by the name of
// the interrupt. The hook reports the answer that it got, and this answer must have exactly the
// configured form.
func TestStrandsPythonAnswersByName(t *testing.T) {
	t.Parallel()
	t.Run("words", func(t *testing.T) {
		env := map[string]string{"HOLDPOINT_STRANDS_FILE": strandsFile(t, `{"interrupts": [
			{"name": "myapp-*", "answers": "docs-string", "yes": "Y", "no": "nein", "cancel": "stop"},
			{"name": "ask_user", "answers": "docs-string", "cancel": "nobody"}]}`)}
		ownStrands(t, "agentcore/docs", env, func(t *testing.T, w world) {
			c := w.clerk(t)
			c.asks(t, c.wants("pair a.txt b.txt"), 2)
			c.finish(t, c.each(t, reject, cancelled))
			for _, word := range []string{"denied with nein", "denied with stop"} {
				if !contains(text(c.messages), word) {
					t.Errorf("the hook did not get its word, %q: %s", word, indented(c.messages))
				}
			}
			c.asks(t, c.wants("delete c.txt"), 1)
			c.finish(t, c.each(t, accept))
			c.asks(t, c.wants("ask"), 1)
			c.finish(t, c.each(t, cancelled))
			if counts := w.b.ledger(t, c.thread).Counts; counts["ask_user"] != 1 || !contains(text(c.messages), "nobody") {
				t.Errorf("the tool that asked got something else: %s", indented(c.messages))
			}
			w.gone(t, c, "c.txt")
		})
	})
	t.Run("true and false", func(t *testing.T) {
		env := map[string]string{"HOLDPOINT_STRANDS_FILE": strandsFile(t, `{"interrupts": [{"name": "strands:human-in-the-loop", "answers": "bool"}]}`)}
		ownStrands(t, "agentcore/hitl", env, func(t *testing.T, w world) {
			c := w.clerk(t)
			c.asks(t, c.wants("pair a.txt b.txt"), 2)
			c.finish(t, c.each(t, accept, reject))
			w.done(t, c, "a.txt")
		})
	})
}

// TestStrandsPythonReasoning: the client must get the model's reasoning only if this is configured.
func TestStrandsPythonReasoning(t *testing.T) {
	t.Parallel()
	for _, shown := range []string{"false", "true"} {
		t.Run(shown, func(t *testing.T) {
			ownStrands(t, "agentcore/docs", map[string]string{"HOLDPOINT_STRANDS_FILE": strandsFile(t, `{"reasoning": `+shown+`}`)}, func(t *testing.T, w world) {
				c := w.clerk(t)
				a := c.asks(t, c.wants("think a.txt"), 1)
				if got := contains(a.Text, "Let me "); got != (shown == "true") {
					t.Errorf("reasoning shown: %v", got)
				}
				c.finish(t, c.each(t, accept))
				w.done(t, c, "a.txt")
			})
		})
	}
}

// TestStrandsPythonClientLeavesBeforeTheQuestion: the client leaves before its run asks. Holdpoint
// must keep the question, and the next client must get it.
func TestStrandsPythonClientLeavesBeforeTheQuestion(t *testing.T) {
	t.Parallel()
	eachStrandsPython(t, []string{"agentcore/docs", "kept/docs", "fastapi/sse"}, func(t *testing.T, w world) {
		c := w.clerk(t)
		s := c.wants("delete a.txt")
		s.abortOn = "RUN_STARTED"
		c.run(t, s)
		w.logs(t, c, `"run ended"`, `"interrupt"`)
		next := c.another(t)
		if a := next.run(t, step{empty: true}).answer(t); len(a.outcome()) != 1 || a.code() != "" {
			t.Fatalf("after a client left: %s", terminal(a))
		}
		w.called(t, next, 1)
		w.gone(t, next)
		next.finish(t, next.each(t, accept))
		w.gone(t, next, "a.txt")
		next.goesOn(t, nil)
		w.gone(t, next, "a.txt")
	})
}

// TestStrandsPythonRunWithoutItsClient: a run continues after its client has left. Until this run
// ends, Holdpoint must refuse another run of the thread, because the agent would execute both at
// the same time.
func TestStrandsPythonRunWithoutItsClient(t *testing.T) {
	t.Parallel()
	eachStrandsPython(t, []string{"agentcore/docs", "kept/docs", "fastapi/ndjson"}, func(t *testing.T, w world) {
		c, gate := w.clerk(t), fresh("gate")
		s := c.wants("linger " + gate)
		s.abortOn = "TOOL_CALL_END"
		c.run(t, s)
		w.b.reached(t, gate)
		next := c.another(t)
		w.logs(t, c, "client left")
		next.another(t).refused(t, step{say: "plain and impatient"}, "THREAD_BUSY", false)
		w.called(t, next, 1)
		w.b.open(t, gate)
		w.logs(t, c, `"run ended"`, `"finished"`)
		next.goesOn(t, nil)
		w.called(t, next, 2)
		w.gone(t, next)
	})
}

// logs waits until Holdpoint has logged a line with all these words and the thread id.
func (w world) logs(t *testing.T, c *client, words ...string) {
	t.Helper()
	if !eventually(func() bool {
		_, ok := w.h.log.find(func(line string) bool { return contains(line, append(words, c.thread)...) })
		return ok
	}) {
		t.Fatalf("Holdpoint did not say %q", words)
	}
}

// TestStrandsPythonClientLeavesInMidResume: the client leaves while an approved tool runs. The run
// must continue. If the same answer is sent again, the client must get the end of that run.
func TestStrandsPythonClientLeavesInMidResume(t *testing.T) {
	t.Parallel()
	eachStrandsPython(t, []string{"agentcore/docs", "kept/docs", "fastapi/ndjson"}, func(t *testing.T, w world) {
		c, gate := w.clerk(t), fresh("gate")
		c.asks(t, c.wants("slow "+gate+" a.txt"), 1)
		s, next := c.each(t, accept), c.another(t)
		left := s
		left.abortOn = "RUN_STARTED"
		c.run(t, left)
		w.b.reached(t, gate)
		w.b.open(t, gate)
		next.finish(t, s)
		w.called(t, next, 2)
		w.done(t, next, "a.txt")
	})
}
