// Package replay implements pcp replay, which runs another command on recorded data.
//
//	pcp replay -1h val kernel.all.load
package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/fleet"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/storage"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Command is pcp replay.
var Command = &cli.Command{
	Name:     "replay",
	Group:    cli.SeePast,
	Summary:  "run another command on the recent past",
	Synopsis: "[-INTERVAL | time] [host | archive] [command [arguments]]",
	Doc: `
Runs another command on the archives of "pcp up", "pcp record" or pmlogger: it adds -a for their
directory, and -S or -O for the time. Without a command it lists the recorded hosts and times.

The time is an interval before the last sample (-1h, -"2 days"), or a time such as "14:30",
"yesterday 8:00" or "2026-11-23 08:00"; a time of day is the latest in the past. The default is an
hour ago, or the start of a given archive. A command that takes one time instead of a window, such
as "pcp info", shows the values at that time, or the last values by default.

By default the archives are those of this machine, in the state directory of "pcp up" or in the
directory of pmlogger. The name of a recorded host selects its archives, and a path any archive or
directory.`,
	Examples: []cli.Example{
		{Line: "pcp replay", Text: "list recorded hosts and times"},
		{Line: "pcp replay -1h stat -t 1min", Text: "show the last hour, a line a minute"},
		{Line: "pcp replay 14:30 info -f kernel.all.load", Text: "show the load at half past two"},
		{Line: `pcp replay -"2 days" alpha val kernel.all.load`, Text: "show values of another recorded host"},
		{Line: "pcp replay ./20261123.00.10 stat", Text: "replay a whole archive"},
	},
	SeeAlso:     []string{"pcp help up", "pcp help record"},
	Options:     func() []cli.Option { return []cli.Option{cli.OptVersion, cli.OptHelp} },
	DieOnSignal: true,
	Run:         run,
}

// A request is the parsed command line.
type request struct {
	relative string        // "-1h", "" if there is none
	at       pcp.Timestamp // if it is not zero
	source   string        // directory or archive, "" for this machine's
	from     string        // the source
	command  *cli.Command
	args     []string
}

func run(ctx context.Context, env *cli.Env) int {
	if len(env.Args) > 0 {
		switch env.Args[0] {
		case "-?", "--help", "-V", "--version":
			status, _ := cli.ParseArgs(env, cli.ParseConfig{POSIX: true}).Done()
			return status
		}
	}
	dirs := recorded(env)
	r, err := parse(env, dirs, time.Now())
	if err != nil {
		return env.Fatalf("%v", err)
	}
	if r.command == nil {
		if r.relative != "" || !r.at.IsZero() {
			return env.Fatalf("a time needs a command, as in \"%s replay -1h stat\"", env.Pcp())
		}
		if r.source != "" {
			dirs = []string{r.source}
		}
		return list(env, dirs)
	}
	options, vars, err := r.options(env, dirs)
	if err != nil {
		return env.Fatalf("%v", err)
	}
	sub := with(env, vars)
	sub.Command, sub.Name = r.command, "pcp "+r.command.Name
	if r.command.Through() { // which prints the same as the C program
		sub.Name, sub.ByName = r.command.Link, true
	}
	sub.Args = slices.Concat(options, r.args)
	status := sub.Command.Run(ctx, sub)
	if slices.Contains(perProcess, r.command.Name) && ctx.Err() == nil {
		if text := fewProcesses(ctx, r.from); text != "" {
			env.Advise(func() string { return text })
		}
	}
	return status
}

// perProcess are the commands that show processes.
var perProcess = []string{"top", "ps", "pidstat", "atop"}

// fewProcesses returns the reason why such a command shows little or nothing of an archive: processes are recorded
// less often than the rest. It returns "" if there are two samples of them, as rates need, or if the archive cannot
// be read, which the command has reported.
func fewProcesses(ctx context.Context, path string) string {
	a, err := pmapi.OpenArchive(path)
	if err != nil {
		return ""
	}
	defer a.Close()
	label, err := a.Label(ctx)
	if err != nil {
		return ""
	}
	n := 0
	ids, err := a.LookupName(ctx, "proc.psinfo.pid")
	if err == nil {
		err = a.SetMode(ctx, pmapi.ModeForw, &label.Start, 0)
	}
	var res pcp.Result
	for err == nil && n < 2 {
		if err = a.FetchArchiveOf(ctx, ids, &res); err == nil && len(res.Sets) == 1 && len(res.Sets[0].Values) > 0 {
			n++
		}
	}
	switch n {
	case 0:
		return "no sample of processes is recorded yet: \"pcp up\" and \"pcp record --processes\" record them once a minute"
	case 1:
		return "processes are recorded once a minute, and there is one sample so far: rates need two"
	}
	return ""
}

// with returns env with additional variables.
func with(env *cli.Env, vars map[string]string) *cli.Env {
	lookup := env.LookupEnv
	if lookup == nil {
		lookup = func(name string) (string, bool) { v := env.Getenv(name); return v, v != "" }
	}
	get := func(name string) (string, bool) {
		if v, ok := vars[name]; ok {
			return v, true
		}
		return lookup(name)
	}
	sub := env.WithGetenv(func(name string) string { v, _ := get(name); return v })
	sub.LookupEnv = get
	return sub
}

// parse reads the arguments.
func parse(env *cli.Env, dirs []string, now time.Time) (*request, error) {
	r := new(request)
	args := env.Args
	for ; len(args) > 0; args = args[1:] {
		arg := args[0]
		if arg == "pcp" && len(args) > 1 && cli.Find(env.Commands, args[1]) != nil { // as one would call it without replay
			continue
		}
		if strings.HasPrefix(arg, "-") {
			if d, err := pcptime.ParseInterval(strings.TrimPrefix(arg, "-")); err != nil || d <= 0 {
				return nil, fmt.Errorf("%q is not an interval such as -1h or -30min; options of the command follow it", arg)
			}
			if r.relative != "" || !r.at.IsZero() {
				return nil, fmt.Errorf("two times, the second of which is %q", arg)
			}
			r.relative = arg
			continue
		}
		if c := cli.Find(env.Commands, arg); c != nil {
			r.command, args = c, args[1:]
			for len(c.Sub) > 0 && len(args) > 0 {
				sub := cli.Find(c.Sub, c.Name+" "+args[0])
				if sub == nil {
					break
				}
				c, r.command, args = sub, sub, args[1:]
			}
			r.args = args
			return r, nil
		}
		if source := find(dirs, arg); source != "" {
			if r.source != "" {
				return nil, fmt.Errorf("two archives, the second of which is %q", arg)
			}
			r.source = source
			continue
		}
		t, ok := when(arg, now, env.Local())
		switch {
		case !ok:
			return nil, fmt.Errorf("%q is neither a command, nor a recorded host, nor an archive, nor a time;\n\"%s replay\" lists the recordings, \"%[2]s help\" the commands", arg, env.Pcp())
		case r.relative != "" || !r.at.IsZero():
			return nil, fmt.Errorf("two times, the second of which is %q", arg)
		}
		r.at = t
	}
	return r, nil
}

// find returns the directory or archive of a name, "" if there is none.
func find(dirs []string, name string) string {
	for _, dir := range dirs {
		if filepath.Base(dir) == name {
			return dir
		}
	}
	if st, err := storage.Stat(name); err == nil && st.IsDir() {
		return name
	}
	if _, err := archive.FindFiles(name); err == nil && name != "" {
		return name
	}
	return ""
}

// when parses a time in the past. An incomplete date means the last matching time.
func when(arg string, now time.Time, loc *time.Location) (pcp.Timestamp, bool) {
	arg = strings.TrimPrefix(arg, "@")
	if arg == "" {
		return pcp.Timestamp{}, false
	}
	dayAgo := pcp.TimestampOf(now.Add(-24 * time.Hour))
	if t, err := pcptime.ParseTime("@"+arg, dayAgo, pcptime.Never, loc); err == nil && !t.Time().After(now) && !strings.HasSuffix(arg, "ago") {
		return t, true
	}
	t, err := pcptime.ParseTime(arg, pcp.TimestampOf(now), pcptime.Never, loc)
	return t, err == nil && !t.Time().After(now)
}

// options returns the options for the command or, if it takes none, the equivalent variables: those that pcp sets for
// programs that run through it.
func (r *request) options(env *cli.Env, dirs []string) ([]string, map[string]string, error) {
	has := func(long string) string {
		for _, o := range r.command.OptionList() {
			if o.Long == long && o.Short != 0 {
				return "-" + string(o.Short)
			}
		}
		return ""
	}
	through := r.command.Through() // the variables do
	if has("archive") == "" && !through {
		return nil, nil, fmt.Errorf("%q does not read archives; \"%s help %[1]s\" describes it", r.command.Name, env.Pcp())
	}
	relative := r.relative
	source := r.source
	start, origin := has("start"), has("origin")
	if source == "" {
		var err error
		if source, err = own(env, dirs); err != nil {
			return nil, nil, err
		}
		if relative == "" && r.at.IsZero() {
			relative = "-1h"
			if start == "" && !through {
				relative = "-0"
			}
		}
	}
	r.from = source
	list := []string{has("archive"), source}
	text := relative
	if !r.at.IsZero() {
		text = pcptime.Strftime("@%Y-%m-%d %H:%M:%S", r.at.Time().In(env.Local()))
	}
	vars := map[string]string{}
	if has("archive") == "" {
		list, vars["PCP_ARCHIVE"] = nil, source
	}
	switch {
	case text == "":
	case start != "":
		list = append(list, start, text)
	case origin != "":
		list = append(list, origin, text)
	case through:
		vars["PCP_START_TIME"] = text
	case r.relative != "" || !r.at.IsZero():
		return nil, nil, fmt.Errorf("%q reads archives, but not from a time on", r.command.Name)
	}
	return list, vars, nil
}

// own returns the directory with the archives of this machine, or the only directory.
func own(env *cli.Env, dirs []string) (string, error) {
	if len(dirs) == 0 {
		return "", errors.New(source.NothingRecorded(env))
	}
	if host, err := os.Hostname(); err == nil {
		if i := slices.IndexFunc(dirs, func(dir string) bool { return filepath.Base(dir) == fleet.DefaultName(host) }); i >= 0 {
			return dirs[i], nil
		}
	}
	if len(dirs) == 1 {
		return dirs[0], nil
	}
	var names []string
	for _, dir := range dirs {
		names = append(names, filepath.Base(dir))
	}
	return "", fmt.Errorf("several hosts are recorded, none of which is this one; name one of them: %s", strings.Join(names, ", "))
}

// recorded returns the directories with archives: of collectors of this user that run, in the state directory,
// and in that of pmlogger, in this order.
func recorded(env *cli.Env) []string {
	var roots []string
	for _, r := range env.Running() {
		roots = append(roots, filepath.Join(r.Dir, "pmlogger"))
	}
	if dir, err := env.StateDir(); err == nil {
		roots = append(roots, filepath.Join(dir, "pmlogger"))
	}
	roots = append(roots, env.Config().Get("PCP_ARCHIVE_DIR"))
	var dirs []string
	for _, root := range roots {
		entries, err := os.ReadDir(root)
		if err != nil {
			continue
		}
		for _, e := range entries {
			dir := filepath.Join(root, e.Name())
			if !slices.Contains(dirs, dir) && len(archivesIn(dir)) > 0 {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// archivesIn returns the archives in a directory, by name.
func archivesIn(dir string) []string {
	entries, err := storage.ReadDir(dir)
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		if base, part, ok := archive.BaseName(e.Name()); ok && part == "meta" {
			list = append(list, storage.Join(dir, base))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
