package variables

import (
	"errors"
	"os"
	"reflect"
	"strings"
)

// A Secret is a value that no log may hold. It is in its variable, or in the file that the variable
// of the same name with _FILE names.
type Secret struct {
	text string
	File string // "" if no file is named
}

var secretType = reflect.TypeFor[Secret]()

// UnmarshalText takes any text, so that no error holds it.
func (s *Secret) UnmarshalText(text []byte) error {
	s.text = string(text)
	return nil
}

// String reports only that the variable has a value.
func (s Secret) String() string {
	if s.text == "" {
		return ""
	}
	return "(set)"
}

// IsSet reports whether there is a value, or a file that is to have one.
func (s Secret) IsSet() bool { return s.text != "" || s.File != "" }

// InVariable reports whether the variable itself has a value.
func (s Secret) InVariable() bool { return s.text != "" }

// Read returns the secret, "" if there is none. It reads the file each time. name is that of the
// variable, for the error.
func (s Secret) Read(name string) (string, error) {
	if s.File == "" {
		return s.text, nil
	}
	name += fileSuffix
	if s.text != "" {
		return "", At(name, errors.New("it is set beside the variable of the same name without _FILE, want one of them"))
	}
	text, err := os.ReadFile(s.File)
	if err != nil {
		return "", At(name, err)
	}
	if text := strings.TrimSpace(string(text)); text != "" {
		return text, nil
	}
	return "", At(name, errors.New("the file is empty"))
}

// Blame returns the name of the variable that has the value: name, or that of the file.
func (s Secret) Blame(name string) string {
	if s.File != "" {
		return name + fileSuffix
	}
	return name
}

const fileSuffix = "_FILE"

// twin returns the variable of the file for the secret v.
func twin(v Variable, key, doc, file string) Variable {
	if doc == "" {
		doc = "file with the value of " + key
	}
	return Variable{Name: v.Name + fileSuffix, Doc: doc, Value: file, IsDefault: file == ""}
}

// setFiles sets the files of the secrets.
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
