// Dirsize is a caching agent: how much space directories take is found out in
// the background, as that may last for minutes or, on a network, hang.
package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

func main() {
	every, dirs := time.Minute, []string(nil)
	d := &pmda.Daemon{
		Name: "pmdadirsize", Domain: 403, Synopsis: "[options] directory...",
		Own: []pmda.Option{{Short: 't', Long: "interval", Arg: "TIME", Help: "look every TIME, such as 90s [default 1m]"}},
		Set: func(_ *pmda.Option, arg string) (err error) { every, err = time.ParseDuration(arg); return err },
		Args: func(args []string) error {
			if dirs = args; len(args) == 0 {
				return errors.New("which directories?")
			}
			return nil
		},
		New: func(domain int, log *slog.Logger) (pmda.Agent, error) { return newAgent(domain, dirs, every, log) },
	}
	d.Main()
}

// A size is the contents of one directory.
type size struct{ files, bytes uint64 }

// An agent closes its snapshot at the end.
type agent struct {
	*pmda.Table
	*pmda.Snapshot[[]size]
	now []size // of this request: all its values are of one reading
	err error
}

func newAgent(domain int, dirs []string, every time.Duration, log *slog.Logger) (pmda.Agent, error) {
	var insts []pcp.Instance
	for i, dir := range dirs {
		insts = append(insts, pcp.Instance{Inst: int32(i), Name: dir})
	}
	a := &agent{}
	indom := &pmda.InDom{Serial: 0, Instances: insts, OneLine: "directories"}
	value := func(of func(size) uint64) func(int32, int) (pcp.Value, error) {
		return func(_ int32, i int) (pcp.Value, error) {
			if a.err != nil {
				return pcp.Value{}, a.err
			}
			return pcp.Uint64Value(of(a.now[i])), nil
		}
	}
	var err error
	a.Table, err = pmda.NewTable(pmda.Config{
		Name: "dirsize", Domain: domain, Log: log,
		Refresh: func(context.Context, []pcp.PMID) error { a.now, a.err = a.Get(); return nil },
		Metrics: []pmda.Metric{{
			Name: "dirsize.files", Item: 0, Type: pcp.TypeU64, Sem: pcp.SemInstant, InDom: indom,
			Units:   pcp.NewUnits(0, 0, 1, 0, 0, pcp.CountOne),
			OneLine: "files in each directory", Help: "Files at any depth, when last looked.",
			Value: value(func(s size) uint64 { return s.files }),
		}, {
			Name: "dirsize.bytes", Item: 1, Type: pcp.TypeU64, Sem: pcp.SemInstant, InDom: indom,
			Units:   pcp.NewUnits(1, 0, 0, pcp.SpaceByte, 0, 0),
			OneLine: "size of each directory", Help: "Bytes in the files at any depth, when last looked.",
			Value: value(func(s size) uint64 { return s.bytes }),
		}},
	})
	if err != nil {
		return nil, err
	}
	a.Snapshot = pmda.NewSnapshot(func(ctx context.Context) ([]size, error) { return read(ctx, dirs) },
		pmda.SnapshotOptions{Every: every, Stale: 10 * every, Log: log})
	return a, nil
}

// read makes a new slice each time: the last one is in others' hands.
func read(ctx context.Context, dirs []string) ([]size, error) {
	sizes := make([]size, len(dirs))
	for i, dir := range dirs {
		err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil || !d.Type().IsRegular() {
				return nil // unreadable files do not count
			}
			if info, err := d.Info(); err == nil {
				sizes[i].files++
				sizes[i].bytes += uint64(info.Size())
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return sizes, nil
}
