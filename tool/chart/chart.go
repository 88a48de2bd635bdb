package chart

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/tool/cli"
	"github.com/go-pcp/pcp/tool/source"
)

// Command is pcp chart.
var Command = &cli.Command{
	Name:     "chart",
	Group:    "Metrics",
	Summary:  "draw metrics in the browser",
	Synopsis: "[options] [metricname ...]",
	Doc: `Opens the page of the collector that "pcp up" runs, with a chart of each metric: of all instances, or of
those in brackets, as disk.dev.read[sda,sdb]. A name of the tree stands for the metrics below it. Without a metric it is the
overview. It prints the address, with the secret token that gives the page this user's rights, and opens the browser if
there is one.

With -a it serves archives, or directories of them, and with -h another collector, on this machine alone and until ctrl-C. So it does
for the collector of this host if that was not started by "pcp up".`,
	Examples: []cli.Example{
		{Line: "pcp chart kernel.all.load disk.dev.read", Text: "two charts of this host"},
		{Line: "pcp chart 'disk.dev.read[sda]'", Text: "one disk"},
		{Line: "pcp chart -a 20261121 -S @10:00 -T @11:00 kernel.all.cpu", Text: "an hour of an archive"},
		{Line: "pcp chart -c Overview", Text: "a view of pmchart"},
		{Line: "pcp chart -h www --no-open", Text: "serve the page of another host's collector, and print its address"},
	},
	SeeAlso: []string{"pcp help up", "pcp help record", "pcp help replay"},
	Options: []cli.Option{
		cli.Heading("Options"),
		cli.OptArchive,
		cli.OptHost,
		{Short: 'c', Long: "view", Arg: "FILE", Help: "show this view of pmchart, by its path or name"},
		cli.OptStart,
		cli.OptFinish,
		cli.OptInterval,
		cli.OptTimeZone,
		{Long: "port", Arg: "N", Help: "serve at this TCP port, with -a or -h [default any]"},
		{Long: "no-open", Help: "do not open the browser"},
		cli.OptVersion,
		cli.OptHelp,
	},
	Run: run,
}

// Limits.
const (
	maxCharts = 24      // which the metrics below a name become
	maxView   = 1 << 20 // bytes of a view
	maxLink   = 256 << 10
)

// A chart is one run.
type chart struct {
	env *cli.Env
	o   *source.Options

	view   string // of pmchart
	port   int
	served bool // a port was given
	noOpen bool

	metrics []string // with instances
	link    url.Values
}

func (x *chart) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Long {
	case "view":
		x.view = arg
	case "port":
		n, err := strconv.ParseUint(arg, 10, 16)
		if err != nil {
			o.Usagef("--port needs the number of a port, not %q", arg)
		}
		x.port, x.served = int(n), true
	case "no-open":
		x.noOpen = true
	default:
		return false
	}
	return true
}

func run(ctx context.Context, env *cli.Env) int {
	x := &chart{env: env, link: url.Values{}}
	x.o = source.Parse(env, cli.ParseConfig{Own: x.own, Archives: true, HighRes: true})
	o := x.o
	for _, arg := range o.Args {
		if _, _, ok := metric(arg); !ok {
			o.Usagef("%q is not a metric: NAME or NAME[INSTANCE,...]", arg)
		}
	}
	if len(o.Args) > 0 && x.view != "" {
		o.Usagef("a view and metrics cannot be shown at once")
	}
	if !o.FromArchive() && (o.Start != nil || o.Finish != nil) {
		o.Usagef("-S and -T need an archive; the page itself reaches back as far as this host is recorded")
	}
	if o.TimeZoneSet && !ianaZone(o.TimeZone) {
		o.Usagef("-Z needs the name of a zone that browsers know, such as Europe/Oslo, not %q", o.TimeZone)
	}
	if status, exit := o.Done(); exit {
		return status
	}
	if o.TimeZoneSet && o.TimeZone != "" {
		x.link.Set("zone", o.TimeZone)
	}
	if o.Interval > 0 {
		x.link.Set("step", strconv.FormatFloat(o.Interval.Seconds(), 'f', -1, 64))
	}
	if x.view != "" {
		if err := x.readView(); err != nil {
			return env.Fatalf("%v", err)
		}
	}
	if o.FromArchive() {
		return x.archives(ctx)
	}
	return x.collector(ctx)
}

// metric takes an argument apart: a name, and instances in brackets. It is what the page
// accepts too.
func metric(arg string) (name, instances string, ok bool) {
	name, instances, found := strings.Cut(arg, "[")
	if found && !strings.HasSuffix(instances, "]") || name == "" {
		return "", "", false
	}
	for i, c := range []byte(name) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !('0' <= c && c <= '9' || c == '_' || c == '.')) {
			return "", "", false
		}
	}
	return name, strings.TrimSuffix(instances, "]"), true
}

func ianaZone(name string) bool {
	_, err := time.LoadLocation(name)
	return err == nil && name != "Local"
}

// readView reads the view: a file, or a name in the directories where pmchart looks.
func (x *chart) readView() error {
	paths := []string{x.view}
	if !strings.Contains(x.view, "/") {
		conf := x.env.Config()
		for _, dir := range []string{
			filepath.Join(x.env.Getenv("HOME"), ".pcp", "kmchart"),
			filepath.Join(x.env.Getenv("HOME"), ".pcp", "pmchart"),
			filepath.Join(conf.Get("PCP_VAR_DIR"), "config", "kmchart"),
			filepath.Join(conf.Get("PCP_VAR_DIR"), "config", "pmchart"),
			filepath.Join(conf.Get("PCP_SYSCONF_DIR"), "pmchart"),
		} {
			paths = append(paths, filepath.Join(dir, x.view))
		}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s: not a file", path)
		}
		if err == nil && info.Size() > maxView {
			return fmt.Errorf("%s: longer than %d bytes", path, maxView)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if l := strings.ToLower(string(b[:min(len(b), 8)])); !strings.HasPrefix(l, "#kmchart") && !strings.HasPrefix(l, "#pmchart") {
			return fmt.Errorf("%s: the first line is not #kmchart, so this is no view of pmchart", path)
		}
		if len(b) > maxLink {
			return fmt.Errorf("%s: too long for an address; open it on the page, by \"From a file…\"", path)
		}
		x.link.Set("view", string(b))
		x.link.Set("name", filepath.Base(path))
		return nil
	}
	return fmt.Errorf("%s: there is no such view in %s", x.view, strings.Join(paths, ", "))
}

// find checks names of metrics, and replaces those of the tree by what is below them.
func (x *chart) find(ctx context.Context, c *pmapi.Context) error {
	for _, arg := range x.o.Args {
		name, instances, _ := metric(arg)
		var below []string
		for leaf, err := range c.Traverse(ctx, name) {
			if err != nil {
				return fmt.Errorf("%s: %s", name, cli.ErrText(err))
			}
			below = append(below, leaf)
		}
		slices.Sort(below)
		switch {
		case len(below) == 0:
			return fmt.Errorf("%s: %s", name, cli.ErrText(pcp.ErrName))
		case len(x.metrics)+len(below) > maxCharts:
			return fmt.Errorf("%s: %d metrics are below that, and a page has %d charts at most", name, len(below), maxCharts)
		}
		for _, leaf := range below {
			if instances != "" {
				leaf += "[" + instances + "]"
			}
			x.metrics = append(x.metrics, leaf)
		}
	}
	return nil
}

// hash is the part of the address that says what is shown.
func (x *chart) hash() string {
	page := "overview"
	if len(x.metrics) > 0 {
		x.link["chart"] = x.metrics
	}
	if len(x.metrics) > 0 || x.view != "" {
		page = "charts"
	}
	if len(x.link) == 0 {
		return "#/" + page
	}
	return "#/" + page + "?" + x.link.Encode()
}

// collector opens the page of a collector.
func (x *chart) collector(ctx context.Context) int {
	env, o := x.env, x.o
	if r := x.running(); r != nil && !x.served {
		c, err := o.Dial(ctx, "unix:"+r.Socket)
		if err != nil {
			return o.CannotConnect("unix:"+r.Socket, err)
		}
		defer c.Close()
		if err := x.find(ctx, c); err != nil {
			return env.Fatalf("%v", err)
		}
		return x.open(r.Page + "?token=" + r.Token + x.hash())
	}
	host := o.Host()
	if host == "" {
		host = "local:"
	}
	c, err := o.Dial(ctx, host)
	if err != nil {
		return o.CannotConnect(host, err)
	}
	err = x.find(ctx, c)
	c.Close()
	if err != nil {
		return env.Fatalf("%v", err)
	}
	return x.serve(ctx, hostSource{host: host, dial: o.Dial})
}

// running finds the collector of "pcp up" that is meant, if it has a page.
func (x *chart) running() *cli.Running {
	list := slices.DeleteFunc(x.env.Running(), func(r cli.Running) bool { return r.Page == "" || r.Token == "" })
	if len(x.o.Hosts) == 0 {
		if len(list) == 0 {
			return nil
		}
		return &list[0]
	}
	for i := range list {
		if h := x.o.Hosts[0]; h == list[i].Host() || h == "unix:"+list[i].Socket || h == "unix://"+list[i].Socket {
			return &list[i]
		}
	}
	return nil
}

// archives serves archives.
func (x *chart) archives(ctx context.Context) int {
	env, o := x.env, x.o
	c, err := o.Connect(ctx)
	if err != nil {
		return 1
	}
	defer c.Close()
	if err := x.find(ctx, c); err != nil {
		return env.Fatalf("%v", err)
	}
	loc, err := o.SetZone(ctx, c, false)
	if err != nil {
		return 1
	}
	w, err := o.Window(ctx, c, loc)
	if err != nil {
		return 1
	}
	end := w.Finish
	if a, ok := c.Archive(); ok {
		if last, err := a.End(ctx); err == nil && (end.Compare(last) > 0 || end.IsZero()) {
			end = last
		}
	}
	if span := end.Sub(w.Start); span > 0 {
		x.link.Set("end", seconds(float64(end.Sec)+float64(end.Nsec)/1e9))
		x.link.Set("window", seconds(max(span, 10)))
		// Six hundred samples are as many as a chart has room for.
		if o.Interval == 0 && span > 600 {
			x.link.Set("step", strconv.Itoa(int(span/600)+1))
		}
	}
	name, err := c.HostName(ctx)
	if err == nil {
		x.link.Set("host", name)
	}
	var dirs []string
	for _, list := range o.Archives {
		dirs = append(dirs, strings.Split(list, ",")...)
	}
	return x.serve(ctx, archiveSource{dirs})
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 3, 64) }
