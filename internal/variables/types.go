package variables

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// parsers returns the parsers for types that do not implement encoding.TextUnmarshaler. Their
// errors say what the variable may contain. They do not quote the value, because only the caller
// knows which part of it may be shown.
func parsers() map[reflect.Type]env.ParserFunc {
	return map[reflect.Type]env.ParserFunc{
		reflect.TypeFor[bool]():          parseBool,
		reflect.TypeFor[int]():           parseCount,
		reflect.TypeFor[time.Duration](): parseDuration,
	}
}

func parseBool(v string) (any, error) {
	b, err := strconv.ParseBool(v)
	if err != nil {
		return nil, errors.New(textBool)
	}
	return b, nil
}

func parseCount(v string) (any, error) {
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil || n < 1 {
		return nil, fmt.Errorf(textCount, math.MaxInt32)
	}
	return int(n), nil
}

func parseDuration(v string) (any, error) {
	d, err := time.ParseDuration(v)
	switch {
	case err != nil:
		return nil, errors.New(textDuration)
	case d < 0:
		return nil, errors.New(textNegative)
	}
	return d, nil
}

// shownDuration returns a duration without zero units at its end: 720h instead of 720h0m0s.
func shownDuration(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Quote returns a value in quotes, for an error. If the value is a URL or looks like one, Quote
// replaces the user, the password and the query by xxxxx. It also shortens a long value.
func Quote(v string) string {
	const longest = 120
	if scheme, rest, ok := strings.Cut(v, "://"); ok {
		if at := strings.LastIndex(rest, "@"); at >= 0 {
			v = scheme + "://xxxxx" + rest[at:]
		}
		if head, _, ok := strings.Cut(v, "?"); ok {
			v = head + "?xxxxx"
		}
	} else if at := strings.LastIndex(v, "@"); at >= 0 {
		v = "xxxxx" + v[at:]
	}
	if len(v) > longest {
		v = strings.ToValidUTF8(v[:longest], "") + "…"
	}
	return strconv.Quote(v)
}
