package dialects

// The texts of errors of the configuration, which an operator reads when Holdpoint starts, and from
// holdpoint check.
const (
	textNoDialect    = "dialects: there is no dialect %q, want one of %s"
	textNoMeaning    = "its field has no tag means, which declares for which answers the value is sent"
	textWrongMeaning = "its field has a tag means:%q, which its type, %s, cannot have"
	textNotSet       = "%s is not set, and dialect %s needs it"
	textNotSetFor    = "%s is not set, and dialect %s needs it: %s"
)
