package listen

// Given reports whether the address was parsed, which the zero Address was not.
func (a Address) Given() bool { return a != Address{} }

// off is the value of a variable for no listener.
const off = "off"

// A Variable is an address to listen on as a variable has it. Check must have been called before
// Address counts.
type Variable struct {
	text    string
	Address Address
}

// UnmarshalText takes any text. Check says what is wrong with it.
func (v *Variable) UnmarshalText(text []byte) error {
	*v = Variable{text: string(text)}
	return nil
}

// String returns the form that is read.
func (v Variable) String() string { return v.text }

// Off reports whether no listener is wanted.
func (v Variable) Off() bool { return v.text == off }

// Check reads the address.
func (v *Variable) Check() error {
	address, err := Parse(v.text)
	if err == nil {
		v.Address = address
	}
	return err
}
