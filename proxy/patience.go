package proxy

import (
	"context"
	"sync"
	"time"
)

// A patience is a context that ends after a while, as context.WithTimeout's. Its timer is made for who waits on Done: a store
// in memory never does, and a new timer may wake another thread.
type patience struct {
	context.Context // what the values come from; it does not end
	until           time.Time

	mu     sync.Mutex
	armed  context.Context // nil until somebody waits
	cancel context.CancelFunc
	over   bool // end was called
}

// withPatience gives a context with the values of parent, and what ends it.
func withPatience(parent context.Context, limit time.Duration) (*patience, context.CancelFunc) {
	p := &patience{Context: context.WithoutCancel(parent), until: time.Now().Add(limit)}
	return p, p.end
}

// Deadline implements context.Context.
func (p *patience) Deadline() (time.Time, bool) { return p.until, true }

// Done implements context.Context.
func (p *patience) Done() <-chan struct{} { return p.arm().Done() }

// Err implements context.Context.
func (p *patience) Err() error {
	p.mu.Lock()
	waited := p.armed != nil || p.over || !time.Now().Before(p.until)
	p.mu.Unlock()
	if !waited {
		return nil
	}
	return p.arm().Err()
}

// Value implements context.Context. Contexts that are made of this one find by it the context that ends them.
func (p *patience) Value(key any) any {
	p.mu.Lock()
	armed := p.armed
	p.mu.Unlock()
	if armed != nil {
		return armed.Value(key)
	}
	return p.Context.Value(key)
}

// arm makes the context that ends by itself.
func (p *patience) arm() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.armed == nil {
		p.armed, p.cancel = context.WithDeadline(p.Context, p.until)
		if p.over {
			p.cancel()
		}
	}
	return p.armed
}

func (p *patience) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.cancel != nil {
		p.cancel()
	}
}
