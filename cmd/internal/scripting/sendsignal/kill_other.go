//go:build !unix

package sendsignal

import (
	"fmt"
	"os"
)

// kill ends a process; there are no other signals here.
func kill(pid int, name string) error {
	if name != "TERM" && name != "KILL" {
		return fmt.Errorf("this system has no signal %s", name)
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}
