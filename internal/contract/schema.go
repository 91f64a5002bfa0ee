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

// These constants bound a backend's responseSchema, which is untrusted input and is compiled for
// every answer. The time of compiling grows with the square of most of these numbers. Within the
// bounds it is at most about 50 ms.
const (
	maxSchemaBytes = 64 << 10
	// more than for other bounds, because an enum may have very many values
	maxSchemaValues = 64 << 10
	maxSchemaDepth  = 64
	maxSubschemas   = 2000
	maxStrangeRefs  = 100 // references to places other than #/$defs/ and #/definitions/
	// of all patterns together: Go's regexp takes a step for each state and byte
	maxPatternStates = 20000
)

// ErrSchema marks the error of a schema that cannot be used, because it is too large, is not valid,
// or refers to another document.
var ErrSchema = errors.New("proxy: responseSchema cannot be used")

// A schema is a compiled responseSchema.
type schema struct {
	// whole is the schema itself. It is used to find out where a payload does not fit. inverse is
	// the negation of the schema. It is used to check a payload, because inside a `not` the library
	// stops at the first mistake instead of collecting a list of all mistakes.
	whole, inverse *jsonschema.Schema
	size           int // the number of schemas that it contains
	digits         int // the number of digits of the longest number in it
}

const (
	schemaURL  = "urn:holdpoint:schema"
	inverseURL = "urn:holdpoint:inverse"
)

// compile compiles a schema. A validation by this schema spends the work of the meter m. Errors of
// compile wrap ErrSchema.
func compile(text json.RawMessage, m *meter) (s *schema, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf(textValidatorFailed, ErrSchema, p)
		}
		if err != nil && !errors.Is(err, ErrSchema) {
			s, err = nil, fmt.Errorf("%w: %s", ErrSchema, agui.Shorten(err.Error())) // the library's error may quote the whole schema
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
	patterns.known = nil // from now on, compile of patterns gets texts of payloads
	m.gauge(all.schemas)
	s.size, s.digits = len(all.schemas), doc.Digits
	return s, nil
}

// boundSchema returns an error if the schema would take too long to compile.
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

// countSchemas counts two things in a document: the values that may be schemas, and the strange
// references, for each of which the library copies all that it knows of the document.
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

// emptyVocabulary is a vocabulary without keywords. The library calls it with every schema that it
// compiles, even with a schema to which no exported field refers.
type emptyVocabulary struct{ schemas []*jsonschema.Schema }

func (l *emptyVocabulary) add(ctx *jsonschema.CompilerContext, _ map[string]any) (jsonschema.SchemaExt, error) {
	l.schemas = append(l.schemas, ctx.Enqueue(nil)) // the schema that is being compiled
	return nil, nil
}

// noLoader refuses to load any other document to which a schema refers, because a backend must not
// make the proxy fetch anything.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New(textOtherDocument)
}

// A pattern is a regular expression with its number of states.
type pattern struct {
	*regexp.Regexp
	states int
}

// patterns compiles regular expressions for the library. It first compiles those of one schema,
// which the library requests more than once. Then it compiles texts of payloads, if the schema
// requires that a text is a regular expression.
type patterns struct {
	known  map[string]pattern // nil after the schema has been compiled
	states int                // sum of the states of all patterns in known
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

// countStates estimates the number of states of a regular expression after its repetitions have
// been expanded. The parser limits nested repetitions.
func countStates(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/4 // several letters of a word are compared at a time
	for _, sub := range re.Sub {
		n += countStates(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}
