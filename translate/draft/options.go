package draft

import "holdpoint/translate/kit"

// Options of the dialect, HOLDPOINT_DRAFT_*.
type Options struct {
	// Cancel is the payload that a v1 backend gets for a cancelled answer, because v1 has no
	// status. The approval of a function has its own word for no.
	Cancel kit.JSON `env:"CANCEL" means:"no" envDefault:"{\"cancelled\":true}" doc:"JSON that a v1 backend gets as payload for a cancelled answer, unless it asks for the approval of a function. It must be nothing that could be taken for a yes"`
	// ApprovalTools are the tools whose calls ask, for backends that otherwise say
	// outcome:"interrupt" only.
	ApprovalTools kit.Names `env:"APPROVAL_TOOLS" means:"nothing" envDefault:"pando_permission_request" doc:"names of tools whose unanswered call is the question, for backends that end their run in outcome \"interrupt\" and say no more. Globs, name;name"`
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
		o.ApprovalTools = kit.Names{toolDefault}
	}
	return o
}

// Check says what is wrong with the options.
func (o Options) Check() []error {
	o = o.withDefaults()
	var errs []error
	if err := o.ApprovalTools.Check(); err != nil {
		errs = append(errs, kit.WrongOption("APPROVAL_TOOLS", err))
	}
	return errs
}
