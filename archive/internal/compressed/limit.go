package compressed

import (
	"fmt"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/storage"
)

// A compressed file that is expanded as a whole may take expandFree bytes, and if
// it is large itself a multiple of its length that depends on the compression.
// Real archives of more than 2 MB shrink at most 26 times by gzip, 54 by bzip2,
// 90 by zstd and 137 by xz. Files made to fill a disk expand 1,000, 100,000,
// 30,000 and 7,000 times.
const (
	expandFree    = 256 << 20
	expandDeflate = 100 // .gz, .Z, .z
	expandBzip2   = 200
	expandZstd    = 300
	expandLZMA    = 500 // .xz, .lzma
)

// A LimitError means that a compressed file expands to more than is plausible, or
// more than its reader can afford. It is the system error EFBIG.
type LimitError struct {
	Path  string
	Size  int64 // of the file
	Limit int64 // of its contents
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: the contents of its %d bytes are more than the limit of %d bytes; if they can be trusted, expand the file first", e.Path, e.Size, e.Limit)
}

// NotInC marks an error that the C library does not have, so that tools print its text.
func (e *LimitError) NotInC() {}

// Unwrap returns the system error EFBIG.
func (e *LimitError) Unwrap() error { return -pcp.Error(syscall.EFBIG) }

// expandLimit returns the limit for a file, as the error for longer contents.
func expandLimit(f storage.File, suffix string) (*LimitError, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	times := int64(expandDeflate)
	switch suffix {
	case ".bz2", ".bz":
		times = expandBzip2
	case ".zst":
		times = expandZstd
	case ".xz", ".lzma":
		times = expandLZMA
	}
	return &LimitError{Path: f.Name(), Size: st.Size(), Limit: max(expandFree, times*min(st.Size(), 1<<50))}, nil
}
