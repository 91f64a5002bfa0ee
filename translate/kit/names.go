package kit

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Names are patterns of path.Match for the names of tools, in an option of a dialect. A variable
// separates them by semicolons.
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

// String returns the list as a variable has it.
func (n Names) String() string { return strings.Join(n, ";") }

// Check says which of them is not a pattern.
func (n Names) Check() error {
	for _, pattern := range n {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf(textNotPattern, pattern)
		}
	}
	return nil
}

// Match reports whether one of them matches the name. A name is not a path, so * stands for a slash
// too.
func (n Names) Match(name string) bool {
	flat := func(text string) string { return strings.ReplaceAll(text, "/", "\x00") }
	return slices.ContainsFunc(n, func(pattern string) bool {
		ok, err := path.Match(flat(pattern), flat(name))
		return ok && err == nil
	})
}
