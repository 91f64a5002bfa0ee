package listen

// IsSet reports whether the Address was made by Parse, and is not the zero Address.
func (a Address) IsSet() bool { return a != Address{} }

// offValue is the value of a variable that switches a listener off.
const offValue = "off"

// A Variable is an environment variable that contains an address to listen on, or off. Its field
// Address is set after Check.
type Variable struct {
	text    string
	Address Address
}

// UnmarshalText accepts any text. Check returns what is wrong with it.
func (v *Variable) UnmarshalText(text []byte) error {
	*v = Variable{text: string(text)}
	return nil
}

// String returns the text of the variable.
func (v Variable) String() string { return v.text }

// IsOff reports whether the listener is switched off.
func (v Variable) IsOff() bool { return v.text == offValue }

// Check parses the text and sets Address.
func (v *Variable) Check() error {
	address, err := Parse(v.text)
	if err == nil {
		v.Address = address
	}
	return err
}
