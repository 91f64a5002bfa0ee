package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// A Policy is the content of a policy file.
type Policy struct {
	Access Access
}

// Limits of a policy file: its size in bytes, its number of entries, and the length of each text.
const (
	maxFile    = 1 << 20
	maxEntries = 1000
	maxText    = 1 << 10 // in bytes; for a name, a group, an agent or a tenant
)

// futureKeys has the keys that a future version will read. This version refuses them: if it ignored
// a key, it would give rights that the author of the file does not expect.
var futureKeys = []string{"rules"}

// Parse parses a policy file. Its error joins all errors in the file, each with its line.
func Parse(text []byte) (*Policy, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf(textTooLarge, maxFile)
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, errors.New(textEmpty)
	case err != nil:
		return nil, withoutParserName(err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, withoutParserName(err)
		}
		return nil, fmt.Errorf(textSecondDocument, more.Line)
	}
	r := &reader{}
	p := r.policy(&doc)
	if r.errs != nil {
		return nil, errors.Join(r.errs...)
	}
	return p, nil
}

// withoutParserName returns an error of the YAML parser, without the parser's name.
func withoutParserName(err error) error {
	text := strings.ReplaceAll(err.Error(), "\n", " ")
	for _, prefix := range []string{"go-yaml ", "yaml: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return errors.New(text)
}

// A reader collects the errors in a policy file.
type reader struct{ errs []error }

func (r *reader) addError(n *yaml.Node, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("line %d: %w", n.Line, fmt.Errorf(format, args...)))
}

// policy parses the YAML document of a policy file.
func (r *reader) policy(doc *yaml.Node) *Policy {
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 {
		doc = doc.Content[0]
	}
	p := &Policy{}
	has := false
	r.keys(doc, textWholeFile, func(key, value *yaml.Node) {
		switch name := key.Value; {
		case name == "access":
			has = true
			p.Access = r.access(value)
		case slices.Contains(futureKeys, name):
			r.addError(key, textLaterKey, name)
		default:
			r.addError(key, textFileKey, strconv.Quote(cutText(name)))
		}
	})
	if !has && r.errs == nil {
		r.addError(doc, textNoAccess)
	}
	return p
}

func (r *reader) access(list *yaml.Node) Access {
	if list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
		r.addError(list, textAccessList)
		return nil
	}
	if len(list.Content) > maxEntries {
		r.addError(list, textManyEntries, maxEntries)
		return nil
	}
	var a Access
	for _, one := range list.Content {
		a = append(a, r.entry(one))
	}
	return a
}

func (r *reader) entry(n *yaml.Node) (e Entry) {
	before := len(r.errs)
	r.keys(n, textEntry, func(key, value *yaml.Node) {
		switch key.Value {
		case "names":
			e.Names = r.texts(key, value, "")
		case "groups":
			e.Groups = r.texts(key, value, "")
		case "agents":
			e.Agents = r.texts(key, value, "*")
		case "tenants":
			e.Tenants = r.texts(key, value, "*")
			for _, t := range value.Content {
				if t.Value != "*" && strings.Contains(t.Value, "*") {
					r.addError(t, textTenantStar, strconv.Quote(cutText(t.Value)))
				}
			}
		case "rights":
			r.texts(key, value, "")
			for _, right := range value.Content {
				has := rightByName(right.Value)
				if has == NoRights && right.Kind == yaml.ScalarNode {
					r.addError(right, textRight, strconv.Quote(cutText(right.Value)), strings.Join(rightNames, ", "))
				}
				e.Rights |= has
			}
		default:
			r.addError(key, textEntryKey, strconv.Quote(cutText(key.Value)))
		}
	})
	if len(r.errs) > before {
		return e
	}
	switch {
	case len(e.Names)+len(e.Groups) == 0:
		r.addError(n, textForNobody)
	case len(e.Agents) == 0:
		r.addError(n, textNoAgents)
	case e.Rights == NoRights:
		r.addError(n, textNoRights, strings.Join(rightNames, ", "))
	}
	return e
}

// keys calls take with each key and value of the mapping n. A repeated key is an error, because it
// could be read in two ways. what is the name of the mapping in error messages.
func (r *reader) keys(n *yaml.Node, what string, take func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.addError(n, textNoMapping, what)
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" || key.Anchor != "":
			r.addError(key, textKeyText)
		case seen[key.Value] > 0:
			r.addError(key, textKeyTwice, strconv.Quote(cutText(key.Value)), seen[key.Value])
		default:
			seen[key.Value] = key.Line
			take(key, value)
		}
	}
}

// texts returns the texts of a list. If star is not "", a text may contain a star only if the whole
// text equals star.
func (r *reader) texts(key, list *yaml.Node, star string) []string {
	if list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
		r.addError(list, textWantList, key.Value, map[bool]string{true: `"*"`, false: "one, another"}[star != ""])
		return nil
	}
	var texts []string
	for _, n := range list.Content {
		switch {
		case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str":
			r.addError(n, textNotText, key.Value, strconv.Quote(cutText(n.Value)))
			continue
		case n.Value == "" || len(n.Value) > maxText || strings.ContainsFunc(n.Value, unicode.IsControl) || strings.TrimSpace(n.Value) != n.Value:
			r.addError(n, textWantTexts, key.Value, maxText)
			continue
		case star == "" && n.Value == "*":
			r.addError(n, textStarHere, key.Value)
			continue
		case slices.Contains(texts, n.Value):
			r.addError(n, textTwice, key.Value, strconv.Quote(cutText(n.Value)))
			continue
		}
		texts = append(texts, n.Value)
	}
	return texts
}

func cutText(s string) string { return s[:min(len(s), 64)] }
