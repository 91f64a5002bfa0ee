package proxy

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/dialect"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A comparison translates an ordinary run by the dialect that HOLDPOINT_DIALECT names, and shows
// the same stream to Options.Recognizer. If that finds another dialect, whose questions would reach
// the client otherwise, the variable is wrong, and the log says so once. Every run is compared
// until the named dialect has asked what the recognizer would ask too.
type comparison struct {
	translate.Run // of the named dialect
	named         string
	recognizer    translate.Finder
	other         translate.Run // the recognizer's, nil when it has failed

	found finding // at the end
}

// A finding is what a comparison came to: the backend asks in the named dialect (proven), or in
// another one. A zero finding is neither.
type finding struct {
	proven  bool
	another string
}

// compare returns the run with a comparison around it, or as it is if there is nothing to compare.
func (j *judge) compare(request *translate.Request, named translate.Run) translate.Run {
	if j.opts.Recognizer == nil || j.opts.isForeign() || j.memory.dialectProved.Load() || request.Pause.ID != "" {
		return named
	}
	plain := request.Plain()
	other, err := beginOther(j.opts.Recognizer, plain)
	if err != nil {
		return named
	}
	return &comparison{Run: named, named: j.opts.Dialect.Name(), recognizer: j.opts.Recognizer, other: other}
}

func beginOther(recognizer translate.Dialect, request *translate.Request) (other translate.Run, err error) {
	defer dialect.Caught("Begin", &err)
	_, other, err = recognizer.Begin(request)
	return other, err
}

// Event implements translate.Run. What the recognizer makes of the event goes nowhere.
func (c *comparison) Event(ev agui.Event, emit func(agui.Event)) error {
	if c.other != nil && c.show(ev) != nil {
		c.other = nil
	}
	return c.Run.Event(ev, emit)
}

func (c *comparison) show(ev agui.Event) (err error) {
	defer dialect.Caught("Event", &err)
	return c.other.Event(ev, func(agui.Event) {})
}

// Passes implements translate.Passer.
func (c *comparison) Passes(t agui.Type) bool {
	named, ok := c.Run.(translate.Passer)
	if !ok || !named.Passes(t) {
		return false
	}
	other, ok := c.other.(translate.Passer)
	return c.other == nil || ok && other.Passes(t)
}

// End implements translate.Run.
func (c *comparison) End(e translate.End) (translate.Result, error) {
	res, err := c.Run.End(e)
	if c.other == nil || err != nil {
		return res, err
	}
	found, failed := c.endOther(e)
	asks, general := len(res.Asked.Interrupts) > 0, c.recognizer.General
	asksAsNamed := found.Spoke == c.named ||
		(general(found.Spoke) || general(c.named)) && asksAlike(&res, &found) ||
		general(c.named) && asks && hasPublishedIDs(&res) // the backend is another Holdpoint, and translates
	switch {
	case failed != nil || found.Spoke == "":
	case asksAsNamed:
		c.found.proven = asks
	default:
		c.found.another = found.Spoke
	}
	return res, err
}

// endRun ends the translation of an exchange, and keeps what it came to if it was a comparison.
func endRun(m *processMemory, log *slog.Logger, of translate.Run, e translate.End) (translate.Result, error) {
	res, err := of.End(e)
	c, compared := of.(*comparison)
	switch {
	case !compared:
	case c.found.proven:
		m.dialectProved.Store(true)
	case c.found.another != "":
		m.once("dialect", func() {
			log.Warn(fmt.Sprintf(logOtherDialect, c.found.another, c.named),
				"hint", "leave HOLDPOINT_DIALECT out: then Holdpoint finds the dialect by itself")
		})
	}
	return res, err
}

func (c *comparison) endOther(e translate.End) (found translate.Result, err error) {
	defer dialect.Caught("End", &err)
	return c.other.End(e)
}

// hasPublishedIDs reports whether all questions have ids of Holdpoint's form.
func hasPublishedIDs(res *translate.Result) bool {
	return !slices.ContainsFunc(res.Asked.Interrupts, func(i agui.Interrupt) bool {
		_, published := kit.NativeID(i.Native)
		return !published
	})
}

// asksAlike reports whether a client is asked the same questions in two dialects.
func asksAlike(a, b *translate.Result) bool {
	return len(a.Asked.Interrupts) > 0 && slices.EqualFunc(a.Asked.Interrupts, b.Asked.Interrupts, func(one, other agui.Interrupt) bool {
		return one.Native == other.Native && bytes.Equal(one.Object, other.Object)
	})
}
