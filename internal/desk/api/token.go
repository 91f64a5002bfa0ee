package api

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
)

// Operator is the name of the caller if the token has no name.
const Operator = "operator"

// A Token is what the desk keeps of a token: its owner and its hash.
type Token struct {
	Name   string
	Groups []string
	hash   [sha256.Size]byte
}

// NewToken makes a random token for a caller with this name. text is the token itself.
func NewToken(name string) (text string, _ Token) {
	text = rand.Text() + rand.Text()
	return text, Token{Name: name, hash: sha256.Sum256([]byte(text))}
}

// caller returns the caller to whom the token belongs.
func (t *Token) caller() *Caller { return &Caller{Name: t.Name, Groups: t.Groups} }

// Tokens is the set of valid tokens. The zero Tokens is empty.
type Tokens struct{ list atomic.Pointer[[]Token] }

// Set replaces the tokens.
func (t *Tokens) Set(list []Token) { t.list.Store(&list) }

// allTokens returns an iterator over the valid tokens.
func (t *Tokens) allTokens() iter.Seq2[int, *Token] {
	list := t.list.Load()
	return func(yield func(int, *Token) bool) {
		for n := 0; list != nil && n < len(*list); n++ {
			if !yield(n, &(*list)[n]) {
				return
			}
		}
	}
}

// bearer returns the valid token in the values of the header Authorization, or nil if there is
// none.
func (t *Tokens) bearer(authorization []string) *Token {
	scheme, token, ok := strings.Cut(authorization[0], " ")
	if len(authorization) > 1 || !ok || !strings.EqualFold(scheme, "bearer") {
		return nil
	}
	return t.find(strings.TrimLeft(token, " "))
}

// find returns the valid token with this text, or nil if there is none.
func (t *Tokens) find(text string) *Token {
	if text == "" {
		return nil
	}
	// The hash is compared with every token, so that the time reveals nothing about a token.
	hash := sha256.Sum256([]byte(text))
	var found *Token
	for _, one := range t.allTokens() {
		if subtle.ConstantTimeCompare(hash[:], one.hash[:]) == 1 {
			found = one
		}
	}
	return found
}

// MinToken is the smallest length of a token, in characters. MaxName is the largest length of a
// name, in bytes.
const (
	MinToken = 32
	MaxName  = 100
)

// bearer has all characters that a bearer token may contain (RFC 6750, section 2.1).
const bearer = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/="

// ParseTokens parses tokens, one in each line. A line with only a token is a token of the operator.
// A line of another caller has a name, then optional groups, and then sha256: with the hash of the
// token in hex. Lines that begin with # are skipped. An error never contains a part of a token.
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
			err = errors.New(textTokenTwice)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", n, err))
			continue
		}
		list = append(list, t)
	}
	if len(list) == 0 && errs == nil {
		errs = append(errs, errors.New(textNoTokenInFile))
	}
	return list, errors.Join(errs...)
}

func parseToken(line string) (Token, error) {
	fields := strings.Fields(line)
	if len(fields) == 1 {
		return oneToken(line)
	}
	last := len(fields) - 1
	digits, ok := strings.CutPrefix(fields[last], "sha256:")
	hash, err := hex.DecodeString(digits)
	if !ok || err != nil || len(hash) != sha256.Size {
		return Token{}, errors.New(textNoHash)
	}
	t := Token{Name: fields[0], hash: [sha256.Size]byte(hash)}
	for _, word := range fields[1:last] {
		for group := range strings.SplitSeq(word, ",") {
			if group != "" {
				t.Groups = append(t.Groups, group)
			}
		}
	}
	for n, word := range append([]string{t.Name}, t.Groups...) {
		if len(word) > MaxName || strings.ContainsFunc(word, unicode.IsControl) {
			return Token{}, fmt.Errorf(textBadWord, map[bool]string{true: "name", false: "group"}[n == 0], MaxName)
		}
	}
	return t, nil
}

func oneToken(token string) (Token, error) {
	switch {
	case strings.Trim(token, bearer) != "":
		return Token{}, errors.New(textTokenSigns)
	case len(token) < MinToken:
		return Token{}, fmt.Errorf(textShortToken, len(token), MinToken)
	}
	return Token{Name: Operator, hash: sha256.Sum256([]byte(token))}, nil
}
