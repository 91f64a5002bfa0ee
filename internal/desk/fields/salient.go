package fields

import (
	"iter"
	"strings"
	"unicode"
)

// amounts are words in keys. If a key has such a word, its number is an amount or a count.
var amounts = words("amount", "price", "total", "quantity", "qty", "rows", "limit")

// isAmount reports whether a key has a word of amounts and its field has a number. The number may
// also be written as a text, because some backends write amounts so.
func isAmount(key string, f *Field) bool {
	if f.Kind != Number && (f.Kind != String || !isNumber(f.Text)) {
		return false
	}
	for word := range Words(key) {
		if amounts[word] {
			return true
		}
	}
	return false
}

// isNumber reports whether a text is a number as people write it, with separators between the
// digits.
func isNumber(text string) bool {
	digit := false
	for n, c := range []byte(text) {
		switch {
		case '0' <= c && c <= '9':
			digit = true
		case c == '.', c == ',', c == '_', c == '\'':
		case n == 0 && (c == '-' || c == '+'):
		default:
			return false
		}
	}
	return digit && len(text) <= 40
}

const maxCurrency = 24

// isCurrency reports whether a key is the name of a currency, which belongs to an amount in the
// same object.
func isCurrency(key string) bool {
	if len(key) > maxKey {
		return false
	}
	for word := range Words(key) {
		return word == "currency"
	}
	return false
}

// Words returns the words of a key in lower case. For example, both row_limit and rowLimit have the
// words row and limit.
func Words(key string) iter.Seq[string] {
	return func(yield func(string) bool) {
		key = cutText(key, maxKey)
		begin, small := 0, false
		for at, r := range key {
			apart := !unicode.IsLetter(r) && !unicode.IsDigit(r)
			if apart || small && unicode.IsUpper(r) {
				if begin < at && !yield(strings.ToLower(key[begin:at])) {
					return
				}
				if begin = at; apart {
					begin = at + len(string(r))
				}
			}
			small = unicode.IsLower(r)
		}
		if begin < len(key) {
			yield(strings.ToLower(key[begin:]))
		}
	}
}
