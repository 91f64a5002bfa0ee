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
	codeReadOnly: textReadOnly,
	"28":         textWrongLogin,
	"3D000":      textNoDatabase,
	"3F000":      textNoSchema,
	"42501":      textNoRight,
	"42P01":      textNoTable,
	"42703":      textNoColumn,
	"53100":      textDiskFull,
	"53300":      textNoConnections,
	"57014":      textEndedStatement,
	"57P03":      textStarting,
	"58030":      textDisk,
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
		return fmt.Errorf(textNoConnectionInTime, err)
	}
	return err
}
