//go:build !unix

package oracle

import (
	"errors"
	"os"
)

// There is no real collector on such systems: these let tests compile.

func pause(*os.Process) error { return errors.ErrUnsupported }

func resume(*os.Process) error { return errors.ErrUnsupported }

func killGroup(int) {}

func lockFile(*os.File) error { return errors.ErrUnsupported }
