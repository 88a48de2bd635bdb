//go:build !linux

package doctor

import "time"

// sinceBoot returns false: other systems have no such clock, or no /proc with the start of a process.
func sinceBoot() (d time.Duration, ok bool) { return 0, false }
