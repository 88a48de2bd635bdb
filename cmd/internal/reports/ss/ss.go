package ss

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/pmapi"
)

// Command is pcp-ss.
var Command = &cli.Command{
	Name:    "ss",
	Link:    "pcp-ss",
	Group:   cli.SeeNow,
	Summary: "list sockets",
	Doc: `Lists the sockets of a host once: live, or from an archive at its end or at the time of pcp -S or
pcp -O. The metrics are those of the agent sockets, whose filter selects sockets. Options of pcp
itself (pcp -h HOST ss, pcp -a ARCHIVE -S TIME ss) select the host and the time; options of ss with
the same letters have other meanings.`,
	Examples: []cli.Example{
		{Line: "pcp ss -t -a", Text: "list all TCP sockets"},
		{Line: "pcp -a ARCHIVE -S @14:00 ss -ti -O", Text: "show the TCP data at two o'clock, a line for each socket"},
	},
	SeeAlso:       []string{"pmdasockets(1)"},
	Options:       options,
	Interruptible: true,
	Run:           run,
}

const (
	tree   = "network.persocket"
	filter = tree + ".filter"
)

// sourceOptions are the options that correspond to the variables set by pcp.
func sourceOptions() []cli.Option {
	return []cli.Option{
		cli.OptArchive, cli.OptAlign, cli.OptOrigin, cli.OptStart, cli.OptDebug, cli.OptHostZone, cli.OptTimeZone,
	}
}

// A list is a call of the program.
type list struct {
	env  *cli.Env
	args args
	c    *pmapi.Context
	loc  *time.Location
	name string // of the source

	names []string // of the metrics without the prefix, the filter's metric first
	descs []pcp.Desc
	res   *pcp.Result
	by    map[string]map[int32]pcp.Value
}

func run(ctx context.Context, env *cli.Env) int {
	a, err := parse(env.Args)
	switch {
	case err != nil:
		fmt.Fprintf(env.Stderr, "%s%s: error: %s\n", usage(env.ProgName()), env.ProgName(), err)
		return 2
	case a["help"] && !env.Classic():
		env.Help(env.Command)
		return 0
	case a["help"]:
		fmt.Fprintf(env.Stdout, "%s%s", usage(env.ProgName()), getopt.List(options()))
		return 0
	}
	a.defaults(env.Seven())
	l := &list{env: env, args: a, loc: time.Local}
	if a.any("events", "context", "contexts", "net", "summary", "processes") && !a["json"] {
		fmt.Fprintln(env.Stdout, "Warning: --events, --context --net, --summary and --processes options are not implemented")
	}
	status, ok := l.open(ctx)
	if l.c != nil {
		defer l.c.Close()
	}
	if !ok {
		return status
	}
	if status, ok := l.fetch(ctx); !ok {
		if ctx.Err() != nil {
			fmt.Fprintln(env.Stdout)
			return 0
		}
		return status
	}
	return l.print(ctx)
}

// open opens the source named by the variables that pcp sets.
func (l *list) open(ctx context.Context) (status int, ok bool) {
	env := *l.env
	env.Command = &cli.Command{Name: env.Command.Name, Link: env.Command.Link, Options: sourceOptions}
	env.Args = nil
	var err error
	if env.IsSet("PCP_ARCHIVE") {
		l.name = env.Getenv("PCP_ARCHIVE")
		status, ok, err = l.openArchive(ctx, &env)
	} else {
		if l.name = "localhost"; env.IsSet("PCP_HOST") {
			l.name = env.Getenv("PCP_HOST")
		}
		o := source.New(&env, cli.ParseArgs(&env, cli.ParseConfig{}))
		l.loc = zone(l.env)
		l.c, err = o.Dial(ctx, l.name)
		ok = err == nil
	}
	if err != nil {
		// The C program does not know its name until it reads the options of an archive.
		l.env.FlushOut()
		fmt.Fprintf(l.env.Stderr, "pcp: %s '%s'\n", cli.ErrText(err), l.name)
		return 1, false
	}
	if !ok {
		return status, false
	}
	if _, err := l.c.LookupName(ctx, filter); err != nil {
		where := "in archive " + l.name
		if _, ok := l.c.Archive(); !ok {
			where = "on host " + l.name + ".\nIs the 'sockets' PMDA installed and enabled? See pmdasockets(1)."
		}
		fmt.Fprintf(l.env.Stdout, "Error: metrics for '%s' not found %s\n", tree, where)
		return 1, false
	}
	return 0, true
}

func (l *list) openArchive(ctx context.Context, env *cli.Env) (status int, ok bool, err error) {
	origin := true
	switch {
	case env.IsSet("PCP_ORIGIN_TIME"):
	case env.IsSet("PCP_START_TIME"):
		origin = false
	default:
		env.Args = []string{"-O-0"} // the end
	}
	o := source.Parse(env, cli.ParseConfig{Archives: true, HighRes: true})
	a, err := o.OpenArchive(l.name)
	if err != nil {
		return 0, false, err
	}
	l.c = a.Context
	if status, exit := o.Done(); exit {
		return status, false, nil
	}
	if l.loc, err = o.SetZone(ctx, l.c, false); err != nil { // and reported
		return 1, false, nil
	}
	window, err := o.Window(ctx, l.c, l.loc)
	if err != nil {
		return 1, false, nil
	}
	at := window.Start
	if origin {
		at = window.Origin
	}
	return 0, true, a.SetMode(ctx, pmapi.ModeInterp, &at, 0)
}

// fetch fetches all values of sockets.
func (l *list) fetch(ctx context.Context) (status int, ok bool) {
	full := []string{filter}
	for name, err := range l.c.Traverse(ctx, tree) {
		if err != nil {
			return l.failed(err), false
		}
		if !strings.HasSuffix(name, ".filter") {
			full = append(full, name)
		}
	}
	ids, err := l.c.LookupName(ctx, full...)
	if err == nil {
		l.descs, err = l.c.LookupDescs(ctx, ids...)
	}
	if err != nil {
		return l.failed(err), false
	}
	for _, name := range full {
		l.names = append(l.names, strings.TrimPrefix(name, tree+"."))
	}
	if l.res, err = l.c.Fetch(ctx, ids); err == nil && len(l.res.Sets) != len(ids) {
		err = pcp.ErrIPC
	}
	if err != nil {
		if ctx.Err() == nil {
			fmt.Fprintf(l.env.Stdout, "Error: fetch failed: %s%s\n", symbol(err), cli.ErrText(err))
		}
		return 1, false
	}
	l.by = make(map[string]map[int32]pcp.Value, len(l.names))
	for i, name := range l.names {
		set := &l.res.Sets[i]
		l.by[name] = make(map[int32]pcp.Value, len(set.Values))
		for _, v := range set.Values {
			l.by[name][v.Inst] = v.As(l.descs[i].Type)
		}
	}
	return 0, true
}

// symbol returns the name of an error from a fetch, with a blank.
func symbol(err error) string {
	for e, name := range map[pcp.Error]string{pcp.ErrEOL: "PM_ERR_EOL ", pcp.ErrIPC: "PM_ERR_IPC ", pcp.ErrTimeout: "PM_ERR_TIMEOUT "} {
		if errors.Is(err, e) {
			return name
		}
	}
	return ""
}

// failed prints an error, and returns the exit status.
func (l *list) failed(err error) int {
	if errors.Is(err, pcp.ErrEOL) {
		return 0
	}
	l.env.FlushOut()
	return l.env.Fatalf("%s", cli.ErrText(err))
}
