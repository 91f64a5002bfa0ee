package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// The SQLSTATE codes that this package examines.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	codeWarning       = "01000"
	codeSerialization = "40001"
	codeDeadlock      = "40P01"
	codeReadOnly      = "25006"
	codeProtocol      = "08P01" // PgBouncer uses it for many errors
)

// remedies says, for each SQLSTATE code, what the error means and what an operator can do. A code
// of two characters stands for all codes that begin with it.
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

// operatorError returns an error whose text begins with what the error means for an operator. If
// that is unknown, the text begins with "postgres: ".
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

// codeOf returns the SQLSTATE code of an error, or "" if it has none.
func codeOf(err error) string {
	var p *pgconn.PgError
	if errors.As(err, &p) {
		return p.Code
	}
	return ""
}

// isOvertaken reports whether a statement had no effect because of a concurrent transaction. This
// does not happen with the default isolation level, but a role may have another isolation level.
func isOvertaken(err error) bool {
	code := codeOf(err)
	return code == codeSerialization || code == codeDeadlock
}

func readOnly(err error) bool { return codeOf(err) == codeReadOnly }

// isUnsent reports whether no part of the statement reached the server.
func isUnsent(err error) bool { return pgconn.SafeToRetry(err) }

// refusedByBouncer reports whether PgBouncer rejected the password. Only the text of its error
// shows that.
func refusedByBouncer(err error) bool {
	return codeOf(err) == codeProtocol && strings.Contains(err.Error(), "authentication failed")
}

// isLasting reports whether the error does not go away by waiting.
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

// noConnection returns an error that says why a step got no connection.
func noConnection(ctx context.Context, err error) error {
	if ctx.Err() != nil && codeOf(err) == "" {
		return fmt.Errorf(textNoConnectionInTime, err)
	}
	return err
}
