package toolcall

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"holdpoint/translate/kit"
	"holdpoint/translate/yesno"
)

// Options are the settings of the dialect, HOLDPOINT_TOOL_CALL_*.
type Options struct {
	// Ask has the names of the tools whose calls ask for an approval.
	Ask kit.Names `shared:"approval" means:"nothing"`
	// Yes is the content of the tool message for an approved call.
	Yes yesno.Template `env:"YES" means:"yes" envDefault:"{\"approved\":true}" doc:"content of the tool message for a yes: a JSON object or words. In an object, \"$arguments\" is replaced by the arguments of the call, with the person's edits"`
	// No is the content of the tool message for a denied or cancelled call.
	No yesno.Template `env:"NO" means:"answers" envDefault:"{\"approved\":false}" doc:"content of the tool message for a no and for a cancel. In an object, \"$reason\" is replaced by the reason. The agent must not be able to read it as the yes"`
}

const (
	yesDefault = `{"approved":true}`
	noDefault  = `{"approved":false}`
)

func (o Options) withDefaults() Options {
	o.Yes = cmp.Or(o.Yes, yesDefault)
	o.No = cmp.Or(o.No, noDefault)
	return o
}

// Needs returns "TOOLS" if no tools are configured, or "". Without the names of the tools, the
// dialect cannot know which calls ask.
func (o Options) Needs() string {
	if len(o.Ask) == 0 {
		return "TOOLS"
	}
	return ""
}

// Check returns the errors in the options.
func (o Options) Check() []error {
	errs := kit.WrongOption("ASK", o.Ask.Check())
	if _, err := o.words(); err != nil && !o.approves() {
		name := "YES"
		if wrong := (*yesno.WordError)(nil); errors.As(err, &wrong) {
			if err = wrong.Err; wrong.No {
				name = "NO"
			}
		}
		errs = append(errs, kit.WrongOption(name, err)...)
	}
	return errs
}

// approves reports whether a backend could read the content for No as a yes. Package dialects
// reports this error, so Check leaves it out.
func (o Options) approves() bool {
	return slices.ContainsFunc(o.withDefaults().No.Denials(), func(denial json.RawMessage) bool { return kit.JSON(denial).DeniesOnly() != nil })
}

func (o Options) words() (yesno.Words, error) {
	o = o.withDefaults()
	return yesno.NewWords(o.Yes, o.No)
}
