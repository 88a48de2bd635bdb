// Package service is for agents that ask a service, such as a web server or a database: an agent is a table of metrics, and a
// function that reads an answer of the service.
//
//	a, err := service.New(service.Config{
//		Name: "memcache", Domain: Domain, Metrics: metrics(), InDoms: indoms,
//		Servers: []service.Server{{Name: "localhost:11211", Read: read}},
//	})
//
// A fetch has each server read once and waits for it for [Patience]. A server that takes longer is read in the background, for at
// most [Limit], and delays no further fetch until it is quick again; meanwhile its last values are reported, unless they are older
// than [MaxAge]. A server that cannot be read is asked again after a pause, which grows from a second to a minute. Nothing is read
// while no client asks.
//
// An [Answer] takes texts and converts them to the types of their metrics. Texts that are not a value of the type are left out, as are
// texts, instances and answers beyond the limits.
//
// A [Finder] finds the services of this machine by their processes, for builtin.Spec.Programs and Try.
package service
