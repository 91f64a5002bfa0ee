package certificates

import (
	"fmt"
	"slices"
	"strings"
)

// OpenNamed opens the files. It returns nil if no file is set. Errors name the environment
// variables. The name of a variable is prefix followed by the parameter cert, key or ca.
func OpenNamed(files Files, prefix, cert, key, ca string) (*Set, error) {
	var named []string
	for name, file := range map[string]string{cert: files.Cert, key: files.Key, ca: files.CA} {
		if file != "" {
			named = append(named, prefix+name)
		}
	}
	if (files.Cert == "") != (files.Key == "") {
		return nil, fmt.Errorf(textCertificateAndKey, prefix, cert, prefix, key)
	}
	if named == nil {
		return nil, nil
	}
	set, err := Open(files)
	if err != nil {
		slices.Sort(named)
		return nil, fmt.Errorf("%s: %w", strings.Join(named, ", "), err)
	}
	return set, nil
}
