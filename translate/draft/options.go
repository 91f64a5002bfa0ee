package draft

import (
	"slices"

	"holdpoint/translate/kit"
)

// Options of the dialect.
type Options struct {
	// Cancel is the payload that a v1 backend gets for a cancelled answer, because v1 has no
	// status. The approval of a function has its own word for no.
	Cancel kit.JSON `shared:"cancel" means:"no"`
	// ApprovalTools are the tools whose calls ask, for backends that otherwise say
	// outcome:"interrupt" only. pando_permission_request always is one.
	ApprovalTools kit.Names `shared:"approval" means:"nothing"`
}

const (
	cancelDefault = `{"cancelled":true}`
	toolDefault   = "pando_permission_request"
)

func (o Options) withDefaults() Options {
	if len(o.Cancel) == 0 {
		o.Cancel = kit.JSON(cancelDefault)
	}
	if !slices.Contains(o.ApprovalTools, toolDefault) {
		o.ApprovalTools = append(slices.Clip(o.ApprovalTools), toolDefault)
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
