package adk

import "holdpoint/translate/kit"

// Options of the dialect, HOLDPOINT_ADK_*.
type Options struct {
	// Ask are the long-running tools whose call waits for a person. A call of such a tool looks the
	// same if it waits for a job.
	Ask kit.Names `env:"ASK" means:"nothing" doc:"names of long-running tools of ADK whose unanswered call waits for a person, and not for a job. Globs, name;name"`
}

// Check says what is wrong with the options.
func (o Options) Check() []error {
	if err := o.Ask.Check(); err != nil {
		return []error{kit.WrongOption("ASK", err)}
	}
	return nil
}
