package variables

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
)

// A Secret is a value that must not appear in a log. Either its variable contains the value, or a
// second variable names a file that contains the value. The name of the second variable ends in
// _FILE.
type Secret struct {
	text string
	File string // the file that the variable with _FILE names, or ""
}

var secretType = reflect.TypeFor[Secret]()

// UnmarshalText accepts any text. So no error of it can contain a part of the secret.
func (s *Secret) UnmarshalText(text []byte) error {
	s.text = string(text)
	return nil
}

// String returns "(set)" if the variable itself has a value, and "" otherwise.
func (s Secret) String() string {
	if s.text == "" {
		return ""
	}
	return "(set)"
}

// IsSet reports whether the variable or the variable with _FILE is set.
func (s Secret) IsSet() bool { return s.text != "" || s.File != "" }

// InVariable reports whether the variable itself has a value.
func (s Secret) InVariable() bool { return s.text != "" }

// Read returns the secret, or "" if it is not set. If the secret is in a file, Read reads the file
// each time. name is the name of the variable, for errors.
func (s Secret) Read(name string) (string, error) {
	if s.File == "" {
		return s.text, nil
	}
	name += fileSuffix
	if s.text != "" {
		return "", ErrorAt(name, errors.New(textOneForm))
	}
	text, err := os.ReadFile(s.File)
	if err != nil {
		return "", ErrorAt(name, err)
	}
	if text := strings.TrimSpace(string(text)); text != "" {
		return text, nil
	}
	return "", ErrorAt(name, errors.New(textEmptyFile))
}

// VariableName returns the name of the variable that is to blame for a wrong value: name with _FILE
// if that is set, and otherwise name.
func (s Secret) VariableName(name string) string {
	if s.File != "" {
		return name + fileSuffix
	}
	return name
}

const fileSuffix = "_FILE"

// fileVariable returns the variable that names the file of the secret v.
func fileVariable(v Variable, key, doc, file string) Variable {
	if doc == "" {
		doc = fmt.Sprintf(textFileOf, key)
	}
	return Variable{Name: v.Name + fileSuffix, Doc: doc, Value: file, IsDefault: file == ""}
}

// setFiles sets the field File of each Secret in options.
func (g Group) setFiles(options reflect.Value, environment map[string]string) {
	for f, value := range options.Fields() {
		key, tagged := f.Tag.Lookup("env")
		switch {
		case tagged && f.Type == secretType:
			value.FieldByName("File").SetString(environment[g.Prefix+key+fileSuffix])
		case !tagged && f.Anonymous && f.Type.Kind() == reflect.Struct:
			g.setFiles(value, environment)
		}
	}
}
