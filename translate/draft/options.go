package draft

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"holdpoint/translate/kit"
)

// Options of the dialect, HOLDPOINT_DRAFT_*.
type Options struct {
	// Cancel is the payload that a v1 backend gets for a cancelled answer, because v1 has no
	// status. The approval of a function has its own word for no.
	Cancel kit.JSON `env:"CANCEL" means:"no" envDefault:"{\"cancelled\":true}" doc:"JSON that a v1 backend gets as payload for a cancelled answer, unless it asks for the approval of a function. It must be nothing that could be taken for a yes"`
	// ApprovalTools are the tools whose calls ask, for backends that otherwise say
	// outcome:"interrupt" only.
	ApprovalTools Names `env:"APPROVAL_TOOLS" means:"nothing" envDefault:"pando_permission_request" doc:"names of tools whose unanswered call is the question, for backends that end their run in outcome \"interrupt\" and say no more. Globs, name;name"`
}

const (
	cancelDefault = `{"cancelled":true}`
	toolDefault   = "pando_permission_request"
)

func (o Options) withDefaults() Options {
	if len(o.Cancel) == 0 {
		o.Cancel = kit.JSON(cancelDefault)
	}
	if len(o.ApprovalTools) == 0 {
		o.ApprovalTools = Names{toolDefault}
	}
	return o
}

// Check says what is wrong with the options.
func (o Options) Check() []error {
	o = o.withDefaults()
	var errs []error
	if err := o.ApprovalTools.check(); err != nil {
		errs = append(errs, kit.WrongOption("APPROVAL_TOOLS", err))
	}
	return errs
}

// Names are patterns of path.Match. A variable separates them by semicolons.
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

// String returns the list as a variable has it.
func (n Names) String() string { return strings.Join(n, ";") }

func (n Names) check() error {
	for _, pattern := range n {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("%q is no pattern", pattern)
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

// denied is what a denied approval of a function becomes.
const denied = `{"approved":false}`
