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

// A comparison translates a run without answers by the dialect that HOLDPOINT_DIALECT names. It
// also shows the stream to Options.Recognizer. The variable is wrong if the recognizer finds
// another dialect whose questions would reach the client in another form. Then a warning says so
// once. Runs are compared until the named dialect has asked a question that the recognizer would
// ask too.
type comparison struct {
	translate.Run // the translation by the named dialect
	namedDialect  string
	recognizer    translate.Finder
	recognizerRun translate.Run // the recognizer's translation; nil after it has failed

	found finding // set at the end of the run
}

// A finding is the result of a comparison. Either the backend is proven to ask its questions in the
// named dialect, or it asks them in otherDialect. The zero finding says neither.
type finding struct {
	isProven     bool
	otherDialect string
}

// compare returns a comparison of named with the recognizer's translation. If there is nothing to
// compare, it returns named itself.
func (j *judge) compare(request *translate.Request, named translate.Run) translate.Run {
	if j.opts.Recognizer == nil || j.opts.isForeign() || j.memory.dialectProved.Load() || request.Pause.ID != "" {
		return named
	}
	plain := request.Plain()
	other, err := beginOther(j.opts.Recognizer, plain)
	if err != nil {
		return named
	}
	return &comparison{Run: named, namedDialect: j.opts.Dialect.Name(), recognizer: j.opts.Recognizer, recognizerRun: other}
}

func beginOther(recognizer translate.Dialect, request *translate.Request) (other translate.Run, err error) {
	defer dialect.CatchPanic("Begin", &err)
	_, other, err = recognizer.Begin(request)
	return other, err
}

// Event implements translate.Run. The events that the recognizer emits are not sent.
func (c *comparison) Event(ev agui.Event, emit func(agui.Event)) error {
	if c.recognizerRun != nil && c.show(ev) != nil {
		c.recognizerRun = nil
	}
	return c.Run.Event(ev, emit)
}

func (c *comparison) show(ev agui.Event) (err error) {
	defer dialect.CatchPanic("Event", &err)
	return c.recognizerRun.Event(ev, func(agui.Event) {})
}

// Passes implements translate.Passer.
func (c *comparison) Passes(t agui.Type) bool {
	named, ok := c.Run.(translate.Passer)
	if !ok || !named.Passes(t) {
		return false
	}
	other, ok := c.recognizerRun.(translate.Passer)
	return c.recognizerRun == nil || ok && other.Passes(t)
}

// End implements translate.Run.
func (c *comparison) End(e translate.End) (translate.Result, error) {
	res, err := c.Run.End(e)
	if c.recognizerRun == nil || err != nil {
		return res, err
	}
	found, failed := c.endOther(e)
	asks, general := len(res.Asked.Interrupts) > 0, c.recognizer.General
	asksAsNamed := found.DetectedDialect == c.namedDialect ||
		(general(found.DetectedDialect) || general(c.namedDialect)) && asksAlike(&res, &found) ||
		// the backend is another Holdpoint, which has already translated them
		general(c.namedDialect) && asks && hasPublishedIDs(&res)
	switch {
	case failed != nil || found.DetectedDialect == "":
	case asksAsNamed:
		c.found.isProven = asks
	default:
		c.found.otherDialect = found.DetectedDialect
	}
	return res, err
}

// endRun ends the translation of an exchange. If the translation is a comparison, endRun records
// its finding.
func endRun(m *processMemory, log *slog.Logger, of translate.Run, e translate.End) (translate.Result, error) {
	res, err := of.End(e)
	c, compared := of.(*comparison)
	switch {
	case !compared:
	case c.found.isProven:
		m.dialectProved.Store(true)
	case c.found.otherDialect != "":
		m.logOnce("dialect", func() {
			log.Warn(fmt.Sprintf(logOtherDialect, c.found.otherDialect, c.namedDialect),
				"hint", hintAnyDialect)
		})
	}
	return res, err
}

func (c *comparison) endOther(e translate.End) (found translate.Result, err error) {
	defer dialect.CatchPanic("End", &err)
	return c.recognizerRun.End(e)
}

// hasPublishedIDs reports whether the ids of all questions have the form of the ids that Holdpoint
// publishes.
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
