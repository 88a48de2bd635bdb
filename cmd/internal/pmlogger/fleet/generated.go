package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/logconf"
	"github.com/go-pcp/pcp/pmapi"
)

// Generated is a [Configure] that generates a configuration for the metrics of a host, from
// the metric groups of package logconf.
func Generated(ctx context.Context, c *pmapi.Context, _ Host) ([]byte, string, error) {
	return generate(ctx, c, logconf.Config{})
}

// processesPerMinute is the number of processes up to which a sample is taken every minute. For up to twice
// as many there is a sample every two minutes, and so on, so that a large machine takes no more disk space
// than a small one.
const processesPerMinute = 1000

// GeneratedProcesses is [Generated] with each process: once a minute, and less often if there are
// more than a thousand.
func GeneratedProcesses(ctx context.Context, c *pmapi.Context, _ Host) ([]byte, string, error) {
	n, err := countProcesses(ctx, c)
	if err != nil {
		return nil, "", err
	}
	return generate(ctx, c, logconf.Config{Include: map[string]string{"process/each": processInterval(n)}})
}

func generate(ctx context.Context, c *pmapi.Context, cfg logconf.Config) ([]byte, string, error) {
	text, err := logconf.Generate(ctx, c, logconf.Builtin(), cfg)
	return text, "the configuration made for this host", err
}

// countProcesses returns the number of processes, or 0 if the collector does not have it.
func countProcesses(ctx context.Context, c *pmapi.Context) (uint32, error) {
	ids, err := c.LookupName(ctx, "proc.nprocs")
	if errors.Is(err, pcp.ErrName) || errors.Is(err, pcp.ErrNonLeaf) || err == nil && ids[0] == pcp.PMIDNull {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	res, err := c.Fetch(ctx, ids)
	if err != nil || len(res.Sets[0].Values) == 0 {
		return 0, err
	}
	return res.Sets[0].Values[0].As(pcp.TypeU32).Uint32(), nil
}

// processInterval returns the interval for recording n processes.
func processInterval(n uint32) string {
	return fmt.Sprintf("%d minutes", max(1, (uint64(n)+processesPerMinute-1)/processesPerMinute))
}
