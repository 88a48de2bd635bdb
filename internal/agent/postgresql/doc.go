// Package postgresql is the agent for PostgreSQL: its views of statistics.
//
//	a, err := postgresql.New(postgresql.Config{User: "postgres"})
//
// The views of all tables, indexes and sequences are read, and those of the system and of users are made of them by their schemas. Names and numbers of
// metrics are those of pmdapostgresql(1), and so are the names of instances: tables of the same name in two schemas are one instance. A value that is NULL is missing.
//
// The package speaks the protocol of PostgreSQL itself, with TLS over TCP if the server offers it. A password in the clear is only sent to this machine, or to
// a server whose certificate was checked.
package postgresql
