package principal

// NameStyle says how a principal is named where people read it: in the log, in the audit.
type NameStyle string

// ShowHash: by the keyed hash that records name their owner by. ShowName: by its name. ShowNone:
// not at all. The zero value is ShowHash.
const (
	ShowHash NameStyle = "hash"
	ShowName NameStyle = "name"
	ShowNone NameStyle = "none"
)

// Of names who: by the name or by the hash, never both. Both are "" without a principal.
func (s NameStyle) Of(who Identity) (name, hash string) {
	switch s {
	case ShowNone:
		return "", ""
	case ShowName:
		return who.principal, ""
	}
	return "", who.owner.ID()
}
