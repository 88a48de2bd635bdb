//go:build !unix

package await

import "os"

func quit(p *os.Process) { p.Kill() }
