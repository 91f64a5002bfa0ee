package history_test

import (
	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/history"
	"holdpoint/store"
)

const (
	userOne = `{"id":"u1","role":"user","content":"Go."}`
	userTwo = `{"id":"u9","role":"user","content":"And then?"}`
)

// viewOf returns the view of a request of which the record knows nothing.
func viewOf(in *agui.RunInput) *history.View {
	return &history.View{
		Input: in, Record: &store.Record{},
		Kept:     func(string, store.Moment, int) store.Snapshots { return store.Snapshots{} },
		Passed:   func(string, bool) bool { return false },
		LeftOpen: func(history.CallKey) bool { return false },
		WasAsked: func(agui.Call) (bool, bool, error) { return false, false, nil },
	}
}
