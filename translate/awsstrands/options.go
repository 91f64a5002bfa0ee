package awsstrands

import (
	"fmt"

	"holdpoint/translate/internal/strandsapi"
)

// Options of the dialect, HOLDPOINT_AWS_STRANDS_*.
type Options struct {
	// Answers say what the hooks and tools can read. Without a rule an answer through the TypeScript adapter becomes a word, as
	// Strands' documentation has it, and one through Python's goes as it is into the envelope that the adapter makes.
	Answers Rules `env:"ANSWERS" doc:"what hooks and tools get for an answer, by the name of the interrupt: glob=profile;glob=profile. A profile is docs-string (\"y\" and \"n\"), bool or raw, and may have yes=, no=, cancel= and path= behind it. Without a rule it is docs-string for TypeScript and raw for Python"`
}

// Rules are strandsapi.Rules without the envelope, which ag_ui_strands makes itself.
type Rules strandsapi.Rules

// UnmarshalText reads the value of a variable.
func (r *Rules) UnmarshalText(text []byte) error {
	var list strandsapi.Rules
	if err := list.UnmarshalText(text); err != nil {
		return err
	}
	*r = Rules(list)
	return r.check()
}

// String is the list as it is written.
func (r Rules) String() string { return strandsapi.Rules(r).String() }

func (r Rules) check() error {
	for _, rule := range r {
		if rule.Profile == strandsapi.Envelope {
			return fmt.Errorf("%s=%s: ag_ui_strands makes the envelope itself, want raw", rule.Names, rule.Profile)
		}
	}
	return nil
}
