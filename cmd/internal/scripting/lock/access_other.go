//go:build !unix

package lock

// writable reports whether this process may make files in a directory. It is asked when that has failed.
func writable(string) bool { return false }
