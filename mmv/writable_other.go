//go:build !unix

package mmv

// writable reports false: no files are written here.
func writable(string) bool { return false }
