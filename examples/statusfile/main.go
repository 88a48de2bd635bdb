// Statusfile is an agent for a program that writes its state to a file now and
// then: {"requests": 17, "users": 3}.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

func main() {
	path := "/run/webshop/status.json"
	d := &pmda.Daemon{
		Name: "pmdastatusfile", Domain: 405,
		Own: []pmda.Option{{Short: 'f', Long: "file", Arg: "PATH", Help: "read PATH rather than " + path}},
		Set: func(_ *pmda.Option, arg string) error { path = arg; return nil },
		New: func(domain int, log *slog.Logger) (pmda.Agent, error) { return newAgent(domain, path, log) },
	}
	d.Main()
}

// state is the contents of the file.
type state struct {
	Requests *uint64 // nil if the file lacks it
	Users    *uint64
}

// maxFile is more than the program writes.
const maxFile = 1 << 16

func newAgent(domain int, path string, log *slog.Logger) (pmda.Agent, error) {
	var now state
	count := pcp.NewUnits(0, 0, 1, 0, 0, pcp.CountOne)
	value := func(of func() *uint64) func(int32, int) (pcp.Value, error) {
		return func(int32, int) (pcp.Value, error) {
			if n := of(); n != nil {
				return pcp.Uint64Value(*n), nil
			}
			return pcp.Value{}, pmda.ErrNoValue
		}
	}
	return pmda.NewTable(pmda.Config{
		Name: "webshop", Domain: domain, Log: log,
		Refresh: func(context.Context, []pcp.PMID) (err error) { now, err = read(path); return err },
		Metrics: []pmda.Metric{{
			Name: "webshop.requests", Item: 0, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count,
			OneLine: "requests served", Help: "Requests since the web shop started.",
			Value: value(func() *uint64 { return now.Requests }),
		}, {
			Name: "webshop.users", Item: 1, Type: pcp.TypeU64, Sem: pcp.SemInstant, Units: count,
			OneLine: "users logged in", Help: "Users who are logged in when the file is written.",
			Value: value(func() *uint64 { return now.Users }),
		}},
	})
}

// read reads the file, which is small and local: no need for a cache. If the
// program is not running, there is nothing to report, which is not an error.
func read(path string) (s state, err error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, maxFile)).Decode(&s); err != nil {
		return state{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}
