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

// parsers read the types that have no text form of their own. Their errors say what was wanted and
// leave the value to the caller, who knows what of it may be shown.
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
		return nil, errors.New("want true or false")
	}
	return b, nil
}

func parseCount(v string) (any, error) {
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil || n < 1 {
		return nil, fmt.Errorf("want a whole number from 1 to %d", math.MaxInt32)
	}
	return int(n), nil
}

func parseDuration(v string) (any, error) {
	d, err := time.ParseDuration(v)
	switch {
	case err != nil:
		return nil, errors.New("not a duration, want a number with a unit, such as 15s, 1h30m or 0")
	case d < 0:
		return nil, errors.New("must not be negative")
	}
	return d, nil
}

// shownDuration returns a duration without the zero units at its end: 720h, not 720h0m0s.
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

// Quote returns a value as an error may quote it. Where an address has its user info or its query
// it is cut, also if the whole is not an address. So is what is too long to read.
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
