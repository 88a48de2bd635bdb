// Package fsdir locks directories and writes them to the disk. On systems whose directories cannot be
// opened it only checks that they are there.
package fsdir

import "errors"

// ErrBusy is that another process has a directory locked.
var ErrBusy = errors.New("another process has it locked")
