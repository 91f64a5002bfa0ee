package postgres

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"postgres://u:hush@db/name":                                "",
		"postgresql://u@db:6432/name?sslmode=require&schema=a_1":   "",
		"postgres://u:hush@h1:5432,h2:5433/name":                   "",
		"postgres://u:hush@db/name?pool_max_conns=hush":            "pool_max_conns",
		"postgres://u:hush@db/name?pool_max_conns=0":               "pool_max_conns",
		"postgres://u:hush@db/name?sslmode=hush":                   "sslmode",
		"postgres://u:hush@db/name?connect_timeout=hush":           "connect_timeout",
		"postgres://u:hush@db/name?sslrootcert=/no/such":           "no such file",
		"postgres://u:hush@db:hush/name":                           "not an address",
		"postgres://u:hu#sh@db/name":                               "not an address",
		"postgres://u:hush@db/name#x":                              "want %23",
		"postgres://u:hush@db/name?schema=":                        `schema ""`,
		"postgres://u:hush@db/name?schema=Agents":                  `schema "Agents"`,
		"postgres://u:hush@db/name?schema=a%22--":                  `schema "a\"--"`,
		`postgres://u:hush@db/name?schema=a";DROP`:                 "cannot be read",
		"mysql://u:hush@db/name":                                   "not an address of PostgreSQL",
		"postgres://u:hush@db/name?target_session_attrs=something": "target_session_attrs",
	} {
		c, err := Parse(address, "")
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", address, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got error %v, want %q", address, err, want)
		case err != nil && strings.Contains(strings.ReplaceAll(err.Error(), "pool_max_conns", ""), "hush"):
			t.Errorf("%s: a password in %v", address, err)
		case err == nil && (c.pool.MaxConns != defaultConns || c.pool.ConnConfig.ConnectTimeout != defaultConnectTimeout):
			t.Errorf("%s: %d connections, %v", address, c.pool.MaxConns, c.pool.ConnConfig.ConnectTimeout)
		}
	}
	c, err := Parse("postgres://u@h1,h2/name?pool_max_conns=3&connect_timeout=7", "from a file")
	if err != nil || c.pool.MaxConns != 3 || c.pool.ConnConfig.ConnectTimeout.Seconds() != 7 || c.pool.ConnConfig.Password != "from a file" {
		t.Errorf("%+v, error %v", c, err)
	}
	if c.pool.ConnConfig.ValidateConnect == nil {
		t.Error("of several servers any would be taken")
	}
	if _, ok := c.pool.ConnConfig.RuntimeParams["schema"]; ok {
		t.Error("PgBouncer would refuse the parameter schema")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"postgres://u:topsecret@db:1/name?sslmode=x", "postgres://u@db/n?password=topsecret&port=x", "postgres://u:topsecret@a`: b/n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, address string) {
		_, err := Parse(address, "")
		u, parsed := url.Parse(address)
		if err == nil || parsed != nil {
			return
		}
		if p, _ := u.User.Password(); len(p) > 8 && !strings.Contains("an address of PostgreSQL: the scheme is want a name of small letters, digits and", p) &&
			strings.Contains(err.Error(), p) && !strings.Contains(u.Scheme+u.RawQuery, p) {
			t.Errorf("a password in %v", err)
		}
	})
}

// Errors that an operator can fix say how, and lasting errors are recognized.
func TestTold(t *testing.T) {
	t.Parallel()
	for code, tt := range map[string]struct {
		want  string
		lasts bool
	}{
		"53100": {"disk is full", false},
		"53300": {"pool_max_conns", false},
		"25006": {"a standby", true},
		"42501": {"holdpoint store schema", true},
		"42P01": {"a table is missing", true},
		"28P01": {"its password", true},
		"28000": {"its password", true},
		"3D000": {"no such database", true},
		"57P03": {"starting or ending", false},
		"XX000": {"postgres: ", false},
	} {
		err := operatorError(&pgconn.PgError{Code: code, Message: "what the server says"})
		if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "what the server says") || isLasting(err) != tt.lasts {
			t.Errorf("%s: %v, lasting %v", code, err, isLasting(err))
		}
	}
	if err := errors.New("else"); isLasting(err) || remedyOf(err) != "" {
		t.Error("an error without a code")
	}
}

// Whatever a server sends, a field is parsed or is an error.
func FuzzFields(f *testing.F) {
	f.Add([]byte("12345678"), []byte("12345678"), true)
	f.Add([]byte("1"), []byte(nil), false)
	f.Fuzz(func(t *testing.T, a, b []byte, null bool) {
		row := [][]byte{a, b}
		if null {
			row[0] = nil
		}
		r := fields{row: row}
		at, n := r.time(), r.int()
		if r.err == nil && (!null && len(a) != 8 || b != nil && len(b) != 8) {
			t.Errorf("%v and %d of %q", at, n, row)
		}
		if r.bytes() != nil || r.err == nil {
			t.Error("a field behind the last one")
		}
	})
}
