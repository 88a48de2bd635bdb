// Package sqlmmv is for programs with a database/sql pool of connections, whose statistics it publishes.
//
//	defer sqlmmv.Export(reg, db, sqlmmv.Options{Prefix: "db"}).Stop()
//
// Below the prefix are open.max, open.count, open.in_use and open.idle; wait.count
// and wait.time, which rise when the pool is too small; and closed.idle,
// closed.idle_time and closed.lifetime, connections closed by each limit. Several
// pools of one program have a prefix each.
package sqlmmv
