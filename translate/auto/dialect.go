// Package auto detects from the stream which dialect a backend speaks. Only the address of the
// upstream must be configured.
//
// A run asks the dialects in their order about each event that could matter. The first dialect that
// claims the stream translates the rest of it. Until then every event passes unchanged, except the
// events of a tool call that some dialect can judge only when the call is complete. A stream that
// no dialect claims passes unchanged. A resume needs no detection, because the record has the
// dialect that asked.
package auto

import (
	"hash/maphash"
	"iter"
	"slices"
	"sync"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Name is the name of the dialect.
const Name = "auto"

// Options are the options of the dialect. The dialect calls Warn once for each kind of question
// that Holdpoint cannot recognize. Warn may be nil.
type Options struct {
	Warn func(msg string, args ...any)
}

var (
	_ translate.Finder         = (*Dialect)(nil)
	_ translate.Freer          = (*Dialect)(nil)
	_ translate.Hinter         = (*Dialect)(nil)
	_ translate.Locker         = (*Dialect)(nil)
	_ translate.Reviver        = (*Dialect)(nil)
	_ translate.HistoryReader  = (*Dialect)(nil)
	_ translate.Interpreter    = (*Dialect)(nil)
	_ translate.Describer      = (*Dialect)(nil)
	_ translate.DecisionReader = (*Dialect)(nil)
	_ translate.Continuer      = (*Dialect)(nil)
	_ translate.Stateless      = (*Dialect)(nil)
)

// A Dialect implements translate.Dialect.
type Dialect struct {
	// OnClaim, if not nil, is called for each stream that a dialect claims, before the claiming event
	// is translated. It must be set before the Dialect is used.
	OnClaim func(dialect string)

	list    []translate.Dialect
	warn    func(msg string, args ...any)
	strands sync.Once
	seed    maphash.Seed
}

// New returns a Dialect that asks the dialects of list, in that order.
func New(list []translate.Dialect, o Options) *Dialect {
	d := &Dialect{list: list, warn: o.Warn, seed: maphash.MakeSeed()}
	if d.warn == nil {
		d.warn = func(string, ...any) {}
	}
	return d
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Finds implements translate.Finder.
func (d *Dialect) Finds(dialect string) bool { return d.byName(dialect) != nil }

// Speaks implements translate.Finder.
func (*Dialect) Speaks(found string) string { return found }

// General implements translate.Finder.
func (d *Dialect) General(dialect string) bool {
	one, ok := d.byName(dialect).(translate.General)
	return ok && one.General()
}

// Frees implements translate.Freer.
func (d *Dialect) Frees(p *agui.Pause) bool {
	freer, ok := d.byName(p.Dialect).(translate.Freer)
	return ok && freer.Frees(p)
}

// Locks implements translate.Locker.
func (d *Dialect) Locks(p *agui.Pause) bool {
	locker, ok := d.byName(p.Dialect).(translate.Locker)
	return ok && locker.Locks(p)
}

// Revive implements translate.Reviver. If the dialect is unknown, it returns an empty pause,
// because it is unknown how the backend reads a denial.
func (d *Dialect) Revive(ids []string, detectedDialect string) agui.Pause {
	if reviver, ok := d.byName(detectedDialect).(translate.Reviver); ok {
		return reviver.Revive(ids, detectedDialect)
	}
	return agui.Pause{}
}

// Interpret implements translate.Interpreter.
func (d *Dialect) Interpret(p agui.Pause, answers []agui.Answer, read []agui.Reading) {
	if one, ok := d.byName(p.Dialect).(translate.Interpreter); ok {
		one.Interpret(p, answers, read)
	}
}

// Describe implements translate.Describer.
func (d *Dialect) Describe(p agui.Pause, i *agui.Interrupt) (translate.Subject, bool) {
	if one, ok := d.byName(p.Dialect).(translate.Describer); ok {
		return one.Describe(p, i)
	}
	return translate.Subject{}, false
}

// Hint implements translate.Hinter.
func (d *Dialect) Hint(path string) string {
	for _, one := range d.list {
		if hinter, ok := one.(translate.Hinter); ok {
			if hint := hinter.Hint(path); hint != "" {
				return hint
			}
		}
	}
	return ""
}

func (d *Dialect) byName(name string) translate.Dialect {
	for _, one := range d.list {
		if one.Name() == name {
			return one
		}
	}
	return nil
}

// Answers implements translate.Dialect. The dialect that made the pause, or that was last seen on
// the route, reads the answers. If both are unknown, the first dialect that finds answers reads
// them.
func (d *Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	if one := d.byName(p.Dialect); one != nil {
		return one.Answers(in, p)
	}
	for _, one := range d.list {
		if list, err := one.Answers(in, p); list != nil || err != nil {
			return list, err
		}
	}
	return nil, nil
}

// Takes implements translate.Taker.
func (d *Dialect) Takes(object []byte, detectedDialect string) string {
	for _, one := range d.list {
		taker, ok := one.(translate.Taker)
		if !ok || detectedDialect != "" && one.Name() != detectedDialect {
			continue
		}
		if why := taker.Takes(object, detectedDialect); why != "" {
			return why
		}
	}
	return ""
}

// Replies implements translate.HistoryReader. It asks every dialect, because a backend's dialect is
// unknown before its first pause.
func (d *Dialect) Replies(in agui.RunInput, detectedDialect string) iter.Seq[translate.Reply] {
	if !slices.ContainsFunc(in.Messages, translate.MayReply) {
		return func(func(translate.Reply) bool) {}
	}
	return d.replies(in, detectedDialect)
}

// replies is a separate function, because its closure moves the parameter in to the heap. Replies
// returns before that if no message can be a reply.
func (d *Dialect) replies(in agui.RunInput, detectedDialect string) iter.Seq[translate.Reply] {
	return func(yield func(translate.Reply) bool) {
		for _, one := range d.list {
			if reader, ok := one.(translate.HistoryReader); ok {
				for reply := range reader.Replies(in, detectedDialect) {
					if !yield(reply) {
						return
					}
				}
			}
		}
	}
}

// AnswerIn implements translate.HistoryReader. It asks the dialect that read the reply.
func (d *Dialect) AnswerIn(m agui.Message, reply translate.Reply, i agui.Interrupt) (agui.Answer, bool) {
	reader, ok := d.byName(reply.Dialect).(translate.HistoryReader)
	if !ok {
		return agui.Answer{}, false
	}
	return reader.AnswerIn(m, reply, i)
}

// ReadsDecisions implements translate.DecisionReader.
func (d *Dialect) ReadsDecisions(detectedDialect string) bool {
	return slices.ContainsFunc(d.list, func(one translate.Dialect) bool {
		reader, ok := one.(translate.DecisionReader)
		return ok && (detectedDialect == "" || detectedDialect == one.Name()) && reader.ReadsDecisions(detectedDialect)
	})
}

// Decides implements translate.DecisionReader. If detectedDialect is unknown, it asks every
// dialect.
func (d *Dialect) Decides(m agui.Message, isLast bool, detectedDialect string) bool {
	return slices.ContainsFunc(d.list, func(one translate.Dialect) bool {
		reader, ok := one.(translate.DecisionReader)
		return ok && (detectedDialect == "" || detectedDialect == one.Name()) && reader.Decides(m, isLast, detectedDialect)
	})
}

// Harmless implements translate.DecisionReader. It applies each dialect that would read the message
// as a decision.
func (d *Dialect) Harmless(m agui.Message) agui.Message {
	for _, one := range d.list {
		if reader, ok := one.(translate.DecisionReader); ok && reader.Decides(m, false, "") {
			m = reader.Harmless(m)
		}
	}
	return m
}

// owns reports whether backends of the named dialect ask by calling the tool.
func (d *Dialect) owns(dialect, tool string) bool {
	owner, ok := d.byName(dialect).(translate.ToolOwner)
	return ok && owner.Owns(tool)
}

// Continues implements translate.Continuer. If detectedDialect is unknown, it asks every dialect.
func (d *Dialect) Continues(detectedDialect, backend string) bool {
	return slices.ContainsFunc(d.list, func(one translate.Dialect) bool {
		continuer, ok := one.(translate.Continuer)
		return ok && (detectedDialect == "" || detectedDialect == one.Name()) && continuer.Continues(detectedDialect, backend)
	})
}

// AsksUnder implements translate.Stateless. If detectedDialect is unknown, it asks every dialect.
func (d *Dialect) AsksUnder(id, detectedDialect string) (call string, asks bool) {
	for _, one := range d.list {
		if stateless, ok := one.(translate.Stateless); ok && (detectedDialect == "" || detectedDialect == one.Name()) {
			if call, asks = stateless.AsksUnder(id, detectedDialect); asks {
				return call, true
			}
		}
	}
	return "", false
}

// KeepsNothing implements translate.Stateless.
func (d *Dialect) KeepsNothing(p *agui.Pause) bool {
	stateless, ok := d.byName(p.Dialect).(translate.Stateless)
	return ok && stateless.KeepsNothing(p)
}

// ReadsCalls implements translate.Stateless.
func (d *Dialect) ReadsCalls(p *agui.Pause) bool {
	stateless, ok := d.byName(p.Dialect).(translate.Stateless)
	return ok && stateless.ReadsCalls(p)
}

// Begin implements translate.Dialect. A resume is handled by the dialect that asked the question.
// An ordinary run is sent as the dialect of its route requires, if that dialect is known. In either
// case the stream of an ordinary run is examined.
func (d *Dialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	known := d.byName(r.Pause.Dialect)
	switch {
	case r.Pause.ID != "" && known == nil:
		return translate.Out{}, nil, agui.Errorf(agui.StoreUnavailable, textUnknownDialect, r.Pause.Dialect)
	case r.Pause.ID != "":
		return known.Begin(r)
	case known == nil:
		var out translate.Out
		if r.SharedRunID {
			out.Body = kit.OwnRunID(r, r.Input.Raw)
		}
		return out, d.begin(r), nil
	}
	out, _, err := known.Begin(r)
	return out, d.begin(r), err
}

func (d *Dialect) begin(r *translate.Request) *run {
	found := &run{d: d, r: r, events: kit.HeldEvents[*heldCall]{Max: maxHeld}}
	found.keep = func(ev agui.Event) { found.snapshot = ev }
	for _, one := range d.list {
		if e, ok := one.(translate.EarlyReader); ok {
			found.earlyRuns = append(found.earlyRuns, wholeStreamRun{one, e.Early(r)})
		}
	}
	return found
}
