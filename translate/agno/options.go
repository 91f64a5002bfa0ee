package agno

import (
	"errors"

	"holdpoint/translate/kit"
)

// Options are the options of the dialect. agno's stream does not show the kind of a call, so the
// operator lists the tools of some kinds.
type Options struct {
	// Input lists the tools that need input: a person may replace their arguments.
	Input kit.Names `shared:"input" means:"nothing"`
	// External lists the tools that agno does not run itself: the answer is the tool's result.
	External kit.Names `shared:"external" means:"nothing"`
}

// Check returns an error for each wrong option.
func (o Options) Check() []error {
	return append(kit.WrongOption("INPUT", o.Input.Check()), kit.WrongOption("EXTERNAL", o.External.Check())...)
}

func (o Options) err() error { return errors.Join(o.Check()...) }
