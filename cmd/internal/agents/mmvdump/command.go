package mmvdump

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pcptime"
)

// Command is mmvdump.
var Command = &cli.Command{
	Name:     "mmvdump",
	Link:     "mmvdump",
	Group:    cli.WriteAgent,
	Summary:  "show the contents of a file of memory-mapped values",
	Synopsis: "[options] [filename]",
	Doc: `Prints the header, the table of contents and all records of files of memory-mapped values. It reads
the file, not a mapping, and reports damage for which an agent would refuse the file. Without an
argument it prints all files in this host's directory of such files. A file of any size takes little
memory: holes are skipped.`,
	Examples: []cli.Example{
		{Line: `pcp mmvdump /var/lib/pcp/tmp/mmv/shop`, Text: `dump one file`},
		{Line: `pcp mmvdump --watch shop`, Text: `print the values again as they change`},
	},
	SeeAlso: []string{"mmv(5)", "pmdammv(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Long: "json", Help: "print metrics and values as one JSON object (docs/json.md)"},
			{Long: "watch", Help: "print values again as they change; --watch=DELTA looks so often [default 1 sec]"},
			{Long: "watch-interval", Arg: "DELTA"},
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

func run(ctx context.Context, env *cli.Env) int {
	var asJSON, watching bool
	interval := time.Second
	spread := *env
	spread.Args = slices.Clone(env.Args)
	for i, arg := range spread.Args { // an option with an optional argument
		if arg == "--" {
			break
		}
		if delta, ok := strings.CutPrefix(arg, "--watch="); ok {
			spread.Args[i] = "--watch-interval=" + delta
		}
	}
	o := cli.ParseArgs(&spread, cli.ParseConfig{Own: func(o *cli.Options, opt *cli.Option, arg string) bool {
		switch opt.Long {
		case "json":
			asJSON = true
		case "watch":
			watching = true
		case "watch-interval":
			watching = true
			var err error
			if interval, err = pcptime.ParseInterval(arg); err != nil {
				o.Usagef("--watch argument not in pmParseInterval(3) format:\n%v", err)
			} else if interval <= 0 {
				o.Usagef("--watch needs a time above 0")
			}
		default:
			return false
		}
		return true
	}})
	if status, exit := o.Done(); exit {
		return status
	}
	if len(o.Args) > 1 {
		fmt.Fprintf(env.Stderr, "Usage: %s <filename>\n", env.Name)
		return 1
	}
	path := ""
	if len(o.Args) == 1 {
		path = o.Args[0]
	} else {
		conf := env.Config()
		if err := conf.Err(); err != nil {
			return env.Fatalf("%v", err)
		}
		path = filepath.Join(conf.Get("PCP_TMP_DIR"), "mmv", "test")
	}
	switch {
	case watching:
		return watch(ctx, env, path, interval, asJSON)
	case asJSON:
		return printJSON(env, path)
	}
	b, done, err := readFile(path)
	if err != nil {
		fmt.Fprintf(env.Stderr, "%s: %s\n", path, cli.ErrText(err))
		return 1
	}
	defer done()
	d := dumper{w: env.Stdout, file: b, size: uint64(len(b)), now: time.Now}
	ok, err := d.whole(path)
	if err != nil {
		return env.Fatalf("%s: %v", path, err)
	}
	if ok {
		return 0
	}
	return 1
}

// whole is dump for a file that may be mapped: if it has been truncated meanwhile, some
// of its addresses are invalid.
func (d *dumper) whole(path string) (ok bool, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }: // a fault
			err = errors.New("the file was cut short while it was read")
		default:
			panic(r)
		}
	}()
	return d.dump(path), nil
}

// maxRead is the maximum size of a file that is read as a whole. Larger files, which
// are mostly holes, are mapped: only the accessed pages take memory.
const maxRead = 16 << 20

// readFile reads or maps a regular file; done releases the returned bytes. An empty
// file is an error, as it cannot be mapped.
func readFile(path string) (b []byte, done func(), err error) {
	f, err := openFile(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if size := st.Size(); size > maxRead {
		if size > math.MaxInt {
			return nil, nil, unix.EFBIG
		}
		b, err = unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
		return b, func() { unix.Munmap(b) }, err
	}
	b, err = io.ReadAll(io.LimitReader(f, maxRead))
	if err == nil && len(b) == 0 {
		err = unix.EINVAL
	}
	return b, func() {}, err
}

// openFile opens a file without waiting for it.
func openFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	switch {
	case err != nil:
	case st.IsDir():
		err = unix.ENODEV // as mmap(2) returns
	case !st.Mode().IsRegular():
		err = unix.EINVAL
	default:
		return f, nil
	}
	f.Close()
	return nil, err
}
