package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// The SQLSTATE codes that are examined.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	codeWarning       = "01000"
	codeSerialization = "40001"
	codeDeadlock      = "40P01"
	codeReadOnly      = "25006"
	codeProtocol      = "08P01" // PgBouncer uses it for many errors
)

// remedies are what an operator can do about an error, by code. A code of two characters stands for
// a whole class.
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

// operatorError returns an error in the form that an operator should read.
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

// isOvertaken reports that nothing was done because of a concurrent transaction. That does not
// happen with the default isolation level, but a role may have another one.
func isOvertaken(err error) bool {
	code := codeOf(err)
	return code == codeSerialization || code == codeDeadlock
}

func readOnly(err error) bool { return codeOf(err) == codeReadOnly }

// isUnsent reports that no part of the statement reached the server.
func isUnsent(err error) bool { return pgconn.SafeToRetry(err) }

// refusedByBouncer reports whether PgBouncer rejected the password, which it says only in words.
func refusedByBouncer(err error) bool {
	return codeOf(err) == codeProtocol && strings.Contains(err.Error(), "authentication failed")
}

// isLasting reports that waiting alone will not help.
func isLasting(err error) bool {
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

// noConnection returns why a step got no connection.
func noConnection(ctx context.Context, err error) error {
	if ctx.Err() != nil && codeOf(err) == "" {
		return fmt.Errorf(textNoConnectionInTime, err)
	}
	return err
}
