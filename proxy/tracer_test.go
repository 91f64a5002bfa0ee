package proxy

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"holdpoint/internal/event"
)

// A spans is a Tracer that counts the spans that have begun, and those that have ended.
type spans struct{ begun, ended atomic.Int32 }

func (s *spans) Begin(http.Header, string, string, string) Span {
	s.begun.Add(1)
	return countedSpan{s}
}

type countedSpan struct{ *spans }

func (countedSpan) TraceID() string                     { return strings.Repeat("a", 32) }
func (countedSpan) Traceparent() string                 { return "" }
func (countedSpan) Resumes(string)                      {}
func (countedSpan) Happened(event.Kind, string, string) {}
func (countedSpan) Exchange(http.Header, string)        {}
func (countedSpan) ExchangeEnded(string)                {}
func (s countedSpan) End(*event.Run, string)            { s.ended.Add(1) }

// TestEachSpanEnds: each run begins and ends one span, whether it is refused or not. A decision at
// the desk is not a run.
func TestEachSpanEnds(t *testing.T) {
	s := &spans{}
	d := newDeskRig(t, nil, func(o *Options) { o.Tracer = s })
	d.decide(d.says("x", saysYes))
	_ = d.decides(d.says("x", saysNo)) // this decision is refused
	d.decide(d.says("y", ""))
	if begun := s.begun.Load(); begun != 1 {
		t.Errorf("%d spans behind one run and its decisions", begun)
	}
	d.carry()
	d.do(input("t", "r2", resumeWith(no("x~gone"))))
	if err := d.h.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if begun, ended := s.begun.Load(), s.ended.Load(); begun != 3 || ended != begun {
		t.Errorf("%d spans begun, %d ended", begun, ended)
	}
}
