//go:build !unix

package mmv

// writable reports that nothing is written here.
func writable(string) bool { return false }
