package kit

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Requests are the requests to a backend's own API that the operator allows, in addition to the
// requests that a Guard always allows. They are an option of a dialect.
type Requests []AllowedRequest

// An AllowedRequest is a method and a pattern for the path, as in path.Match.
type AllowedRequest struct{ Method, Path string }

func (r AllowedRequest) String() string { return r.Method + " " + r.Path }

// UnmarshalText reads the value of a variable: pairs of a method and a path, separated by commas or
// newlines. Check validates them.
func (r *Requests) UnmarshalText(text []byte) error {
	*r = nil
	for one := range strings.FieldsFuncSeq(string(text), func(c rune) bool { return c == ',' || c == '\n' }) {
		fields := strings.Fields(one)
		switch {
		case len(fields) == 0:
			continue
		case len(fields) != 2:
			return fmt.Errorf(textNotRequest, strings.TrimSpace(one))
		}
		*r = append(*r, AllowedRequest{fields[0], fields[1]})
	}
	return nil
}

// String returns the list as it is written in the variable.
func (r Requests) String() string {
	list := make([]string, len(r))
	for n, one := range r {
		list[n] = one.String()
	}
	return strings.Join(list, ",")
}

// Check returns an error for the first request that is not valid. The function steers reports
// whether a request steers a run. Such a request cannot be allowed, because it could answer a
// question without Holdpoint.
func (r Requests) Check(steers func(method, at string) bool) error {
	for _, one := range r {
		switch _, err := path.Match(one.Path, ""); {
		case !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, one.Method):
			return fmt.Errorf(textNotMethod, one)
		case err != nil:
			return fmt.Errorf(textNotPattern, one.Path)
		case !IsPlainPath(strings.NewReplacer("*", "x", "?", "x", "[", "", "]", "", "^", "").Replace(one.Path)):
			return fmt.Errorf(textNotPath, one.Path)
		case steers(one.Method, one.Path):
			return fmt.Errorf(textSteers, one)
		}
	}
	return nil
}

// Match reports whether the list allows the request. A request that steers a run is never allowed.
func (r Requests) Match(method, at string, steers func(method, at string) bool) bool {
	return !steers(method, at) && slices.ContainsFunc(r, func(one AllowedRequest) bool {
		ok, err := path.Match(one.Path, at)
		return ok && err == nil && one.Method == method
	})
}

// IsPlainPath reports whether every server reads the path in the same way. Servers differ in how
// they read a path with an escape, an empty segment or a parameter.
func IsPlainPath(at string) bool {
	if !strings.HasPrefix(at, "/") || strings.Contains(at, "//") || len(at) > 1 && strings.HasSuffix(at, "/") {
		return false
	}
	return !strings.ContainsFunc(at, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("/-._~:", c)
	})
}
