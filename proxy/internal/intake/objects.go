package intake

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// readObject reads a body that begins like a JSON object.
func (t *Intake) readObject(req *http.Request, body []byte, as bodyType) (in agui.RunInput, isRun bool, err error) {
	switch {
	case agui.ObjectElsewhere(body) == agui.OtherEncoding:
		return in, false, refuse(http.StatusBadRequest, textByteOrderMark)
	case !as.charset.mayPass(body):
		return in, false, unsupportedBody(textNotUTF8)
	}
	object := body
	if utf8.Valid(body) {
		in, isRun, err = agui.ParseUTF8Input(body)
	} else if as.json || isObject(body) {
		return in, false, refuse(http.StatusBadRequest, textInvalidUTF8)
	} else {
		in, isRun, err = agui.ParseInput(body)
	}
	if errors.Is(err, agui.ErrNoJSON) {
		object, err = objectForSomebody(body), nil
		if object != nil {
			_, isRun, _ = agui.ParseInput(object)
		}
		if as.json || isRun || agui.TooDeep(body) {
			return in, false, refuse(http.StatusBadRequest, textNotJSON)
		}
	}
	if err == nil && object != nil && (isRun || agui.HasMessages(object)) {
		err = checkKeys(object, &in)
	}
	switch {
	case err != nil:
		return in, isRun, refuse(http.StatusBadRequest, err.Error())
	case !isRun && object != nil:
		if why := t.refuseOutsideRun(object, req.URL.Path); why != "" {
			err = refuse(http.StatusBadRequest, why)
		}
	}
	return in, isRun, err
}

// checkKeys returns an error if a key occurs twice in an object, because a backend may then read
// another value than Holdpoint. The object is a run, or has messages, which some backends accept as
// a run. in is the run that was read from the object. If command.resume is JSON text, the answer in
// it is checked too, because adapters parse the text.
func checkKeys(object []byte, in *agui.RunInput) error {
	if err := agui.CheckKeys(object, agui.KeysOfRun); err != nil {
		return &agui.InputError{Reason: err.Error()}
	}
	if sent, ok := in.CommandResume(); ok {
		if err := kit.CheckText(gjson.ParseBytes(sent), agui.KeysOfAnswer); err != nil {
			return &agui.InputError{Reason: err.Error() + textInCommand}
		}
	}
	return nil
}

// isObject reports whether some backend would find a JSON object in a body that is not valid UTF-8.
// Some accept any bytes as text, and others skip invalid bytes. Jackson reads some letters from two
// bytes (0xC1 0xB4 is a t), so Holdpoint does not know the keys of such an object.
func isObject(body []byte) bool {
	for _, one := range [][]byte{body, bytes.ToValidUTF8(body, nil)} {
		if agui.ValidJSON(one) || objectForSomebody(one) != nil {
			return true
		}
	}
	return false
}

// refuseOutsideRun returns why an object that is not a run must not pass, "" if it may pass. An
// object must not pass if it has an approval in a backend's own form, because some endpoint of the
// backend may accept the approval. Nor must it pass if it is incomplete as a run, but the backend
// accepts it as one.
func (t *Intake) refuseOutsideRun(object []byte, path string) string {
	spoken := t.dialectAt(RecordPath(path))
	if t.history != nil {
		for one := range t.history.Replies(kit.ReadObject(object), spoken) {
			if one.Decides || one.DecidesUnlessResult || one.DecidesUnlessLeft {
				return textApprovalOutsideRun
			}
		}
	}
	if t.taker == nil {
		return ""
	}
	return t.taker.Takes(object, spoken)
}

// objectForSomebody returns the object that some backend would find in a body that is not valid
// JSON, nil if no backend would find one. Python's json.loads accepts NaN, Infinity and -Infinity
// as numbers, and Go's json.Decoder reads the first value and ignores the rest of the body. A run
// in such a body is refused.
func objectForSomebody(body []byte) []byte {
	var first json.RawMessage
	if json.NewDecoder(bytes.NewReader(withoutNaN(body))).Decode(&first) != nil {
		return nil
	}
	return first
}

// withoutNaN returns the body with each NaN, Infinity and -Infinity outside of strings replaced by
// 0.
func withoutNaN(body []byte) []byte {
	var out []byte
	inString := false
	for i := 0; i < len(body); i++ {
		c := body[i]
		switch {
		case inString && c == '\\' && i+1 < len(body):
			out = append(out, c)
			i++
			c = body[i]
		case c == '"':
			inString = !inString
		case !inString:
			if n := agui.PythonNumber(body[i:]); n > 0 {
				out = append(out, '0')
				i += n - 1
				continue
			}
		}
		out = append(out, c)
	}
	return out
}
