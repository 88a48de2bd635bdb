//go:build !unix

package detach

import "os"

// Start refuses: only Unix has daemons of this kind.
func Start(Config) error { return ErrUnsupported }

// Ready does nothing: there are no daemons.
func Ready(func(string) string) {}

// Settle does nothing: there are no daemons.
func Settle(*os.File) error { return nil }
