package awsstrands

import (
	"errors"
	"fmt"

	"holdpoint/translate/internal/strandsapi"
	"holdpoint/translate/kit"
)

// Options are the options of the dialect: the variables HOLDPOINT_AWS_STRANDS_*.
type Options struct {
	// Rules define the form of the answers for hooks and tools. Without a rule, an answer to
	// TypeScript's adapter becomes a word, as in Strands' documentation. An answer to Python's
	// adapter is sent unchanged, and the adapter wraps it in its envelope.
	Rules strandsapi.Rules `env:"RULES_FILE" means:"answers" doc:"JSON file with what hooks and tools get for an answer, by the name of the interrupt. Without a rule, they get a text (\"y\" or \"n\") from the TypeScript adapter, and the payload from Python's. It is read only at start (docs/strands-reference.md#rules)"`
}

// Check returns an error for each wrong option. A rule must not have a schema or a reason, because
// the adapters send these themselves. It must not have the profile envelope, because ag_ui_strands
// makes the envelope itself.
func (o Options) Check() []error {
	err := o.Rules.Refuse(func(r strandsapi.Rule) error {
		switch {
		case r.Profile == strandsapi.Envelope:
			return fmt.Errorf(textEnvelope, r.Names)
		case r.Schema != nil || r.Reason != "":
			return fmt.Errorf(textOwnSchema, r.Names)
		}
		return nil
	})
	if err == nil && o.Rules.Questions != "" {
		err = errors.New(textNoQuestions)
	}
	return kit.WrongOption("RULES_FILE", err)
}
