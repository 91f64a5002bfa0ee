package api

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"holdpoint/store"
)

// A cursor is a position in a list. It follows the row with Opened and Key, on the page of the
// store that begins at After.
type cursor struct {
	After  string    `json:"a,omitempty"`
	Opened time.Time `json:"o,omitzero"`
	Key    store.Key `json:"k,omitempty"`
}

// cursorFor returns the text of a cursor that the caller gets. If the caller's rights are limited,
// the cursor is encrypted, because it may point to a row that the caller may not list. The same
// cursor always has the same text, because the list's ETag contains it.
func (d *Desk) cursorFor(who *Caller, c cursor) string {
	text, _ := json.Marshal(c) // json.Marshal cannot fail here
	if who.access != nil {
		key := (*d.sessions.keys.list.Load())[0]
		mark := cursorMark(key, text)
		cursorStream(key, mark).XORKeyStream(text, text)
		text = slices.Concat(mark, text)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// cursorOf parses a text that cursorFor has returned. Processes that accept each other's sessions
// can also read each other's encrypted cursors.
func (d *Desk) cursorOf(who *Caller, text string) (c cursor, err error) {
	if text == "" {
		return c, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil && who.access != nil {
		raw, err = d.decryptCursor(raw)
	}
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	return c, err
}

func (d *Desk) decryptCursor(raw []byte) ([]byte, error) {
	if len(raw) < aes.BlockSize {
		return nil, errCursorSeal
	}
	mark, sealed := raw[:aes.BlockSize], raw[aes.BlockSize:]
	for _, key := range *d.sessions.keys.list.Load() {
		text := make([]byte, len(sealed))
		cursorStream(key, mark).XORKeyStream(text, sealed)
		if hmac.Equal(mark, cursorMark(key, text)) {
			return text, nil
		}
	}
	return nil, errCursorSeal
}

var errCursorSeal = errors.New("desk: a cursor that no key of this process has sealed")

// cursorMark returns the beginning of an encrypted cursor: a checksum of the cursor, which is also
// the initialization vector of the encryption. GCM with a nonce that is derived from the text would
// do the same, but GODEBUG=fips140=only forbids that.
func cursorMark(key, text []byte) []byte {
	return derivedKey(key, "cursor's mark", text)[:aes.BlockSize]
}

// cursorStream returns the stream that encrypts and decrypts a cursor. Its key is derived for
// cursors only.
func cursorStream(key, mark []byte) cipher.Stream {
	block, _ := aes.NewCipher(derivedKey(key, "cursor", nil)) // the key has the right size
	return cipher.NewCTR(block, mark)
}

// derivedKey derives a key from key, for one purpose and one text.
func derivedKey(key []byte, purpose string, text []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("holdpoint desk " + purpose + " 1\x00"))
	mac.Write(text)
	return mac.Sum(nil)
}

// precision is the precision of the times by which the store sorts the rows of its list.
const precision = time.Microsecond

// isPast reports whether the row r is not after the cursor, so that an earlier page has had it.
func (c cursor) isPast(r store.Row) bool {
	if c.Key == "" {
		return false
	}
	if at := r.Opened.Truncate(precision).Compare(c.Opened); at != 0 {
		return at < 0
	}
	return r.Key <= c.Key
}
