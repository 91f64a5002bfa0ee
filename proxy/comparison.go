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

// A comparison translates a run without answers by the dialect that HOLDPOINT_DIALECT names, and
// also shows the stream to Options.Recognizer. If the recognizer finds another dialect whose
// questions would reach the client in another form, the variable is wrong, and a warning says so
// once. Each run is compared until the named dialect has asked a question that the recognizer would
// ask too.
type comparison struct {
	translate.Run // the translation by the named dialect
	named         string
	recognizer    translate.Finder
	other         translate.Run // the recognizer's translation, nil after it failed

	found finding // set at the end of the run
}

// A finding is the result of a comparison: either the backend asks in the named dialect (proven),
// or it asks in another one. The zero finding says neither.
type finding struct {
	proven  bool
	another string
}

// compare returns named wrapped in a comparison, or named itself if there is nothing to compare.
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

// Event implements translate.Run. The events that the recognizer emits are dropped.
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
		general(c.named) && asks && hasPublishedIDs(&res) // the backend is another Holdpoint, which has translated the questions already
	switch {
	case failed != nil || found.Spoke == "":
	case asksAsNamed:
		c.found.proven = asks
	default:
		c.found.another = found.Spoke
	}
	return res, err
}

// endRun ends the translation of an exchange, and records the finding if the translation is a
// comparison.
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

// hasPublishedIDs reports whether the ids of all questions have the form that Holdpoint gives to
// ids.
func hasPublishedIDs(res *translate.Result) bool {
	return !slices.ContainsFunc(res.Asked.Interrupts, func(i agui.Interrupt) bool {
		_, published := kit.NativeID(i.Native)
		return !published
	})
}

// asksAlike reports whether two translations ask the client the same questions.
func asksAlike(a, b *translate.Result) bool {
	return len(a.Asked.Interrupts) > 0 && slices.EqualFunc(a.Asked.Interrupts, b.Asked.Interrupts, func(one, other agui.Interrupt) bool {
		return one.Native == other.Native && bytes.Equal(one.Object, other.Object)
	})
}
