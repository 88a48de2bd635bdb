package mmv

import (
	"errors"
	"syscall"

	"github.com/go-pcp/pcp"
)

// Errors, with the errno that the C functions set.
var (
	errTooBig   = -pcp.Error(syscall.E2BIG)
	errInvalid  = -pcp.Error(syscall.EINVAL)
	errNoInDom  = -pcp.Error(syscall.ESRCH)
	errTooMany  = -pcp.Error(syscall.ENOSPC)
	errExist    = -pcp.Error(syscall.EEXIST)
	errStarted  = errors.New("the registry is fixed and has been started")
	errClosed   = errors.New("the registry is closed")
	errReplaced = errors.New("the values of this program are no longer seen")
	errNameFile = errors.New("the name of a registry must be a file name that does not start with a dot")
)
