//go:build !unix

package importcmd

// readOnly returns false.
func readOnly(error) bool { return false }
