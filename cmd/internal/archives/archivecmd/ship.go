package archivecmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/objects"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/ship"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/shipping"
)

// shipCommand is "pcp archive ship".
var shipCommand = &cli.Command{
	Name:     "archive ship",
	Summary:  "store archives in object storage, and remove old ones there",
	Synopsis: "[options] directory... address",
	Doc: `
Copies the archives of directories, each with those of one host, to HOST below an address, s3://BUCKET/PREFIX or a shared
directory. HOST is the last part of the name of the directory. What is stored already is not sent again. Each file is verified by its
checksum, and then listed in an index of its day.

Then the archives that are stored are reduced to longer intervals, rollup/1min/HOST and rollup/1h/HOST, and old ones are removed
from the store, by --lifecycle. pcp record and pcp up do all this with --ship.`,
	Examples: []cli.Example{
		{Line: "pcp archive ship /var/log/pcp/pmlogger/www s3://archives", Text: "store the archives of a host, as after pmlogger_daily"},
		{Line: "pcp archive ship --lifecycle off www /mnt/archives", Text: "copy them to a shared directory, where all of them stay"},
	},
	Options: func() []cli.Option {
		return []cli.Option{cli.Heading("Options"), shipping.LifecycleRow(), cli.OptHelp}
	},
	Run: runShip,
}

func runShip(ctx context.Context, env *cli.Env) int {
	life := ""
	o := cli.ParseArgs(env, cli.ParseConfig{NonEmpty: true, Once: []string{"lifecycle"}, Own: func(o *cli.Options, opt *cli.Option, arg string) bool {
		if opt.Long != "lifecycle" {
			return false
		}
		if _, err := ship.ParseLifecycle(arg); err != nil {
			o.Usagef("--lifecycle: %v", err)
		}
		life = arg
		return true
	}})
	if !o.Errors() && len(o.Args) < 2 {
		o.Usagef("directories of archives and an address are needed")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	n := len(o.Args) - 1
	dir, err := objects.OpenDir(o.Args[n], env.Getenv)
	if err != nil {
		return env.Fatalf("%v", err)
	}
	cycle, err := shipping.Lifecycle(env, life)
	if err != nil {
		return env.Fatalf("%v", err)
	}
	s, err := ship.New(ship.Config{Dir: dir, Plain: true, Lifecycle: cycle, Event: func(host, text string, err error) {
		if err != nil {
			text += ": " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Fprintf(env.Stderr, "%s: %s: %s\n", env.ProgName(), host, text)
	}})
	if err != nil {
		return env.Fatalf("%v", err)
	}
	var hosts []ship.Host
	seen := make(map[string]string)
	for _, path := range o.Args[:n] {
		abs, err := filepath.Abs(path)
		if err != nil {
			return env.Fatalf("%v", err)
		}
		if st, err := os.Stat(abs); err != nil || !st.IsDir() {
			return env.Fatalf("%s: not a directory of archives", path)
		}
		name := filepath.Base(abs)
		if other, ok := seen[name]; ok && other != abs {
			return env.Fatalf("%s and %s have the same name %s", other, abs, name)
		}
		seen[name] = abs
		hosts = append(hosts, ship.Host{Name: name, Path: abs})
	}
	if err := shipping.TryDir(ctx, env, "cannot store at", o.Args[n], "pcp-check"); err != nil {
		return env.Fatalf("%v", err)
	}
	s.Set(hosts)
	ok := s.Once(ctx)
	for _, st := range s.Status() {
		fmt.Fprintf(env.Stdout, "%s: %d archives stored, %s sent, %d reduced, %d removed from the store, %d waiting\n",
			st.Name, st.Shipped, cli.Bytes(st.Bytes), st.Rollups, st.Expired, st.Waiting)
	}
	if !ok || ctx.Err() != nil {
		return 1
	}
	return 0
}
