package xfs

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// Store implements pmda.Storer: only xfs.control.reset can be stored.
func (a *Agent) Store(_ context.Context, _ *pmda.Client, res *pcp.Result) error {
	for _, vs := range res.Sets {
		if vs.PMID.Cluster() != clusterAll || vs.PMID.Item() != itemReset {
			return fmt.Errorf("xfs: store into metric %v: %w", vs.PMID, pcp.ErrPermission)
		}
		if len(vs.Values) != 1 {
			return pcp.ErrInst
		}
		n := int32(vs.Values[0].As(pcp.TypeU32).Uint32())
		if n < 0 {
			return pcp.ErrSign
		}
		if err := a.host.reset(n); err != nil {
			a.host.log.Warn("counters are not reset", "err", err)
			return pcp.ErrPermission
		}
	}
	return nil
}

// reset has the kernel set its counters to 0, by the file of /sys or otherwise that of /proc.
// As with C's stdio it creates a missing file: a copy of the tree then has the stored value.
func (h *host) reset(n int32) error {
	text := strconv.AppendInt(nil, int64(n), 10)
	text = append(text, '\n')
	f, err := create(h.path("sys/fs/xfs/stats_clear"))
	if err != nil {
		if f, err = create(h.path("proc/sys/fs/xfs/stats_clear")); err != nil {
			return err
		}
	}
	_, err = f.Write(text)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

func create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
}
