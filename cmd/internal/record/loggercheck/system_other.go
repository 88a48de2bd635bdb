//go:build !unix

package loggercheck

import "os"

func terminate(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

func kill(pid int) { terminate(pid) }

func writable(string) bool { return true }

func enterable(string) error { return nil }
