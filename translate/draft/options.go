package draft

import (
	"slices"

	"holdpoint/translate/kit"
)

// Options are the options of the dialect.
type Options struct {
	// Cancel is the payload that a v1 backend gets for a cancelled answer, because v1 has no
	// status. If the question is the approval of a function, the backend gets a denial instead.
	Cancel kit.JSON `shared:"cancel" means:"no"`
	// ApprovalTools are the tools whose calls ask a question, for backends whose end has only
	// outcome:"interrupt". pando_permission_request is always one of them.
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

// Check returns an error for each wrong option.
func (o Options) Check() []error {
	return kit.WrongOption("APPROVAL_TOOLS", o.withDefaults().ApprovalTools.Check())
}
