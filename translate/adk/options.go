package adk

import "holdpoint/translate/kit"

// Options of the dialect.
type Options struct {
	// Ask are the long-running tools whose call waits for a person. A call of such a tool looks the
	// same if it waits for a job.
	Ask kit.Names `shared:"external" means:"nothing"`
}

// Check says what is wrong with the options.
func (o Options) Check() []error {
	if err := o.Ask.Check(); err != nil {
		return []error{kit.WrongOption("ASK", err)}
	}
	return nil
}
