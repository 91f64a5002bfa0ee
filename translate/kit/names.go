package kit

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Names are patterns for names of tools, as in path.Match. They are an option of a dialect. In the
// variable they are separated by semicolons.
type Names []string

// UnmarshalText reads the value of a variable.
func (n *Names) UnmarshalText(text []byte) error {
	*n = nil
	for name := range strings.SplitSeq(string(text), ";") {
		if name = strings.TrimSpace(name); name != "" {
			*n = append(*n, name)
		}
	}
	return n.Check()
}

// String returns the names as they are written in the variable.
func (n Names) String() string { return strings.Join(n, ";") }

// Check returns an error for the first name that is not a valid pattern.
func (n Names) Check() error {
	for _, pattern := range n {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf(textNotPattern, pattern)
		}
	}
	return nil
}

// Match reports whether one of the patterns matches the name. A name is not a path, so * also
// matches a slash.
func (n Names) Match(name string) bool {
	flat := func(text string) string { return strings.ReplaceAll(text, "/", "\x00") }
	return slices.ContainsFunc(n, func(pattern string) bool {
		ok, err := path.Match(flat(pattern), flat(name))
		return ok && err == nil
	})
}
