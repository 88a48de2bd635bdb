// Package redis is the agent for Redis and Valkey: what a server answers to INFO.
//
//	a, err := redis.New(redis.Config{Servers: []string{"localhost:6379"}})
//
// Each server is an instance. A server is an address, HOST:PORT, or the path of a Unix socket. Names and numbers of metrics are those
// of pmdaredis(1), which has the metrics of one database, db0 unless the configuration has another.
//
// [NewValkey] makes the agent of Valkey, whose metrics are those of pmdavalkey(1) of PCP 7.2.
package redis
