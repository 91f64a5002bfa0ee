package proxy

import (
	"context"
	"testing"

	"holdpoint/store"
)

// An openingStore is a store that calls the function open for each step Ask. The function decides
// whether the step is done, and which error the step returns.
type openingStore struct {
	store.Store
	open func(done func() error) error
}

func (s *openingStore) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	if _, asks := step.(store.Ask); !asks {
		return s.Store.Do(ctx, key, step)
	}
	var done store.StepResult
	err := s.open(func() (err error) { done, err = s.Store.Do(ctx, key, step); return err })
	return done, err
}

// TestQuestionWithoutAReplyOfTheStore: the store does not reply when Holdpoint saves a question, so
// the client does not get the question. But the store may have saved it, and another client may
// have got it. So the question stays open. When the client sends the same request again, it gets
// the question, and the backend must not get the request a second time.
func TestQuestionWithoutAReplyOfTheStore(t *testing.T) {
	s := &openingStore{open: func(done func() error) error { done(); return errDown }}
	g := newRig(t, asksOnce, func(o *Options) { s.Store = o.Store; o.Store = s })
	wantTypes(t, g.do(input("t", "r1", "")), "RUN_STARTED RUN_ERROR:STORE_UNAVAILABLE")
	wantTypes(t, g.do(input("t", "r2", "")), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
	if n := g.called(); n != 1 {
		t.Errorf("the backend was asked %d times", n)
	}
	wantTypes(t, g.do(input("t", "r3", resumeWith(yes("n1~id1")))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
	if n := g.called(); n != 2 {
		t.Errorf("the backend was asked %d times", n)
	}
}
