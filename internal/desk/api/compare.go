package api

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"holdpoint/internal/desk/fields"
)

// A comparedField says how a field of a call compares with the same field of calls that were
// approved recently.
type comparedField struct {
	Path string `json:"path"`
	// Usual is the value that this field had in all approved calls. IsUsual means that this call has
	// the same value. Usual is nil if the values differed.
	Usual   *string `json:"usual,omitempty"`
	IsUsual bool    `json:"same,omitempty"`
	// Minimum and Maximum are the smallest and the largest approved number, as they were written. If
	// the number of this call is larger than Maximum or smaller than Minimum, Factor is its ratio to
	// that number.
	Minimum   string  `json:"least,omitempty"`
	Maximum   string  `json:"most,omitempty"`
	Factor    float64 `json:"times,omitempty"`
	Approvals int     `json:"of"` // number of approvals that were compared, in the same currency
	// Currency is the currency of an amount. The amount is compared only with approved amounts of the
	// same currency. If there are none, OtherCurrencies has the currencies of the approved amounts.
	Currency        string   `json:"currency,omitempty"`
	OtherCurrencies []string `json:"others,omitempty"`
}

// minApprovals is the number of approvals from which on a value counts as usual.
const minApprovals = 2

// compare compares the fields of a call with those of earlier approved calls. It skips ids and
// prose, because they always differ. It returns nil if there are fewer than enough approvals.
func compare(now []fields.Field, before []*earlierDecision) (list []comparedField) {
	var yes []map[string]earlierField
	for _, e := range before {
		if e.Outcome != outcomeApproved {
			continue
		}
		said := map[string]earlierField{}
		for _, f := range e.Fields {
			said[f.Path] = f
		}
		yes = append(yes, said)
	}
	if len(yes) < minApprovals {
		return nil
	}
	for n := range now {
		f := &now[n]
		if f.IsRepeated || f.IsTruncated || !canCompare(f) {
			continue
		}
		if c, ok := compareOne(f, yes); ok {
			list = append(list, c)
		}
	}
	return list
}

func compareOne(f *fields.Field, yes []map[string]earlierField) (comparedField, bool) {
	c := comparedField{Path: f.Path, Approvals: len(yes), Currency: f.Currency}
	for _, said := range yes {
		if _, has := said[f.Path]; !has {
			return c, false
		}
	}
	if f.IsSalient {
		alike, others := inCurrency(f, yes)
		if c.Approvals = len(alike); c.Approvals == 0 && f.Currency != "" && others != nil {
			c.OtherCurrencies = others
			return c, true
		}
		if yes = alike; c.Approvals < minApprovals {
			return c, false
		}
	}
	equal := true
	first := yes[0][f.Path].Text
	for _, said := range yes {
		equal = equal && said[f.Path].Text == first
	}
	if !equal || f.Kind == fields.Number && first != f.Text {
		return c, c.compareNumber(f, yes)
	}
	c.Usual, c.IsUsual = &first, first == f.Text
	return c, true
}

// inCurrency returns the approvals in which the field f has the same currency, and the currencies
// of the rest.
func inCurrency(f *fields.Field, yes []map[string]earlierField) (sameCurrency []map[string]earlierField, otherCurrencies []string) {
	for _, said := range yes {
		switch currency := said[f.Path].Currency; {
		case currency == f.Currency:
			sameCurrency = append(sameCurrency, said)
		case currency != "" && !slices.Contains(otherCurrencies, currency):
			otherCurrencies = append(otherCurrencies, currency)
		}
	}
	return sameCurrency, otherCurrencies
}

// compareNumber compares the number f with the approved numbers, which are not all equal. It
// returns false if they cannot be compared.
func (c *comparedField) compareNumber(f *fields.Field, yes []map[string]earlierField) bool {
	now, ok := parseNumber(f.Text)
	if !ok || f.Kind != fields.Number && !f.IsSalient {
		return false
	}
	least, most := math.Inf(1), math.Inf(-1)
	for _, said := range yes {
		text := said[f.Path].Text
		v, ok := parseNumber(text)
		if !ok {
			return false
		}
		if v < least {
			least, c.Minimum = v, text
		}
		if v > most {
			most, c.Maximum = v, text
		}
	}
	switch {
	case now > most && most > 0:
		c.Factor = round(now / most)
	case now < least && least > 0 && now > 0:
		c.Factor = round(now / least)
	}
	return true
}

// round rounds to two significant digits, because a person does not need more.
func round(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || v > 1e15 {
		return 0
	}
	scale := math.Pow(10, 1-math.Floor(math.Log10(v)))
	if math.IsInf(scale, 0) { // v is so small that the quotient would not be a number
		return v
	}
	return math.Round(v*scale) / scale
}

// parseNumber parses a number, and returns false if its value is not certain. For example, 1,200 is
// not certain, because it may mean 1.2.
func parseNumber(text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) && !strings.ContainsAny(text, "xXpP_")
}

// canCompare reports whether it makes sense to compare the field: it usually has the same value, or
// it is an amount.
func canCompare(f *fields.Field) bool {
	switch f.Kind {
	case fields.String, fields.Number, fields.Boolean, fields.Null, fields.Empty:
	default:
		return false
	}
	for word := range fields.Words(f.Key) {
		switch word {
		case "id", "ids", "uuid", "guid", "key", "token", "hash", "number", "no", "nr", "phone", "zip", "timestamp":
			return false
		}
	}
	return f.Key != ""
}
