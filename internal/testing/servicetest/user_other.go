//go:build !unix

package servicetest

import (
	"os"
	"os/exec"
	"testing"
)

func alone(testing.TB, *exec.Cmd, string) {}

func kill(p *os.Process) { p.Kill() }
