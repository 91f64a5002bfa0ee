// Package servers is for tests and, by Outside, for the benchmark: it starts real Redis, PostgreSQL
// and PgBouncer processes on free ports of the loopback address, and breaks them.
//
// A server can be killed, stopped, frozen and started again with its data. A Proxy before it breaks
// connections at a chosen moment. The processes end with the test. They also end if the test
// process dies (on Linux), because the kernel then sends them a signal. The package touches no
// process that it did not start, and uses no port that is fixed.
//
// It deliberately knows no client library and nothing of a store. It speaks to Redis by a few lines
// of its own (Redis.Do) and to PostgreSQL by psql.
//
// Debian's packages are what is started: redis-server, postgresql, pgbouncer, faketime, and
// promtool of prometheus. A test whose server is missing is skipped. With TEST_SERVERS=required, as
// make test has it, the packages are installed where this can be done, and a missing one fails the
// test.
package servers
