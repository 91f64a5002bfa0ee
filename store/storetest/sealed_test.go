package storetest_test

import (
	"context"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/store/storetest"
)

func TestSealed(t *testing.T) {
	for name, write := range map[string]func(*store.Record){
		"nothing":     func(rec *store.Record) { rec.State, rec.Pause, rec.Results = store.None, nil, nil },
		"the pause":   func(rec *store.Record) { rec.Pause.Dialect = "another" },
		"a question":  func(rec *store.Record) { rec.Pause.Interrupts[0].Native = "another" },
		"bytes of it": func(rec *store.Record) { rec.Pause.Interrupts[0].Object[2] = 'X' },
		"a result":    func(rec *store.Record) { rec.Results[0].EndKind = store.Lost },
		"the results": func(rec *store.Record) { rec.Results[0] = nil },
	} {
		tb := &fakeTB{}
		s := storetest.Sealed(tb, memory.New(memory.Options{}))
		for _, id := range []string{"p", "q"} {
			p := agui.Pause{ID: id, Interrupts: []agui.Interrupt{{ID: id, Native: "n", Object: []byte(`{"reason":"r"}`)}}}
			if _, err := s.Do(t.Context(), "k", store.Ask{Pause: p}); err != nil {
				t.Fatal(err)
			}
			if id == "p" {
				storetest.Do(t.Context(), s, "k", store.Close{PauseID: "p", Result: store.Result{EndKind: store.Withdrawn}})
			}
		}
		rec, err := s.Load(context.Background(), "k", "")
		if err != nil {
			t.Fatal(err)
		}
		write(&rec)
		tb.end()
		if tb.failed != (name != "nothing") {
			t.Errorf("%s was written, failed: %v", name, tb.failed)
		}
	}
}

type fakeTB struct {
	end    func()
	failed bool
}

func (*fakeTB) Helper()                 {}
func (f *fakeTB) Cleanup(end func())    { f.end = end }
func (f *fakeTB) Errorf(string, ...any) { f.failed = true }
