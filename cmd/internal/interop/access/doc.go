// Package access compares the rights of clients at our collector and at the
// real one.
//
// For each random [access] section both collectors are restarted, in a network name space
// whose loopback interface has addresses of many kinds, with users, groups and host names
// that only this name space knows. The same clients then connect in the same order: by IPv4
// and IPv6, by the Unix socket as several users, with and without a login, some while
// others are still connected. The test compares the responses to each.
package access
