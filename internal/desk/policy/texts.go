package policy

// The errors in the file of HOLDPOINT_POLICY, which an operator reads. Each text says what is wrong
// and what is wanted.

// Errors in the policy file.
const (
	textTooLarge       = "it has more than %d bytes"
	textEmpty          = "it is empty, want access: with an entry for each caller or group that has rights (docs/desk.md#rights)"
	textSecondDocument = "line %d: a second document begins, want one: leave out the --- before it"
	textLaterKey       = "%s: a later version of Holdpoint reads this key, and this one would ignore it: leave it out, or use that version"
	textFileKey        = "%s is not a key of the file, want access"
	textNoAccess       = "access is missing, want access: with an entry for each caller or group that has rights"
	textAccessList     = "access: want a list with an entry for each caller or group that has rights"
	textManyEntries    = "access: there are more than %d entries"
	textTenantStar     = "tenants: %s is not the name of a tenant: a * alone means all tenants, and cannot be a part of a name"
	textRight          = "rights: %s is not a right, want some of %s"
	textEntryKey       = "%s is not a key of an entry, want names, groups, agents, tenants or rights"
	textForNobody      = "the entry gives rights to nobody: want names or groups, such as names: [alice]"
	textNoAgents       = "agents is missing, want the names of agents, such as billing*, or \"*\" for all"
	textNoRights       = "rights is missing, want some of %s"
	textNoMapping      = "%s is not a mapping, want keys with values"
	textKeyText        = "a key is not plain text"
	textKeyTwice       = "%s is there twice: it is in line %d already"
	textWantList       = "%s: want a list, such as [%s]"
	textNotText        = "%s: %s is not a text: put a value that looks like a number, or is true or false, in quotes"
	textWantTexts      = "%s: want texts of 1 to %d bytes, without control characters and spaces around them"
	textStarHere       = "%s: a * has no meaning here: want full names"
	textTwice          = "%s: %s is there twice"
)

// Names of parts of the file.
const (
	textWholeFile = "the file"
	textEntry     = "an entry"
)
