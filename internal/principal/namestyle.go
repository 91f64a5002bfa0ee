package principal

// A NameStyle selects how the log, the audit and the desk name a principal.
type NameStyle string

// ShowHash shows the keyed hash with which records identify their owner. ShowName shows the name.
// ShowNone shows nothing. The zero value means ShowHash.
const (
	ShowHash NameStyle = "hash"
	ShowName NameStyle = "name"
	ShowNone NameStyle = "none"
)

// NameOf returns the name or the hash of a principal, or neither, but never both. The value that is
// not shown is "". If the request has no principal, both are "".
func (s NameStyle) NameOf(who Identity) (name, hash string) {
	switch s {
	case ShowNone:
		return "", ""
	case ShowName:
		return who.principal, ""
	}
	return "", who.owner.ID()
}
