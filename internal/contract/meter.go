package contract

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// These bound the work of checking the payloads of one request. Work is an estimate in nanoseconds,
// so that the same request gets the same answer on a busy machine. timeOfRequest is measured, for
// what the estimate misses.
const (
	workOfRequest = int64(50 * time.Millisecond)
	workOfPayload = int64(50 * time.Microsecond)
	workOfValue   = 1500 // for each value and key
	workOfByte    = 150  // for each byte of a payload, to search its texts
	workToExplain = int64(2 * time.Millisecond)
	timeOfRequest = 5 * time.Second
)

// These estimate the steps of the library.
const (
	workOfSchema = 400    // one value is checked against one schema
	workOfKey    = 100    // one key is looked up, or one value is compared with another
	workOfCopy   = 10     // one byte of a text is copied; the library copies a text each time it checks it
	workOfChar   = 20     // one byte of a text is read
	workOfState  = 4      // and is passed to one state of a pattern
	workOfRegexp = 50_000 // one byte of a text is compiled as a pattern; seven bytes may have a thousand states
	workOfNumber = 800    // a number of up to cheapDigits digits is converted to an exact number
	cheapDigits  = 40
)

var errTooDear = errors.New(textTooManySteps)

// A meter counts the work of a schema during the validation. It panics with a stop when the work
// exceeds its bound, when the time is over, or when the context of the request ends. The library
// cannot be stopped in another way.
type meter struct {
	ctx       context.Context
	until     time.Time
	remaining int64
	text      int64 // additional work for texts
	tick      int64 // the work until the clock is read again
	// times multiplies all work, because long numbers are slow.
	times int64
}

// A meterStop is the value of the panic that ends the work.
type meterStop struct{ err error }

func (m *meter) spend(work int64) {
	work *= m.times
	if m.remaining -= work; m.remaining < 0 {
		panic(meterStop{errTooDear})
	}
	if m.tick -= work; m.tick < 0 {
		m.tick = int64(time.Millisecond)
		if err := m.ctx.Err(); err != nil {
			panic(meterStop{err})
		}
		if time.Now().After(m.until) {
			panic(meterStop{errTooDear})
		}
	}
}

// spendText spends work on the bytes of a text. It uses the allowance for texts first: a text of
// some megabytes may be searched, but does not allow more other work for its size.
func (m *meter) spendText(work int64) {
	free := min(work, m.text)
	m.text -= free
	m.spend(work - free)
}

// run validates a value against a schema.
func (m *meter) run(s *jsonschema.Schema, value any) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case meterStop:
			err = p.err
		default:
			err = errors.New(textPayloadFailed)
		}
	}()
	return s.Validate(value)
}

// gauge replaces the format of each schema by a gauge. The library checks the format before it goes
// deeper, so the gauge can spend the work in advance.
func (m *meter) gauge(all []*jsonschema.Schema) {
	w := &gauges{m: m, requested: make(map[*jsonschema.Schema]int64, len(all)), step: workOfSchema + int64(len(all))}
	for _, s := range all {
		w.requested[s] = w.ask(s)
		w.highestCost = max(w.highestCost, w.requested[s])
		w.unevaluated = w.unevaluated || s.UnevaluatedItems != nil || s.UnevaluatedProperties != nil
	}
	for _, s := range all {
		w.add(s)
	}
}

// gauges are the gauges of the schemas of one document.
type gauges struct {
	m           *meter
	step        int64 // the work to check one schema; the library looks for cycles among the schemas being checked
	requested   map[*jsonschema.Schema]int64
	highestCost int64
	unevaluated bool // the library keeps lists of the members that were not evaluated yet
}

// ask returns the work that the library does for a schema before it checks the format: the type,
// const and enum.
func (w *gauges) ask(s *jsonschema.Schema) int64 {
	work := w.step
	if s.Const != nil {
		work += w.compare(*s.Const)
	}
	if s.Enum != nil {
		work += w.compare(s.Enum.Values)
	}
	return work
}

// compare returns the maximum work to compare something with the value.
func (w *gauges) compare(value any) int64 {
	work := int64(workOfKey)
	switch v := value.(type) {
	case json.Number:
		work += workOfNumber
	case []any:
		for _, one := range v {
			work += w.compare(one)
		}
	case map[string]any:
		for _, one := range v {
			work += w.compare(one)
		}
	}
	return work
}

// workOf returns the work to check a value against other schemas.
func (w *gauges) workOf(schemas ...*jsonschema.Schema) (work int64) {
	for _, s := range schemas {
		switch known, ok := w.requested[s]; {
		case s == nil:
		case ok:
			work += known
		default:
			work += w.step // true, false or {}
		}
	}
	return work
}

// A gauge has the work of one schema for a value.
type gauge struct {
	*gauges
	s             *jsonschema.Schema
	format        *jsonschema.Format // the schema's own format
	ownCost       int64              // for the value itself
	schemas       int64              // the number of schemas that check the value itself
	key, item     int64              // for each key and member, and for each item
	keys, pattern int64              // for each byte of a key, and of a text, because of patterns
}

func (w *gauges) add(s *jsonschema.Schema) {
	one := &gauge{gauges: w, s: s, format: s.Format}
	one.aboutItself()
	one.aboutMembers()
	one.aboutItems()
	one.pattern = workOfPattern(s.Pattern)
	name := ""
	if s.Format != nil {
		name = s.Format.Name
	}
	s.Format = &jsonschema.Format{Name: name, Validate: one.validate}
}

func (w *gauge) aboutItself() {
	s := w.s
	here := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		here = append(here, list...)
	}
	for _, one := range s.DependentSchemas {
		here = append(here, one)
	}
	for _, one := range s.Dependencies {
		if one, ok := one.(*jsonschema.Schema); ok {
			here = append(here, one)
		}
	}
	w.schemas = int64(len(here))
	w.ownCost = w.workOf(here...) + workOfKey*int64(len(s.Required)+len(s.Dependencies)+len(s.DependentRequired))
	for _, names := range s.DependentRequired {
		w.ownCost += workOfKey * int64(len(names))
	}
	for _, one := range s.Dependencies {
		if names, ok := one.([]string); ok {
			w.ownCost += workOfKey * int64(len(names))
		}
	}
	if s.DynamicRef != nil || s.RecursiveRef != nil { // it may lead to any schema
		w.ownCost += w.highestCost
	}
}

func (w *gauge) aboutMembers() {
	s := w.s
	w.key = workOfKey + w.workOf(s.PropertyNames, s.UnevaluatedProperties)
	if one, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		w.key += w.workOf(one)
	}
	for re, one := range s.PatternProperties {
		w.key += w.workOf(one)
		w.keys += workOfPattern(re)
	}
}

func (w *gauge) aboutItems() {
	s := w.s
	w.item = w.workOf(s.Items2020, s.Contains, s.UnevaluatedItems)
	for _, list := range []any{s.Items, s.AdditionalItems} {
		if one, ok := list.(*jsonschema.Schema); ok {
			w.item += w.workOf(one)
		}
	}
	if list, ok := s.Items.([]*jsonschema.Schema); ok {
		w.ownCost += w.workOf(list...)
	}
	w.ownCost += w.workOf(s.PrefixItems...)
}

// validate is called as the format of the schema. It spends the work that the library is about to
// do.
func (w *gauge) validate(value any) error {
	w.m.spend(w.ownCost)
	switch v := value.(type) {
	case map[string]any:
		w.object(v)
	case []any:
		w.array(v)
	case string:
		w.m.spendText(int64(len(v)) * (workOfCopy + w.pattern))
	case json.Number:
		w.m.spend(3 * workOfNumber) // to convert, compare and divide it
	}
	if w.format == nil {
		return nil
	}
	if text, ok := value.(string); ok {
		work := int64(workOfChar)
		if w.format.Name == "regex" {
			work = workOfRegexp
		}
		w.m.spendText(int64(len(text)) * work)
	}
	return w.format.Validate(value)
}

// workOfPattern returns the work for each byte of a text.
func workOfPattern(re jsonschema.Regexp) int64 {
	if p, ok := re.(pattern); ok {
		return workOfChar + workOfState*int64(p.states)
	}
	return 0
}

func (w *gauge) object(object map[string]any) {
	if w.unevaluated {
		w.m.spend(w.schemas * workOfKey * int64(len(object)))
	}
	for key := range object {
		w.m.spend(w.key + w.workOf(w.s.Properties[key]))
		w.m.spendText(w.keys * int64(len(key)+1))
	}
}

func (w *gauge) array(list []any) {
	n := int64(len(list))
	w.m.spend(w.item * n)
	if w.unevaluated {
		w.m.spend(w.schemas * workOfKey * n)
	}
	if w.s.UniqueItems {
		times := int64(2)
		if n <= 20 { // then each item is compared with each other
			times = n
		}
		for _, one := range list {
			w.m.spendOnValue(one, times)
		}
	}
}

// spendOnValue spends the work to read all of a value, the given number of times.
func (m *meter) spendOnValue(value any, times int64) {
	m.spend(times * workOfKey)
	switch v := value.(type) {
	case string:
		m.spendText(times * int64(len(v)))
	case json.Number:
		m.spend(times * workOfNumber)
	case []any:
		for _, one := range v {
			m.spendOnValue(one, times)
		}
	case map[string]any:
		for key, one := range v {
			m.spendText(times * int64(len(key)))
			m.spendOnValue(one, times)
		}
	}
}
