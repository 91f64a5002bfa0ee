package contract

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// These constants bound the work of checking the payloads of one request. Work is an estimated time
// in nanoseconds. It is not measured, so the same request gets the same answer on a busy machine.
// Only timeOfRequest bounds the measured time, in case the estimate is wrong.
const (
	workOfRequest = int64(50 * time.Millisecond)
	workOfPayload = int64(50 * time.Microsecond)
	workOfValue   = 1500 // for each value and each key of a payload
	workOfByte    = 150  // for each byte of a payload, to search its texts
	workToExplain = int64(2 * time.Millisecond)
	timeOfRequest = 5 * time.Second
)

// These constants estimate the work of the steps of the JSON Schema library.
const (
	workOfSchema = 400 // one value is checked against one schema
	workOfKey    = 100 // one key is looked up, or two values are compared
	workOfCopy   = 10  // one byte of a text is copied; the library copies a text each time it checks it
	workOfChar   = 20  // one byte of a text is read
	workOfState  = 4   // one byte of a text is passed to one state of a pattern
	// one byte of a text is compiled as a pattern; seven bytes may give a thousand states
	workOfRegexp = 50_000
	workOfNumber = 800 // a number of up to cheapDigits digits is converted to an exact number
	cheapDigits  = 40
)

var errTooDear = errors.New(textTooManySteps)

// A meter counts the work during the validation by a schema. It panics with a meterStop when the
// work exceeds its bound, when the time is over, or when the context of the request ends. The
// library cannot be stopped in another way.
type meter struct {
	ctx       context.Context
	until     time.Time
	remaining int64
	text      int64 // further work that may be spent on texts only
	tick      int64 // the work until the meter looks at the clock again
	// times is the factor by which all work is multiplied, because long numbers make it slow.
	times int64
}

// A meterStop is the value of the panic that stops a validation.
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

// spendText spends work on the bytes of a text. It uses the allowance in m.text first. So a text of
// some megabytes may be searched, but a large text does not allow more work of other kinds.
func (m *meter) spendText(work int64) {
	free := min(work, m.text)
	m.text -= free
	m.spend(work - free)
}

// run validates a value against a schema. If the meter stops the validation, run returns the
// reason.
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

// gauge replaces the format of each schema by a gauge. The library checks the format of a schema
// before its deeper parts, so the gauge can spend the work on these parts in advance.
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

// gauges has what the gauges of all schemas of one document share.
type gauges struct {
	m *meter
	// the work to check one schema; it grows with their number, because the library looks for
	// cycles
	step        int64
	requested   map[*jsonschema.Schema]int64
	highestCost int64
	unevaluated bool // the library keeps a list of the members that were not evaluated yet
}

// ask returns the work that the library does for a schema before it checks the format: the work on
// type, const and enum.
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

// compare returns the maximum work to compare any value with the given one.
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

// workOf returns the work to check one value against all these schemas.
func (w *gauges) workOf(schemas ...*jsonschema.Schema) (work int64) {
	for _, s := range schemas {
		switch known, ok := w.requested[s]; {
		case s == nil:
		case ok:
			work += known
		default:
			work += w.step // the schema is true, false or {}
		}
	}
	return work
}

// A gauge has the work of one schema for a value.
type gauge struct {
	*gauges
	s *jsonschema.Schema
	// A gauge estimates the work to check a value against one schema.
	format        *jsonschema.Format
	ownCost       int64 // work on the value itself
	schemas       int64 // the number of schemas that check the value itself
	key, item     int64 // work for each key and its member, and for each item
	keys, pattern int64 // work of patterns for each byte of a key, and of a text
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
	if s.DynamicRef != nil || s.RecursiveRef != nil { // such a reference may lead to any schema
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

// validate spends the work that the library is about to do for a value. The library calls it as the
// check of the schema's format.
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

// workOfPattern returns the work for each byte of a text that is matched with a pattern.
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
		if n <= 20 { // up to 20 items, the library compares each item with each other
			times = n
		}
		for _, one := range list {
			w.m.spendOnValue(one, times)
		}
	}
}

// spendOnValue spends the work to read the whole value, multiplied by times.
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
