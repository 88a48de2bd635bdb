// Package iestatus is pmiestatus and pmie_dump_stats: they show the statistics files of
// running pmie processes.
//
//	pmiestatus /var/lib/pcp/tmp/pmie/*
package iestatus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/pmiestats"
)

// Command is pmiestatus.
var Command = &cli.Command{
	Name:     "iestatus",
	Link:     "pmiestatus",
	Group:    cli.Alert,
	Summary:  "show the rules and logs of running pmie processes",
	Synopsis: "statsfile ...",
	Doc: `Prints three lines for each file: the file with the rules, the log and the host of the collector of
a pmie process. Each process has a file in $PCP_TMP_DIR/pmie, whose name is its process ID.`,
	Examples: []cli.Example{
		{Line: `pcp iestatus /var/lib/pcp/tmp/pmie/*`, Text: `show all processes`},
	},
	SeeAlso: []string{"pmie(1)"},
	Run:     status,
}

// DumpCommand is pmie_dump_stats.
var DumpCommand = &cli.Command{
	Name:     "ie-dump-stats",
	Link:     "pmie_dump_stats",
	Group:    cli.Alert,
	Summary:  "show the statistics of running pmie processes",
	Synopsis: "statsfile ...",
	Doc: `Prints a line NAME:FIELD=VALUE for each statistic of a pmie process: its files and host, the numbers
of rules and actions, and the results of evaluations. Each process has a file in $PCP_TMP_DIR/pmie,
whose name is its process ID.`,
	Examples: []cli.Example{
		{Line: `pcp ie-dump-stats /var/lib/pcp/tmp/pmie/*`, Text: `show all processes`},
	},
	SeeAlso: []string{"pmie(1)", "pmiestatus(1)"},
	Run:     dump,
}

// files returns the arguments. The classic tools take all of them for files.
func files(env *cli.Env) (names []string, status int, exit bool) {
	if env.Classic() {
		return env.Args, 0, false
	}
	o := cli.ParseArgs(env, cli.ParseConfig{})
	if len(o.Args) == 0 {
		o.WantUsage()
	}
	status, exit = o.Done()
	return o.Args, status, exit
}

// reason is the text of an error of a file, as C prints it.
func reason(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return cli.ErrText(err)
}

func status(_ context.Context, env *cli.Env) int {
	names, sts, exit := files(env)
	if exit {
		return sts
	}
	failed := false
	for _, name := range names {
		text, err := describe(name)
		if err != nil {
			env.Fatalf("%v", err)
			failed = true
			continue
		}
		io.WriteString(env.Stdout, text)
	}
	if failed && !env.Classic() {
		return 1
	}
	return 0
}

// describe returns the three lines about a process.
func describe(name string) (string, error) {
	f, err := open(name)
	if err != nil {
		return "", fmt.Errorf("cannot open %s - %s", name, reason(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("cannot get size of %s - %s", name, reason(err))
	}
	if info.Size() != pmiestats.Size {
		return "", fmt.Errorf("%s is not a valid pmie stats file", name)
	}
	b := make([]byte, pmiestats.Size)
	var s pmiestats.Stats
	if _, err := io.ReadFull(f, b); err != nil || s.Decode(b) != nil {
		return "", fmt.Errorf("cannot read %d bytes from %s", pmiestats.Size, name)
	}
	if s.Version != pmiestats.Version {
		return "", fmt.Errorf("unsupported version %d in %s", int32(s.Version), name)
	}
	return fmt.Sprintf("%s\n%s\n%s\n", s.Config, s.Log, s.Host), nil
}

// open opens a file, and does not wait for a FIFO.
func open(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func dump(_ context.Context, env *cli.Env) int {
	names, sts, exit := files(env)
	if exit {
		return sts
	}
	if len(names) == 0 {
		fmt.Fprintf(env.Stderr, "Usage: %s file ...\n", env.ProgName())
		return 1
	}
	for _, name := range names {
		f, err := open(name)
		if err != nil {
			fmt.Fprintf(env.Stderr, "%s: %s\n", name, reason(err))
			return 1
		}
		b := make([]byte, pmiestats.Size)
		n, err := io.ReadFull(f, b)
		f.Close()
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				n = -1
			}
			fmt.Fprintf(env.Stderr, "%s: read %d != %d as expected\n", name, n, pmiestats.Size)
			continue
		}
		var s pmiestats.Stats
		if err := s.Decode(b); err != nil {
			return env.Fatalf("%s: %v", name, err)
		}
		write(env.Stdout, name[strings.LastIndexByte(name, '/')+1:], &s)
	}
	return 0
}

// write writes a line for each field of a file.
func write(w io.Writer, name string, s *pmiestats.Stats) {
	fmt.Fprintf(w, "%s:config=%s\n%s:logfile=%s\n%s:pmcd_host=%s\n", name, s.Config, name, s.Log, name, s.Host)
	fmt.Fprintf(w, "%s:eval_expected=%s\n", name, ctext.AppendFloat(nil, float64(s.Expected), 'f', 2))
	for _, field := range []struct {
		name string
		n    uint32
	}{
		{"numrules", s.Rules},
		{"actions", s.Actions},
		{"eval_true", s.True},
		{"eval_false", s.False},
		{"eval_unknown", s.Unknown},
		{"eval_actual", s.Actual},
		{"version", s.Version},
	} {
		fmt.Fprintf(w, "%s:%s=%d\n", name, field.name, int32(field.n))
	}
}
