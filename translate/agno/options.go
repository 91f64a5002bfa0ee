package agno

import (
	"errors"

	"holdpoint/translate/kit"
)

// Options of the dialect. Nothing in agno's stream says which kind a call is.
type Options struct {
	// Input are tools that want input: a person may replace their arguments.
	Input kit.Names `shared:"input" means:"nothing"`
	// External are tools that agno does not run itself: the answer is their result.
	External kit.Names `shared:"external" means:"nothing"`
}

// Check says what is wrong with the options.
func (o Options) Check() []error {
	var errs []error
	if err := o.Input.Check(); err != nil {
		errs = append(errs, kit.WrongOption("INPUT", err))
	}
	if err := o.External.Check(); err != nil {
		errs = append(errs, kit.WrongOption("EXTERNAL", err))
	}
	return errs
}

func (o Options) err() error { return errors.Join(o.Check()...) }
