package desk

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
)

// A Caller is who shows a token. Every token has all rights.
type Caller struct{ Name string }

// Operator is the name of whoever shows a token that was given without a name.
const Operator = "operator"

// A Token is what a Desk keeps of one.
type Token struct {
	Caller
	hash [sha256.Size]byte
}

// Tokens are those that are taken at the moment. The zero Tokens are none.
type Tokens struct{ list atomic.Pointer[[]Token] }

// Set takes these tokens from now on, and no others.
func (t *Tokens) Set(list []Token) { t.list.Store(&list) }

// caller is whose token the values of Authorization show, nil if it is nobody's. shown says whether
// one was shown at all.
func (t *Tokens) caller(authorization []string) (_ *Caller, shown bool) {
	if len(authorization) == 0 {
		return nil, false
	}
	scheme, token, ok := strings.Cut(authorization[0], " ")
	if token = strings.TrimLeft(token, " "); len(authorization) > 1 || !ok || !strings.EqualFold(scheme, "bearer") || token == "" {
		return nil, true
	}
	list := t.list.Load()
	if list == nil {
		return nil, true
	}
	// The hash is compared, so that the time tells nothing of a token. All are looked at.
	hash := sha256.Sum256([]byte(token))
	var found *Caller
	for n := range *list {
		if subtle.ConstantTimeCompare(hash[:], (*list)[n].hash[:]) == 1 {
			found = &(*list)[n].Caller
		}
	}
	return found, true
}

// MinToken is how short a token may be, in characters. MaxName bounds a name, in bytes.
const (
	MinToken = 32
	MaxName  = 100
)

// bearer are the signs of a bearer token (RFC 6750, section 2.1).
const bearer = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/="

// ParseTokens reads tokens, one a line: a token by itself is the operator's, and a name with
// sha256: and the hash of a token in hex is that caller's. Lines that begin with # are skipped. An
// error never has a part of a token.
func ParseTokens(text string) ([]Token, error) {
	var list []Token
	var errs []error
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		t, err := parseToken(line)
		if err == nil && slices.ContainsFunc(list, func(o Token) bool { return o.hash == t.hash }) {
			err = errors.New("the token stands there twice")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", n, err))
			continue
		}
		list = append(list, t)
	}
	if len(list) == 0 && errs == nil {
		errs = append(errs, errors.New("there is no token in it, such as openssl rand -hex 32 makes"))
	}
	return list, errors.Join(errs...)
}

func parseToken(line string) (Token, error) {
	fields := strings.Fields(line)
	switch {
	case len(fields) == 1:
		return oneToken(line)
	case len(fields) > 2:
		return Token{}, errors.New("there are more than two words, want a token, or a name and sha256: with the hash of a token. Groups and rights come with the rest of the desk: now every token has all rights")
	case len(fields[0]) > MaxName || strings.ContainsFunc(fields[0], unicode.IsControl):
		return Token{}, fmt.Errorf("the name has control characters, or more than %d bytes", MaxName)
	}
	digits, ok := strings.CutPrefix(fields[1], "sha256:")
	hash, err := hex.DecodeString(digits)
	if !ok || err != nil || len(hash) != sha256.Size {
		return Token{}, errors.New("the second word is no hash, want sha256: and 64 hex digits, such as printf %s TOKEN | sha256sum makes")
	}
	return Token{Caller: Caller{Name: fields[0]}, hash: [sha256.Size]byte(hash)}, nil
}

func oneToken(token string) (Token, error) {
	switch {
	case strings.Trim(token, bearer) != "":
		return Token{}, errors.New("the token has other signs than letters, digits and - . _ ~ + / =, want one such as openssl rand -hex 32 makes")
	case len(token) < MinToken:
		return Token{}, fmt.Errorf("the token has %d characters, want at least %d, such as openssl rand -hex 32 makes", len(token), MinToken)
	}
	return Token{Caller: Caller{Name: Operator}, hash: sha256.Sum256([]byte(token))}, nil
}
