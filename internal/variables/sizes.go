package variables

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
)

// A Size is a number of bytes. In a variable it is a plain number or has a unit: 16777216, 16MiB,
// 8MB, 4Mi.
type Size int64

// units contains the units of sizes. If a unit ends in another unit, as KiB ends in B, it comes
// before that unit. Kubernetes writes Ki, Mi and Gi.
var units = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
	{"B", 1},
}

// largestSize is the largest accepted size. It fits an int on all platforms.
const largestSize = math.MaxInt32

// UnmarshalText parses a size.
func (s *Size) UnmarshalText(text []byte) error {
	n, err := ParseSize(string(text), largestSize)
	*s = Size(n)
	return err
}

// ParseSize parses a size of at most limit bytes. It returns an error for 0, so that nobody
// switches a bound off by mistake.
func ParseSize(text string, limit int64) (int64, error) {
	number, factor := text, int64(1)
	for _, u := range units {
		if n, ok := strings.CutSuffix(number, u.name); ok {
			number, factor = strings.TrimRight(n, " "), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, errors.New(textSize)
	case err == nil && n < 1:
		return 0, errors.New(textTooSmall)
	case err != nil || n > limit/factor:
		return 0, fmt.Errorf(textTooLarge, limit)
	}
	return n * factor, nil
}

// String returns the size with the largest unit of which it is a multiple.
func (s Size) String() string {
	for _, u := range []int{2, 1, 0} {
		if b := units[u].bytes; s != 0 && int64(s)%b == 0 {
			return strconv.FormatInt(int64(s)/b, 10) + units[u].name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// A Percent is a share from 1% to 100%.
type Percent int

// UnmarshalText parses a share.
func (p *Percent) UnmarshalText(text []byte) error {
	number, ok := strings.CutSuffix(string(text), "%")
	n, err := strconv.Atoi(strings.TrimRight(number, " "))
	if !ok || err != nil || n < 1 || n > 100 {
		return errors.New(textShare)
	}
	*p = Percent(n)
	return nil
}

// String returns the share in the form that UnmarshalText reads, such as 25%.
func (p Percent) String() string { return strconv.Itoa(int(p)) + "%" }

// Hundredths returns the share in hundredths. It returns 0 for 100%, because 0 means no bound.
func (p Percent) Hundredths() int { return int(p) % 100 }

// ShownURL returns a URL for a log. Instead of the user, the password and the values of the query
// it contains xxxxx.
func ShownURL(u *url.URL) string {
	if u == nil {
		return ""
	}
	c := *u
	if c.User != nil {
		c.User = url.User("xxxxx")
	}
	if c.RawQuery != "" {
		pairs := strings.Split(c.RawQuery, "&")
		for i, p := range pairs {
			if name, _, ok := strings.Cut(p, "="); ok {
				pairs[i] = name + "=xxxxx"
			}
		}
		c.RawQuery = strings.Join(pairs, "&")
	}
	return c.String()
}
