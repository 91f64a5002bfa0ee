package adk

import "holdpoint/translate/kit"

// Options are the options of the dialect.
type Options struct {
	// Ask lists the long-running tools whose calls wait for a person. A call of a tool that is not
	// listed counts as one that waits for a job.
	Ask kit.Names `shared:"external" means:"nothing"`
}

// Check returns an error for each wrong option.
func (o Options) Check() []error {
	return kit.WrongOption("ASK", o.Ask.Check())
}
