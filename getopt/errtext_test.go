package getopt

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-pcp/pcp"
)

func TestErrText(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("record 7: %w", pcp.ErrLogRec), "Corrupted record in a PCP archive log"},
		{fmt.Errorf("agent: %w", pcp.ErrGeneric), "Generic error, already reported above"},
		{errors.New("a FIFO: not a regular file"), "a FIFO: not a regular file"},
	} {
		if got := ErrText(tt.err); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}
