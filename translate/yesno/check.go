package yesno

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"holdpoint/translate/kit"
)

var errContains = errors.New(textContains)

// checkNo returns an error if one of the readers that the comment on NewWords describes could read
// the content for no as the content for yes.
func (w Words) checkNo() error {
	yes, no := w.yes, w.no
	switch {
	case yes.isObject() != no.isObject(), yes.isJSON != no.isJSON:
		return errors.New(textTwoForms)
	case yes.isObject():
		return w.checkObjects()
	case yes.isJSON && (yes.value.Type != gjson.String || no.value.Type != gjson.String):
		return checkValues(yes.value, no.value)
	}
	said := kit.Text(no.text)
	if err := said.DeniesOnly(); err != nil {
		return err
	}
	return checkWords(yes.text, no.text)
}

// checkValues compares JSON values that are not objects. It returns an error unless yes counts as
// true and no counts as false, because a backend may only test this.
func checkValues(yes, no gjson.Result) error {
	if err := kit.JSON(no.Raw).DeniesOnly(); err != nil {
		return err
	}
	if truthy(yes) && !truthy(no) {
		return nil
	}
	return fmt.Errorf(textSameTruth, no.Raw, yes.Raw)
}

// checkWords compares two texts. It returns an error if one contains the other, because a backend
// may search the answer for one of them.
func checkWords(yes, no string) error {
	yes, no = fold(yes), fold(no)
	if yes == "" || no == "" {
		return errors.New(textNoLetters)
	}
	if strings.Contains(no, yes) || strings.Contains(yes, no) {
		return errContains
	}
	return nil
}

// checkObjects compares two objects. A backend may read any single member that differs between
// them, so each of these members must show the difference between a yes and a no.
func (w Words) checkObjects() (err error) {
	empty := w.no.with(reasonPlace, []byte(`""`))
	if err := kit.JSON(empty).DeniesOnly(); err != nil {
		return err
	}
	if len(w.differences) == 0 {
		return errors.New(textSameMembers)
	}
	for _, path := range w.differences {
		said, instead := valueAt(w.yes.value, path), valueAt(w.no.value, path)
		name := strings.Join(path, ".")
		switch {
		case !instead.Exists():
			return fmt.Errorf(textMissingMember, name)
		case said.Type == gjson.String && instead.Type == gjson.String:
			if err := checkWords(said.Str, instead.Str); err != nil {
				return fmt.Errorf("%q: %w", name, err)
			}
		case truthy(said) && truthy(instead):
			return fmt.Errorf(textSameMemberTruth, name, said.Raw, instead.Raw)
		}
	}
	if !w.denies(string(empty)) {
		return errors.New(textHasYesWord)
	}
	return nil
}

// denies reports whether a content made from the template for no is certainly a no: none of the
// readers that the comment on NewWords describes reads it as a yes. Each content must be checked,
// because a reason may contain any words.
func (w Words) denies(content string) bool {
	if !w.yes.isObject() {
		return true // only objects can contain a reason, and NewWords has checked this no
	}
	if kit.JSON(content).DeniesOnly() != nil {
		return false
	}
	folded := fold(content)
	for _, path := range w.differences {
		word := ""
		switch said := valueAt(w.yes.value, path); said.Type {
		case gjson.True:
			word = "true"
		case gjson.String:
			word = fold(said.Str)
		}
		if word != "" && strings.Contains(folded, word) {
			return false
		}
	}
	return true
}

// truthy reports whether v counts as true in a program that only tests a value for true or false.
func truthy(v gjson.Result) bool {
	switch v.Type {
	case gjson.True, gjson.JSON:
		return true
	case gjson.Number:
		return v.Num != 0
	case gjson.String:
		return v.Str != ""
	}
	return false
}

// fold returns the letters and digits of a text, in lower case.
func fold(text string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return -1
		}
		return unicode.ToLower(c)
	}, text)
}
