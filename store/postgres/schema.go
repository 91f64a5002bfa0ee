package postgres

import (
	"context"
	_ "embed" // for the SQL of the tables
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
)

// schemaVersion is the version of the tables. The records have their own version, from package
// engine.
const schemaVersion = 1

//go:embed schema.sql
var schemaSQL string

// names has the schema, and the names of the tables as they are written in statements.
type names struct{ schema, threads, snapshots, unsent, version string }

// namesIn returns the names of the tables in a schema. "" means the first schema of the role's
// search path.
func namesIn(schema string) names {
	prefix := ""
	if schema != "" {
		prefix = `"` + schema + `".` // quoted, because the name may be a keyword of SQL
	}
	return names{schema, prefix + "holdpoint_threads", prefix + "holdpoint_snapshots", prefix + "holdpoint_unsent", prefix + "holdpoint_schema"}
}

// sql returns the statements that make the tables.
func (n names) sql() string {
	schema := ""
	if n.schema != "" {
		// CREATE SCHEMA IF NOT EXISTS is not used: the role would need the right to create a schema
		// even if the schema exists.
		schema = "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = '" + n.schema + "') THEN CREATE SCHEMA \"" + n.schema + "\"; END IF; END $$;\n"
	}
	return strings.NewReplacer("{{schema}}\n", schema, "{{threads}}", n.threads, "{{snapshots}}", n.snapshots, "{{unsent}}", n.unsent, "{{version}}", n.version).Replace(schemaSQL)
}

// Schema returns the SQL that makes the tables in the schema of the address, so that a DBA can run
// it. If c is nil, it is the SQL for an address without a schema.
func Schema(c *Config) string {
	if c == nil {
		return namesIn("").sql()
	}
	return namesIn(c.schema).sql()
}

var errTables = errors.New(textTables)

// prepare checks the database, and makes the tables if they are missing. It makes them in one
// transaction under a lock, because several processes may start at the same time.
func (t *table) prepare(ctx context.Context) error {
	c, err := t.pool.Acquire(ctx)
	if err != nil {
		return operatorError(err)
	}
	defer c.Release() // this closes the connection if the transaction has failed
	conn := c.Conn().PgConn()
	ask := func(sql string) ([]string, error) {
		r := conn.ExecParams(ctx, sql, nil, nil, nil, nil).Read()
		if r.Err != nil || len(r.Rows) == 0 {
			return nil, operatorError(r.Err)
		}
		var row []string
		for _, field := range r.Rows[0] {
			row = append(row, string(field))
		}
		return row, nil
	}
	row, err := ask("SELECT to_regclass('" + t.names.version + "') IS NOT NULL, pg_is_in_recovery()," +
		" to_regclass('" + t.names.unsent + "') IS NOT NULL")
	switch {
	case err != nil:
		return err
	case row[1] == "t":
		return fmt.Errorf("postgres: %w: %s", errTables, remedies[codeReadOnly])
	// in older databases the list of notices to send is missing
	case row[0] == "f", row[2] == "f" && t.sends:
		if _, err := conn.Exec(ctx, t.names.sql()).ReadAll(); err != nil {
			return fmt.Errorf(textTablesNotMade, operatorError(err))
		}
		t.log.Info("the tables of the store were made", "schema", t.names.schema, "version", schemaVersion)
	}
	row, err = ask("SELECT max(version) FROM " + t.names.version)
	if err != nil {
		return err
	}
	switch version, err := strconv.Atoi(row[0]); {
	case err != nil:
		return fmt.Errorf(textNoVersion, errTables, t.names.version)
	case version > schemaVersion:
		return fmt.Errorf(textNewerTables, errTables, version, schemaVersion)
	}
	const may = "has_table_privilege('%[1]s', 'SELECT') AND has_table_privilege('%[1]s', 'INSERT') AND has_table_privilege('%[1]s', 'UPDATE') AND has_table_privilege('%[1]s', 'DELETE')"
	all := "SELECT " + fmt.Sprintf(may, t.names.threads) + " AND " + fmt.Sprintf(may, t.names.snapshots)
	if t.sends {
		all += " AND " + fmt.Sprintf(may, t.names.unsent)
	}
	row, err = ask(all)
	switch {
	case err != nil:
		return err
	case row[0] != "t":
		return fmt.Errorf("postgres: %w: %s", errTables, remedies["42501"])
	}
	row, err = ask("SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit')," +
		" current_setting('synchronous_standby_names'), current_setting('server_version')")
	if err != nil {
		return err
	}
	tellDurability(t.log, row[0], row[1], row[2], row[3], row[4])
	return nil
}

// tellDurability logs in which cases the server may lose changes.
func tellDurability(log *slog.Logger, fsync, fullPages, commit, standbys, version string) {
	log.Info("the store is PostgreSQL", "version", version, "fsync", fsync, "full_page_writes", fullPages,
		"synchronous_commit", commit, "synchronous_standby_names", standbys)
	if fsync == "off" || fullPages == "off" {
		log.Warn(logCrashDamages, "fsync", fsync, "full_page_writes", fullPages)
	}
	switch {
	case commit == "off":
		log.Warn(logCrashLoses, "synchronous_commit", commit)
	case standbys == "":
		log.Info("a failover of the database to another server may lose the last changes, because no standby is synchronous (docs/state.md)")
	case commit == "local":
		log.Warn(logFailoverLoses, "synchronous_commit", commit, "synchronous_standby_names", standbys)
	}
}
