package phrases

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"holdpoint/translate/kit"
)

// Options are the settings of the dialect, HOLDPOINT_PHRASES_*.
type Options struct {
	Ask List     `env:"ASK" means:"nothing" doc:"phrases that ask for a confirmation, if the last text of a run contains one: phrase;phrase. default stands for a list of English ones. Without it no text counts as a question"`
	Yes kit.Text `env:"YES" means:"yes" envDefault:"Yes, please proceed." doc:"user message that the backend gets for a yes"`
	No  kit.Text `env:"NO" means:"no" envDefault:"No. Do not do it." doc:"user message that the backend gets for a no and for a cancel"`
}

func (o Options) withDefaults() Options {
	o.Yes = cmp.Or(o.Yes, yesDefault)
	o.No = cmp.Or(o.No, noDefault)
	return o
}

// Needs returns "ASK" if no phrases are configured, or "".
func (o Options) Needs() string {
	if len(o.Ask) == 0 {
		return "ASK"
	}
	return ""
}

// Check returns the errors in the options.
func (o Options) Check() []error {
	return append(kit.WrongOption("YES", o.checkYes()), kit.WrongOption("NO", o.checkNo())...)
}

func (o Options) checkYes() error {
	if o.Yes != "" && len(o.Yes.Words()) == 0 {
		return errors.New(textNotYes)
	}
	return nil
}

// checkNo returns an error if the text for no contains the words of the text for yes.
func (o Options) checkNo() error {
	o = o.withDefaults()
	if o.No.DeniesOnly() != nil {
		return nil // package dialects reports that error for every such option
	}
	no, yes := strings.Join(o.No.Words(), " "), strings.Join(o.Yes.Words(), " ")
	if no != "" && yes != "" && strings.Contains(" "+no+" ", " "+yes+" ") {
		return errors.New(textNoHasYes)
	}
	return nil
}

// A List is a list of phrases in lower case.
type List []string

// leastPhrase is the minimum size of a phrase in bytes. A shorter phrase would be found in every
// text.
const leastPhrase = 3

// english is the list of phrases of superagent (superagent-base, pkg/agentdef/interrupt.go).
var english = [...]string{
	"please confirm", "do you confirm", "are you sure", "shall i proceed", "would you like me to proceed", "do you want to proceed",
	"do you want me to", "should i go ahead", "confirm before", "confirmation required", "waiting for your confirmation", "need your approval",
}

// UnmarshalText parses the value of HOLDPOINT_PHRASES_ASK.
func (l *List) UnmarshalText(text []byte) error {
	*l = nil
	for phrase := range strings.SplitSeq(string(text), ";") {
		phrase = strings.ToLower(strings.TrimSpace(phrase))
		switch {
		case phrase == "":
		case phrase == "default":
			*l = append(*l, english[:]...)
		case len(phrase) < leastPhrase:
			return fmt.Errorf(textShortPhrase, phrase, leastPhrase)
		default:
			*l = append(*l, phrase)
		}
	}
	if len(*l) == 0 {
		return errors.New(textNoPhrases)
	}
	return nil
}

// String returns the list as it is written in HOLDPOINT_PHRASES_ASK.
func (l List) String() string { return strings.Join(l, ";") }

// firstIn returns the first phrase of the list that the text contains, and the offset of the phrase
// in the lower-case text. If the text contains no phrase, it returns "" and 0.
func (l List) firstIn(text string) (phrase string, at int) {
	text = strings.ToLower(text)
	for _, p := range l {
		if at := strings.Index(text, p); at >= 0 {
			return p, at
		}
	}
	return "", 0
}
