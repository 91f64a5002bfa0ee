package strandsapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// A Rule configures the questions of the interrupts whose name matches a pattern. An empty Profile
// means Words.
type Rule struct {
	Names   string // pattern for the name of the interrupt, as in path.Match
	Profile Profile
	// Yes, No and Cancel are the values that are sent for an approval, a denial and a cancelled
	// answer. If one is nil, the value of the profile is sent. Path says which part of the payload
	// is the answer. If it is "", the whole payload is the answer.
	Yes, No, Cancel json.RawMessage
	Path            string
	// Schema and Reason replace the schema and the reason that Holdpoint makes. If they are nil and
	// "", those of Holdpoint are used.
	Schema json.RawMessage
	Reason string

	line int // the line of the rule in its file
}

// Rules are the content of a file that the operator writes. It has rules for the names of
// interrupts, in order:
//
//	{
//	  "questions": "gjson path in a frame to its questions",
//	  "interrupts": [
//	    {"name": "deploy-*", "answers": "bool"},
//	    {"name": "review", "answers": "docs-string", "yes": "APPROVE", "no": "REJECT"}
//	  ]
//	}
//
// A rule has a name and at least one of answers, schema and reason. For each of these three, the
// first rule that matches the name and has it counts.
type Rules struct {
	Questions string
	List      []Rule
	file      string
}

// Answer returns the rule for the answers to interrupts with this name. It returns false if no rule
// configures them.
func (r Rules) Answer(name string) (Rule, bool) {
	return r.first(name, func(r Rule) bool { return r.Profile != "" })
}

// Interpret sets the meaning of those answers whose meaning is still unclear, by the words of the
// rules (see translate.Interpreter). The function name returns the name of an interrupt.
func (r Rules) Interpret(p agui.Pause, answers []agui.Answer, read []agui.Reading, name func(agui.Interrupt) string) {
	asked := p.Indexed()
	for n, a := range answers {
		if i := asked.Interrupt(a.ID); i != nil && read[n].Meaning == agui.Unclear {
			rule, _ := r.Answer(name(*i))
			read[n] = rule.Read(a, read[n])
		}
	}
}

// Schema returns the schema for interrupts with this name. It returns nil if no rule has one.
func (r Rules) Schema(name string) json.RawMessage {
	rule, _ := r.first(name, func(r Rule) bool { return r.Schema != nil })
	return rule.Schema
}

// Reason returns the reason for interrupts with this name. It returns "" if no rule has one.
func (r Rules) Reason(name string) string {
	rule, _ := r.first(name, func(r Rule) bool { return r.Reason != "" })
	return rule.Reason
}

func (r Rules) first(name string, has func(Rule) bool) (Rule, bool) {
	for _, one := range r.List {
		if has(one) && MatchName(one.Names, name) {
			return one, true
		}
	}
	return Rule{}, false
}

// Denials returns all values that are sent for a denied or a cancelled answer.
func (r Rules) Denials() []json.RawMessage {
	var list []json.RawMessage
	for _, one := range r.List {
		for _, v := range []json.RawMessage{one.no(), one.Cancelled()} {
			if v != nil {
				list = append(list, v)
			}
		}
	}
	return list
}

// Refuse calls the function says with each rule, and returns its first error, with the line of the
// rule.
func (r Rules) Refuse(refusalOf func(Rule) error) error {
	for _, one := range r.List {
		if err := refusalOf(one); err != nil {
			return atLine(one.line, err)
		}
	}
	return nil
}

// MatchName reports whether a pattern matches the name of an interrupt.
func MatchName(pattern, name string) bool { return kit.Names{pattern}.Match(name) }

// UnmarshalText reads the rules from a file. The parameter file is the value of the variable, which
// is the name of the file.
func (r *Rules) UnmarshalText(file []byte) error {
	text, err := ReadFile(string(file))
	if err != nil {
		return err
	}
	read, err := ParseRules(text)
	if err != nil {
		return err
	}
	read.file = string(file)
	*r = read
	return nil
}

// String returns the name of the file and the number of rules.
func (r Rules) String() string { return r.StringFor(r.file) }

// StringFor returns what String would return for a file with this name.
func (r Rules) StringFor(file string) string {
	switch {
	case file == "":
		return ""
	case len(r.List) == 1:
		return file + " (1 rule)"
	}
	return fmt.Sprintf("%s (%d rules)", file, len(r.List))
}

// ReadFile reads the file that a variable names.
func ReadFile(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if err != nil && (agui.ValidJSON([]byte(name)) || strings.ContainsRune(name, '=')) {
		return nil, errors.New(textNotFile)
	}
	return text, err // the error contains the name
}

// A Member is a member that a file of rules may have in addition to the rules. Read gets the JSON
// of the member's value.
type Member struct {
	Name string
	Read func(json.RawMessage) error
}

// ParseRules parses a file of rules. The parameter beside has the other members that the file may
// have. Each error begins with the line at which it occurred.
func ParseRules(text []byte, beside ...Member) (Rules, error) {
	f := &rulesFile{text: bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))}
	if err := json.Unmarshal(f.text, new(any)); err != nil {
		at := len(f.text)
		if s := (*json.SyntaxError)(nil); errors.As(err, &s) {
			at = int(s.Offset)
		}
		return Rules{}, atLine(f.line(at), fmt.Errorf(textNotJSON, err))
	}
	var rules Rules
	names := ""
	for _, m := range beside {
		names += m.Name + ", "
	}
	said := false
	err := f.object(f.text, 0, names+textMembersOfFile, func(key string, v value) error {
		switch key {
		case "questions":
			return v.text(&rules.Questions)
		case "interrupts":
			return f.list(v, &rules)
		}
		for _, m := range beside {
			if m.Name == key {
				said = true
				return m.Read(v.raw)
			}
		}
		return errUnknown
	})
	if err == nil && !said && rules.List == nil && rules.Questions == "" {
		err = atLine(1, errors.New(textNoRules))
	}
	return rules, err
}

func atLine(line int, err error) error { return fmt.Errorf("line %d: %w", line, err) }

var errUnknown = errors.New(textNoMember)

// A rulesFile is the text of a file of rules. It is read token by token, so that errors can name
// the line, and repeated keys are found.
type rulesFile struct{ text []byte }

func (f *rulesFile) line(at int) int {
	return 1 + bytes.Count(f.text[:min(at, len(f.text))], []byte{'\n'})
}

// A value is a JSON value in the file, with its offset.
type value struct {
	raw json.RawMessage
	at  int
}

func (v value) text(into *string) error {
	if json.Unmarshal(v.raw, into) != nil || v.raw[0] != '"' || *into == "" {
		return fmt.Errorf(textNotText, excerpt(v.raw))
	}
	return nil
}

func excerpt(raw []byte) string {
	if len(raw) > 60 {
		return string(raw[:60]) + "…"
	}
	return string(raw)
}

// object calls the function member for each member of an object. The object is at the offset at in
// the file. The parameter what lists the names of the allowed members, for errors.
func (f *rulesFile) object(raw []byte, at int, what string, member func(key string, v value) error) error {
	first := at + len(raw) - len(bytes.TrimLeft(raw, " \t\r\n"))
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return atLine(f.line(first), fmt.Errorf(textNotObject, what))
	}
	seen := map[string]int{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		key, line := token.(string), f.line(at+int(dec.InputOffset()))
		if seen[key] > 0 {
			return atLine(line, fmt.Errorf(textTwice, key, seen[key]))
		}
		seen[key] = line
		var v value
		if err := dec.Decode(&v.raw); err != nil {
			return err
		}
		v.at = at + int(dec.InputOffset()) - len(v.raw)
		switch err := member(key, v); {
		case errors.Is(err, errUnknown):
			return atLine(line, fmt.Errorf(textUnknownMember, key, what))
		case err != nil && !strings.HasPrefix(err.Error(), "line "):
			return atLine(line, fmt.Errorf("%s: %w", key, err))
		case err != nil:
			return err
		}
	}
	return nil
}

// list reads the list of rules.
func (f *rulesFile) list(list value, into *Rules) error {
	dec := json.NewDecoder(bytes.NewReader(list.raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('[') {
		return errors.New(textNotList)
	}
	lines := map[string]int{}
	for dec.More() {
		var v value
		if err := dec.Decode(&v.raw); err != nil {
			return err
		}
		v.at = list.at + int(dec.InputOffset()) - len(v.raw)
		r, err := f.rule(v)
		if err != nil {
			return err
		}
		if lines[r.Names] > 0 {
			return atLine(r.line, fmt.Errorf(textRuleTwice, r.Names, lines[r.Names]))
		}
		lines[r.Names] = r.line
		into.List = append(into.List, r)
	}
	return nil
}

func (f *rulesFile) rule(v value) (Rule, error) {
	r := Rule{line: f.line(v.at)}
	err := f.object(v.raw, v.at, textMembersOfRule, func(key string, v value) error {
		switch key {
		case "name":
			return v.text(&r.Names)
		case "answers":
			var profile string
			if err := v.text(&profile); err != nil || !slices.Contains(profiles, Profile(profile)) {
				return fmt.Errorf(textNotProfile, excerpt(v.raw), Words, Bool, Envelope, Raw)
			}
			r.Profile = Profile(profile)
		case "yes":
			r.Yes = v.raw
		case "no":
			r.No = v.raw
		case "cancel":
			r.Cancel = v.raw
		case "path":
			return v.text(&r.Path)
		case "schema":
			if r.Schema = v.raw; !agui.ValidJSON(v.raw) || v.raw[0] != '{' {
				return errors.New(textNotSchema)
			}
		case "reason":
			return v.text(&r.Reason)
		default:
			return errUnknown
		}
		return nil
	})
	if err == nil {
		if err = r.check(); err != nil {
			err = atLine(r.line, err)
		}
	}
	return r, err
}

// check returns an error if the rule is not valid.
func (r Rule) check() error {
	speaks := r.Yes != nil || r.No != nil || r.Cancel != nil || r.Path != ""
	switch _, err := path.Match(r.Names, ""); {
	case r.Names == "":
		return errors.New(textNoName)
	case err != nil:
		return fmt.Errorf(textNotPattern, r.Names)
	case speaks && r.Profile == "":
		return fmt.Errorf(textWordsAlone, r.Names)
	case r.Profile == "" && r.Schema == nil && r.Reason == "":
		return fmt.Errorf(textEmptyRule, r.Names)
	case r.Profile == "":
		return nil
	}
	if err := r.checkWords(); err != nil {
		return fmt.Errorf("rule %q: %w", r.Names, err)
	}
	return nil
}
