package agno

import (
	"errors"

	"holdpoint/translate/kit"
)

// Options of the dialect, HOLDPOINT_AGNO_*. Nothing in agno's stream says which kind a call is.
type Options struct {
	// Input are tools that want input: a person may replace their arguments.
	Input kit.Names `env:"INPUT" means:"nothing" doc:"names of tools of agno that want user input (requires_user_input), and not a confirmation. Globs, name;name"`
	// External are tools that agno does not run itself: the answer is their result.
	External kit.Names `env:"EXTERNAL" means:"nothing" doc:"names of tools that agno leaves to others (external_execution), whose answer is their result. Those that the request declares are the client's. Globs, name;name"`
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
