package adk

import "holdpoint/translate/kit"

// Options of the dialect.
type Options struct {
	// Ask lists the long-running tools whose calls wait for a person. Without it they look like calls
	// that wait for a job.
	Ask kit.Names `shared:"external" means:"nothing"`
}

// Check returns the errors in the options.
func (o Options) Check() []error {
	if err := o.Ask.Check(); err != nil {
		return []error{kit.WrongOption("ASK", err)}
	}
	return nil
}
