// Package fsdir locks directories and syncs them to the disk. On systems whose directories cannot be
// opened it only checks that they exist.
package fsdir

import "errors"

// ErrBusy is the error of a directory that another process has locked.
var ErrBusy = errors.New("another process has it locked")
