package desk

import (
	"math"
	"strconv"
	"strings"

	"holdpoint/internal/fields"
)

// A compared is a field beside what was approved lately.
type compared struct {
	Path string `json:"path"`
	// Usual is what the field said in all that was approved, and Same that it says so again.
	Usual *string `json:"usual,omitempty"`
	Same  bool    `json:"same,omitempty"`
	// Least and Most are the numbers that were approved, as they were written. Times is how many
	// times the most this one is, or which part of the least, if it lies outside.
	Least string  `json:"least,omitempty"`
	Most  string  `json:"most,omitempty"`
	Times float64 `json:"times,omitempty"`
	Of    int     `json:"of"` // how many were approved
}

// enough is how many approvals make something usual.
const enough = 2

// compare says of fields what is as usual, and what is not. Ids and prose are not compared: they
// always differ.
func compare(now []fields.Field, before []*earlier) (list []compared) {
	var yes []map[string]string
	for _, e := range before {
		if e.Outcome != approved {
			continue
		}
		said := map[string]string{}
		for _, f := range e.Fields {
			said[f.Path] = f.Text
		}
		yes = append(yes, said)
	}
	if len(yes) < enough {
		return nil
	}
	for n := range now {
		f := &now[n]
		if f.Twice || f.Truncated || !canCompare(f) {
			continue
		}
		if c, ok := compareOne(f, yes); ok {
			list = append(list, c)
		}
	}
	return list
}

func compareOne(f *fields.Field, yes []map[string]string) (compared, bool) {
	c := compared{Path: f.Path, Of: len(yes)}
	equal := true
	first, ok := yes[0][f.Path]
	for _, said := range yes {
		text, has := said[f.Path]
		if !has || !ok {
			return c, false
		}
		equal = equal && text == first
	}
	if !equal || f.Kind == fields.Number && first != f.Text {
		return c, c.number(f, yes)
	}
	c.Usual, c.Same = &first, first == f.Text
	return c, true
}

// number compares numbers that are not all the same.
func (c *compared) number(f *fields.Field, yes []map[string]string) bool {
	now, ok := number(f.Text)
	if !ok || f.Kind != fields.Number && !f.Salient {
		return false
	}
	least, most := math.Inf(1), math.Inf(-1)
	for _, said := range yes {
		v, ok := number(said[f.Path])
		if !ok {
			return false
		}
		if v < least {
			least, c.Least = v, said[f.Path]
		}
		if v > most {
			most, c.Most = v, said[f.Path]
		}
	}
	switch {
	case now > most && most > 0:
		c.Times = round(now / most)
	case now < least && least > 0 && now > 0:
		c.Times = round(now / least)
	}
	return true
}

// round to two digits: nobody reads more.
func round(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || v > 1e15 {
		return 0
	}
	scale := math.Pow(10, 1-math.Floor(math.Log10(v)))
	return math.Round(v*scale) / scale
}

// number is the number that a text is, if that can be said without a doubt: 1,200 may be 1.2.
func number(text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) && !strings.ContainsAny(text, "xXpP_")
}

// canCompare says whether a field is one that usually says the same, or a number that says how
// much.
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
