package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// The codes of errors that are looked at.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	codeWarning       = "01000"
	codeSerialization = "40001"
	codeDeadlock      = "40P01"
	codeReadOnly      = "25006"
	codeProtocol      = "08P01" // PgBouncer says so of much
)

// remedies are what an operator can do about an error, by its code. A code of two characters is a
// whole class of them.
var remedies = map[string]string{
	codeReadOnly: "the server takes no changes: it is a standby, or set to be read only. The address must lead to the primary",
	"28":         "the server refuses the role or its password",
	"3D000":      "there is no such database",
	"3F000":      "there is no such schema. A DBA can make it: holdpoint store schema",
	"42501":      "the role may not do that. It needs SELECT, INSERT, UPDATE and DELETE on the tables, and CREATE only to make them: holdpoint store schema",
	"42P01":      "a table is not there. A DBA can make it: holdpoint store schema",
	"42703":      "a table has not the columns that it should have: holdpoint store schema",
	"53100":      "the server's disk is full",
	"53300":      "the server has no connection left. pool_max_conns in HOLDPOINT_STORE is how many Holdpoint takes",
	"57014":      "the server ended the statement, as a timeout of its own or a person told it to",
	"57P03":      "the server is starting or ending",
	"58030":      "the server cannot read or write its disk",
}

// operatorError returns an error as an operator should read it.
func operatorError(err error) error {
	if err == nil {
		return nil
	}
	if remedy := remedyOf(err); remedy != "" {
		return fmt.Errorf("postgres: %s: %w", remedy, err)
	}
	return fmt.Errorf("postgres: %w", err)
}

func remedyOf(err error) string {
	code := codeOf(err)
	for len(code) >= 2 {
		if r := remedies[code]; r != "" {
			return r
		}
		if len(code) == 2 {
			break
		}
		code = code[:2]
	}
	if refusedByBouncer(err) {
		return remedies["28"]
	}
	return ""
}

// codeOf returns the SQLSTATE of an error, or "".
func codeOf(err error) string {
	var p *pgconn.PgError
	if errors.As(err, &p) {
		return p.Code
	}
	return ""
}

// overtaken says that nothing was done, because another one did something at the same time. With
// the default isolation the server does not say so; a role may have another one.
func overtaken(err error) bool {
	code := codeOf(err)
	return code == codeSerialization || code == codeDeadlock
}

func readOnly(err error) bool { return codeOf(err) == codeReadOnly }

// unsent says that nothing of the statement reached the server.
func unsent(err error) bool { return pgconn.SafeToRetry(err) }

// refusedByBouncer knows what PgBouncer says of a wrong password, because it has no code for it.
func refusedByBouncer(err error) bool {
	return codeOf(err) == codeProtocol && strings.Contains(err.Error(), "authentication failed")
}

// lasting says that waiting alone will not help.
func lasting(err error) bool {
	code := codeOf(err)
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errTables), errors.As(err, &untrusted), refusedByBouncer(err):
		return true
	case len(code) != 5:
		return false
	}
	return code[:2] == "28" || code[:2] == "42" || code == "3D000" || code == "3F000" || code == codeReadOnly
}

// noConnection says why a step got none.
func noConnection(ctx context.Context, err error) error {
	if ctx.Err() != nil && codeOf(err) == "" {
		return fmt.Errorf("no connection in time. Either the server does not answer, or all of pool_max_conns are in use: %w", err)
	}
	return err
}
