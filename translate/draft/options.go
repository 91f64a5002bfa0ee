package draft

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// Options of the dialect, HOLDPOINT_DRAFT_*.
type Options struct {
	// Cancel is the payload that a v1 backend gets for a cancelled answer: v1 has no status. The approval of a function
	// has a no of its own.
	Cancel translate.JSON `env:"CANCEL" envDefault:"{\"cancelled\":true}" doc:"JSON that a v1 backend gets as payload for a cancelled answer, unless it asks for the approval of a function; nothing that could be taken for a yes"`
	// ApprovalTools are the calls by which backends ask that say no more than outcome:"interrupt".
	ApprovalTools Names `env:"APPROVAL_TOOLS" envDefault:"pando_permission_request" doc:"tools whose unanswered call is the question of a backend that ends its run in outcome \"interrupt\" and says no more; globs, name;name"`
}

const (
	cancelDefault = `{"cancelled":true}`
	toolDefault   = "pando_permission_request"
)

func (o Options) withDefaults() Options {
	if len(o.Cancel) == 0 {
		o.Cancel = translate.JSON(cancelDefault)
	}
	if len(o.ApprovalTools) == 0 {
		o.ApprovalTools = Names{toolDefault}
	}
	return o
}

func (o Options) check() error {
	v := gjson.ParseBytes(o.Cancel)
	switch {
	case !agui.ValidJSON(o.Cancel):
		return errors.New("draft: CANCEL is not JSON, want for example " + cancelDefault)
	case saysNothing(v):
		return fmt.Errorf("draft: CANCEL %s says nothing, and a backend may take that for go on; want for example %s", o.Cancel, cancelDefault)
	case mayApprove(v):
		return fmt.Errorf("draft: CANCEL %s could be taken for an approval; want for example %s", o.Cancel, cancelDefault)
	}
	return o.ApprovalTools.check()
}

func saysNothing(v gjson.Result) bool {
	switch {
	case v.IsObject():
		return len(v.Map()) == 0
	case v.IsArray():
		return len(v.Array()) == 0
	}
	return v.Type == gjson.Null || v.Type == gjson.String && v.Str == ""
}

// yes are the words with which backends are told to go on, as values and as keys of a value that is not false.
var yes = []string{"accept", "accepted", "allow", "allowed", "approve", "approved", "confirm", "confirmed", "continue", "edit", "ok", "proceed", "true", "yes"}

// mayApprove says whether some backend could take the value for a yes.
func mayApprove(v gjson.Result) bool {
	switch {
	case v.Type == gjson.True:
		return true
	case v.Type == gjson.Number:
		return v.Num != 0
	case v.Type == gjson.String:
		return isYes(v.Str)
	case v.IsArray():
		return slices.ContainsFunc(v.Array(), mayApprove)
	case v.IsObject():
		found := false
		v.ForEach(func(k, member gjson.Result) bool {
			no := member.Type == gjson.False || member.Type == gjson.Null
			nested := member.Type != gjson.True && member.Type != gjson.Number && mayApprove(member)
			found = isYes(k.Str) && !no || nested
			return !found
		})
		return found
	}
	return false
}

func isYes(word string) bool { return slices.Contains(yes, strings.ToLower(strings.TrimSpace(word))) }

// Names are patterns of path.Match, in a variable separated by semicolons.
type Names []string

// UnmarshalText reads the value of a variable.
func (n *Names) UnmarshalText(text []byte) error {
	*n = nil
	for name := range strings.SplitSeq(string(text), ";") {
		if name = strings.TrimSpace(name); name != "" {
			*n = append(*n, name)
		}
	}
	return n.check()
}

// String is the list as it is written.
func (n Names) String() string { return strings.Join(n, ";") }

func (n Names) check() error {
	for _, pattern := range n {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("draft: APPROVAL_TOOLS: %q is no pattern", pattern)
		}
	}
	return nil
}

func (n Names) match(name string) bool {
	return slices.ContainsFunc(n, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// denied is what the approval of a function gets for a no.
const denied = `{"approved":false}`
