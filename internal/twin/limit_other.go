//go:build !unix

package twin

import "errors"

func limitFiles(uint64) error { return errors.ErrUnsupported }
