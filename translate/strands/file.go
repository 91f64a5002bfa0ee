package strands

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// These methods parse the members of the operator's file that describes a Strands server.

func (b *Body) read(raw json.RawMessage) error {
	*b = Body(raw)
	return b.check()
}

var errHeaders = errors.New(textNotHeaders)

func (h *Headers) read(raw json.RawMessage) error {
	object := gjson.ParseBytes(raw)
	if !agui.ValidJSON(raw) || !object.IsObject() {
		return errHeaders
	}
	*h = Headers{} // an empty object means no headers, not the default headers
	var err error
	object.ForEach(func(name, value gjson.Result) bool {
		if value.Type != gjson.String {
			err = fmt.Errorf("%s: %w", name.Str, errHeaders)
			return false
		}
		err = h.add(name.Str, strings.TrimSpace(value.Str))
		return err == nil
	})
	return err
}

func (h *Headers) add(name, value string) error {
	switch {
	case !isToken(name):
		return fmt.Errorf(textNotHeader, name)
	case value == "":
		return fmt.Errorf(textEmptyHeader, name)
	case strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c >= 0x7f }):
		return fmt.Errorf(textHeaderCharacter, name)
	case strings.Contains(strings.ReplaceAll(value, "$session", ""), "$"):
		return fmt.Errorf(textHeaderPlaceholder, value)
	case slices.Contains(ownHeaders, strings.ToLower(name)):
		return fmt.Errorf(textOwnHeader, name)
	}
	name = canonical(name)
	if slices.ContainsFunc(*h, func(one header) bool { return one.name == name }) {
		return fmt.Errorf(textHeaderTwice, name)
	}
	*h = append(*h, header{name, value})
	return nil
}

// ownHeaders are the names of headers that belong to the HTTP message itself. Holdpoint sets them,
// so the operator's file must not.
var ownHeaders = []string{
	"host", "content-length", "transfer-encoding", "connection", "content-encoding",
	"te", "trailer", "upgrade", "keep-alive",
}

// Paths are patterns of path.Match, in lower case.
type Paths []string

func (p *Paths) read(raw json.RawMessage) error {
	var list []string
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return errors.New(textNotPaths)
	}
	var paths Paths
	for _, one := range list {
		// Holdpoint compares the shortest form of a request's path. If a pattern was in a longer
		// form, it would match no path, and all requests would pass untranslated.
		short := path.Clean(one)
		_, err := path.Match(one, "")
		if err != nil || !strings.HasPrefix(one, "/") || short != one && short+"/" != one {
			return fmt.Errorf(textNotPath, one)
		}
		paths = append(paths, strings.ToLower(short))
	}
	*p = paths
	return nil
}

func readSwitch(on *bool) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		if *on = string(raw) == "true"; !*on && string(raw) != "false" {
			return errors.New(textNotSwitch)
		}
		return nil
	}
}
