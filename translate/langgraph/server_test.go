package langgraph

import "testing"

func TestHintOfServerCalls(t *testing.T) {
	for path, want := range map[string]bool{
		"/threads/t1/runs/stream": true, "/api/threads/t1/runs/wait": true, "/threads/t1/runs": false, "/threads/t1/state": false, "/": false,
		"/threads/runs/stream": false, "/a/threads/": false, "/threads/x/y/runs/z": false,
	} {
		if got := new(Dialect).Hint(path) != ""; got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
