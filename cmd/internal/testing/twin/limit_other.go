//go:build !unix

package twin

import "errors"

func limitFiles(uint64) (restore func(), err error) { return nil, errors.ErrUnsupported }
