// Package servers is for tests and, through Outside, for the benchmark. It starts real Redis,
// PostgreSQL and PgBouncer processes on free ports of the loopback address, and breaks them.
//
// A server can be killed, stopped, frozen and restarted with its data. A Proxy in front of a server
// can break connections at a chosen moment. The processes end with the test. They also end if the
// test process dies (on Linux), because the kernel then sends them a signal. The package touches no
// process that it did not start, and uses no fixed port.
//
// The package uses no client library and no store. It speaks to Redis with a few lines of its own
// (Redis.Do), and to PostgreSQL through psql.
//
// The servers are from Debian's packages: redis-server, postgresql, pgbouncer, faketime, and
// promtool of prometheus. A test whose server is missing is skipped. With TEST_SERVERS=required,
// which make test sets, missing packages are installed if possible, and otherwise the test fails.
package servers
