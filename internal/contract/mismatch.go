package contract

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"holdpoint/internal/agui"
)

const (
	// maxAlternatives is the largest number of alternatives that the text of a mismatch describes.
	maxAlternatives = 4
	// maxWantedValues is the largest number of an enum's values that the text of a mismatch lists.
	maxWantedValues = 5
)

// mismatch returns a text that says which key of a payload does not fit, and what the schema
// requires for this key. The library's own text is not used, because it quotes values of the
// payload. The text of mismatch quotes only the schema, which the client has. If the schema has
// alternatives, it is unknown which one the client meant, so the text describes the first few.
func mismatch(e *jsonschema.ValidationError) string {
	var list []string
	appendMismatches(&list, e)
	return strings.Join(list, "; or ")
}

// appendMismatches appends to list the first mismatch of each alternative of the schema.
func appendMismatches(list *[]string, e *jsonschema.ValidationError) {
	for len(e.Causes) > 0 {
		switch e.ErrorKind.(type) {
		case *kind.AnyOf, *kind.OneOf:
			for _, cause := range e.Causes {
				if appendMismatches(list, cause); len(*list) == maxAlternatives {
					return
				}
			}
			return
		}
		e = e.Causes[0]
	}
	if one := mismatchOf(e); !slices.Contains(*list, one) {
		*list = append(*list, one)
	}
}

// mismatchOf describes a mismatch that has no deeper causes.
func mismatchOf(e *jsonschema.ValidationError) string {
	at := e.InstanceLocation
	is := func(format string, args ...any) string { return placeOf(at) + " " + fmt.Sprintf(format, args...) }
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		if k.Got == "null" && len(at) == 0 {
			return is(textMissingOrNull, typesOf(k.Want))
		}
		return is(textWrongType, typeName(k.Got), typesOf(k.Want))
	case *kind.Required:
		return missing(at, k.Missing)
	case *kind.DependentRequired:
		return missing(at, k.Missing)
	case *kind.Dependency:
		return missing(at, k.Missing)
	case *kind.AdditionalProperties:
		return placeOf(append(slices.Clone(at), k.Properties[0])) + " " + textMemberNotAllowed
	case *kind.FalseSchema:
		return is(textMemberNotAllowed)
	case *kind.Enum:
		return is(textMustBe, valuesOf(k.Want))
	case *kind.Const:
		return is(textMustBe, valuesOf([]any{k.Want}))
	case *kind.Minimum:
		return is(textTooSmall, number(k.Want))
	case *kind.Maximum:
		return is(textTooLarge, number(k.Want))
	case *kind.ExclusiveMinimum:
		return is(textNotMoreThan, number(k.Want))
	case *kind.ExclusiveMaximum:
		return is(textNotLessThan, number(k.Want))
	case *kind.MultipleOf:
		return is(textNotMultiple, number(k.Want))
	case *kind.MinLength:
		return is(textTooShort, count(k.Want, "character", "characters"))
	case *kind.MaxLength:
		return is(textTooLong, count(k.Want, "character", "characters"))
	case *kind.MinItems:
		return is(textTooFewEntries, k.Want)
	case *kind.MaxItems:
		return is(textTooManyEntries, k.Want)
	case *kind.MinProperties:
		return is(textTooFewKeys, k.Want)
	case *kind.MaxProperties:
		return is(textTooManyKeys, k.Want)
	case *kind.Pattern:
		return is(textNoPatternMatch, agui.Shorten(k.Want))
	case *kind.Format:
		return is(textWrongFormat, agui.Shorten(k.Want))
	case *kind.OneOf:
		return is(textSeveralAlternatives)
	case *kind.Not:
		return is(textFailsKeyword, "not") // KeywordPath is empty for not
	}
	return is(textFailsKeyword, strings.Join(e.ErrorKind.KeywordPath(), "/"))
}

// placeOf returns the name of a part of the payload. at has the keys that lead to it. A long name
// is cut, because the keys come from the payload.
func placeOf(at []string) string {
	if len(at) == 0 {
		return textPayload
	}
	return "`" + agui.Shorten(strings.Join(at, "/")) + "`"
}

// missing returns a text that says which keys of the object at the place at are missing. The keys
// come from the schema.
func missing(at, keys []string) string {
	list := make([]string, min(len(keys), maxWantedValues))
	for n := range list {
		list[n] = placeOf(append(slices.Clone(at), keys[n]))
	}
	if len(list) == 1 {
		return fmt.Sprintf(textOneMissing, list[0])
	}
	return fmt.Sprintf(textSeveralMissing, enumeration(list, "and", len(keys)))
}

// typeName returns the name of a JSON type with its article, such as "an object".
func typeName(name string) string {
	switch name {
	case "null":
		return name
	case "object", "array", "integer":
		return "an " + name
	}
	return "a " + name
}

func typesOf(names []string) string {
	list := make([]string, len(names))
	for n, name := range names {
		list[n] = typeName(name)
	}
	return enumeration(list, "or", len(list))
}

// valuesOf returns a text that lists the values which a schema allows.
func valuesOf(values []any) string {
	list := make([]string, min(len(values), maxWantedValues))
	for n := range list {
		text, err := json.Marshal(values[n])
		if err != nil {
			text = []byte(textAnotherValue)
		}
		list[n] = agui.Shorten(string(text))
	}
	return enumeration(list, "or", len(values))
}

// enumeration joins list with commas, and puts word, which is "and" or "or", before the last entry.
// total is the number of all entries, including those that were left out of list.
func enumeration(list []string, word string, total int) string {
	if more := total - len(list); more > 0 && word == "or" {
		return strings.Join(list, ", ") + fmt.Sprintf(textOneOfMore, more)
	} else if more > 0 {
		return strings.Join(list, ", ") + fmt.Sprintf(textAndMore, more)
	}
	switch len(list) {
	case 0:
		return textNoneAllowed // a schema may have an enum without values
	case 1:
		return list[0]
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " " + word + " " + list[last]
}

func count(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n) + " " + several
}

func number(r *big.Rat) string {
	if r.IsInt() {
		return agui.Shorten(r.Num().String())
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}
