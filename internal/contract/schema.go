package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"holdpoint/internal/agui"
)

// Bounds of a backend's responseSchema: it is input from outside, and compiled at every answer.
// Compiling takes time with the square of most of what a schema has; within these it is some 50 ms
// at most.
const (
	maxSchemaBytes   = 64 << 10
	maxSchemaValues  = 64 << 10 // an enum may have very many
	maxSchemaDepth   = 64
	maxSubschemas    = 2000
	maxStrangeRefs   = 100   // references to what is not a known place of a schema
	maxPatternStates = 20000 // of all patterns: Go's regular expressions take a step per state and byte
)

// ErrSchema marks a schema that cannot be used: too large, not valid, or with a reference to
// elsewhere.
var ErrSchema = errors.New("proxy: responseSchema cannot be used")

// A schema is a responseSchema that can judge.
type schema struct {
	// whole tells where a payload fails. inverse fits what the schema does not: behind a `not` the
	// library stops at the first mistake and keeps no list of them, each with its place.
	whole, inverse *jsonschema.Schema
	size           int // how many schemas it consists of
	digits         int // of the longest number in it
}

const (
	schemaURL  = "urn:holdpoint:schema"
	inverseURL = "urn:holdpoint:inverse"
)

// compile makes a schema that does its work under the meter. An error wraps ErrSchema.
func compile(text json.RawMessage, m *meter) (s *schema, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf(textValidatorFailed, ErrSchema, p)
		}
		if err != nil && !errors.Is(err, ErrSchema) {
			s, err = nil, fmt.Errorf("%w: %s", ErrSchema, agui.Cut(err.Error())) // the library's may quote all of the schema
		}
	}()
	if len(text) > maxSchemaBytes {
		return nil, fmt.Errorf(textSchemaSize, len(text), maxSchemaBytes)
	}
	doc, err := agui.ParseValue(text, maxSchemaValues)
	if err != nil {
		return nil, err
	}
	if err := boundSchema(doc); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	patterns := patterns{known: map[string]pattern{}}
	c.UseRegexpEngine(patterns.compile)
	all := emptyVocabulary{}
	c.RegisterVocabulary(&jsonschema.Vocabulary{URL: "urn:holdpoint:meter", Compile: all.add})
	c.AssertVocabs()
	if err := c.AddResource(schemaURL, doc.Any); err != nil {
		return nil, err
	}
	if err := c.AddResource(inverseURL, map[string]any{"not": map[string]any{"$ref": schemaURL}}); err != nil {
		return nil, err
	}
	s = &schema{}
	if s.whole, err = c.Compile(schemaURL); err != nil {
		return nil, err
	}
	if s.inverse, err = c.Compile(inverseURL); err != nil {
		return nil, err
	}
	patterns.known = nil // what comes now is texts of payloads
	m.gauge(all.schemas)
	s.size, s.digits = len(all.schemas), doc.Digits
	return s, nil
}

// boundSchema refuses a schema that would take long to compile.
func boundSchema(doc agui.Value) error {
	if doc.Depth > maxSchemaDepth {
		return fmt.Errorf(textSchemaDepth, doc.Depth, maxSchemaDepth)
	}
	subschemas, strange := countSchemas(doc.Any)
	if subschemas > maxSubschemas {
		return fmt.Errorf(textSchemaParts, subschemas, maxSubschemas)
	}
	if strange > maxStrangeRefs {
		return fmt.Errorf(textSchemaReferences, strange, maxStrangeRefs)
	}
	return nil
}

// countSchemas counts what may be a schema, and references for which the library copies all that it
// knows of the document.
func countSchemas(v any) (subschemas, strange int) {
	add := func(v any) {
		a, b := countSchemas(v)
		subschemas, strange = subschemas+a, strange+b
	}
	switch v := v.(type) {
	case bool:
		subschemas = 1
	case map[string]any:
		subschemas = 1
		for key, value := range v {
			if ref, ok := value.(string); ok && key == "$ref" && isStrange(ref) {
				strange++
			}
			add(value)
		}
	case []any:
		for _, value := range v {
			add(value)
		}
	}
	return subschemas, strange
}

func isStrange(ref string) bool {
	for _, usual := range []string{"#/$defs/", "#/definitions/"} {
		if name, ok := strings.CutPrefix(ref, usual); ok {
			return strings.Contains(name, "/")
		}
	}
	return strings.Contains(ref, "/")
}

// emptyVocabulary is a vocabulary without words: the library tells it of every schema that it
// compiles, also of those that no exported field leads to.
type emptyVocabulary struct{ schemas []*jsonschema.Schema }

func (l *emptyVocabulary) add(ctx *jsonschema.CompilerContext, _ map[string]any) (jsonschema.SchemaExt, error) {
	l.schemas = append(l.schemas, ctx.Enqueue(nil)) // the one that is being compiled
	return nil, nil
}

// noLoader refuses every reference out of the schema: a backend must not make the proxy fetch
// anything.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New(textOtherDocument)
}

// A pattern is a regular expression that knows how many states it has.
type pattern struct {
	*regexp.Regexp
	states int
}

// patterns compiles the regular expressions of one schema, for which the library asks more than
// once; and then those that a payload's texts are where the schema wants such a text.
type patterns struct {
	known  map[string]pattern // nil once the schema is compiled
	states int                // of all that are known
}

func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	if re, ok := p.known[text]; ok {
		return re, nil
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	states := countStates(tree)
	if states+p.states > maxPatternStates {
		return nil, fmt.Errorf(textPatternStates, maxPatternStates)
	}
	re, err := regexp.Compile(text)
	if err == nil && p.known != nil {
		p.known[text] = pattern{re, states}
		p.states += states
	}
	return pattern{re, states}, err
}

// countStates is about how many states a regular expression has once its repetitions are written
// out. The parser sees to it that they are not very many in one another.
func countStates(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/4 // of a word, few letters are looked for at once
	for _, sub := range re.Sub {
		n += countStates(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}
