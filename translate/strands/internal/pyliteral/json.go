package pyliteral

import (
	"encoding/base64"
	"regexp"
	"strings"

	"holdpoint/internal/agui"
)

// JSON returns the value of the Python literal s as JSON text. It writes str, numbers, True, False,
// None, list and dict as json.dumps does. A tuple or a set becomes a list, bytes become base64, and
// the keys of dicts become strings. A number that JSON does not have (inf, nan, a complex number)
// and a value that is not a literal become their repr as a string.
func JSON(s string) ([]byte, error) {
	r := reader{s: s}
	out, err := r.json(nil, 0)
	if err != nil {
		return nil, err
	}
	if r.space(); r.at < len(s) {
		return nil, r.fail("more than one value")
	}
	return out, nil
}

var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// words maps the Python names that are values to their JSON text.
var words = map[string]string{
	"True": "true", "False": "false", "None": "null",
	"set()": "[]", "frozenset()": "[]", "inf": `"Infinity"`, "-inf": `"-Infinity"`, "nan": `"NaN"`, "-nan": `"NaN"`,
}

// json reads one value and appends it to out as JSON.
func (r *reader) json(out []byte, depth int) ([]byte, error) {
	if depth > MaxDepth {
		return out, errDepth
	}
	r.space()
	if n := r.quoteAt(); n > 0 {
		isBytes := strings.ContainsAny(r.s[r.at:r.at+n-1], "bB")
		var text []byte
		if err := r.text(&text); err != nil {
			return out, err
		}
		if isBytes {
			return append(out, agui.MustMarshal(base64.StdEncoding.EncodeToString(text))...), nil
		}
		return append(out, agui.MustMarshal(string(text))...), nil
	}
	if r.bracket() != 0 {
		return r.jsonMembers(out, depth)
	}
	from := r.at
	if err := r.value(depth); err != nil {
		return out, err
	}
	s := r.s[from:r.at]
	switch word, known := words[s]; {
	case known:
		return append(out, word...), nil
	case number.MatchString(s):
		return append(out, s...), nil
	}
	return append(out, agui.MustMarshal(s)...), nil
}

// jsonMembers reads a list, a tuple, a set or a dict. If the first member in braces has a colon,
// the braces are a dict, otherwise a set.
func (r *reader) jsonMembers(out []byte, depth int) ([]byte, error) {
	closing := r.bracket()
	dict, first := closing == '}', true
	at := len(out)
	out = append(out, '{')
	r.at++
	for {
		if r.space(); r.next() == closing {
			r.at++
			break
		}
		if !first {
			out = append(out, ',')
		}
		from, begin := r.at, len(out)
		var err error
		if out, err = r.json(out, depth+1); err != nil {
			return out, err
		}
		key := strings.TrimSpace(r.s[from:r.at])
		r.space()
		keyed := r.next() == ':' && closing == '}'
		if first {
			dict, first = keyed, false
		}
		if keyed != dict {
			return out, r.fail("half a dict and half a set")
		}
		if keyed {
			r.at++
			out = append(append(out[:begin], agui.MustMarshal(keyText(key))...), ':')
			if out, err = r.json(out, depth+1); err != nil {
				return out, err
			}
		}
		if err := r.comma(closing); err != nil {
			return out, err
		}
	}
	if dict {
		return append(out, '}'), nil
	}
	out[at] = '['
	return append(out, ']'), nil
}

// keyText returns a dict's key as json.dumps writes it. If json.dumps cannot write the key, keyText
// returns its repr. s is the source text of the key.
func keyText(s string) string {
	if text, err := Str(s); err == nil {
		return text
	}
	if word, known := words[s]; known {
		return strings.Trim(word, `"`)
	}
	return s
}
