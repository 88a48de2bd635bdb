package chart

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pmapi"
)

// Command is pcp chart.
var Command = &cli.Command{
	Name:     "chart",
	Link:     "pmchart",
	Group:    cli.Serve,
	Summary:  "draw metrics in the browser",
	Synopsis: "[options] [metricname ...]",
	Doc: `Opens the page of the collector of "pcp up", with a chart of each metric: of all instances, or of
those in brackets, as in disk.dev.read[sda,sdb]. The name of a subtree means the metrics below it.
Without a metric the page shows the overview. The command prints the address, with the secret token
that gives the page this user's rights, and opens a browser if it finds one.

With -a it serves a page for archives or directories of archives, and with -h for another collector,
for this machine only and until ctrl-C. It does the same for a collector of this host that was not
started by "pcp up".

With -H it serves the page itself too, and charts may have metrics of the hosts in that file. With
-L it shows the agents of its own process.

With -o it writes a picture of the page to a file instead, as the extension of the file asks: png,
jpg, gif or pdf. That needs Chromium or Google Chrome, but no display.

Called pmchart, it takes the names of archives after its options with -a, and of hosts otherwise.`,
	Examples: []cli.Example{
		{Line: "pcp chart kernel.all.load disk.dev.read", Text: "two charts of this host"},
		{Line: "pcp chart 'disk.dev.read[sda]'", Text: "one disk"},
		{Line: "pcp chart -a 20261121 -S @10:00 -T @11:00 kernel.all.cpu", Text: "an hour of an archive"},
		{Line: "pcp chart -c Overview", Text: "a view of pmchart"},
		{Line: "pcp chart -C -C -c ./view", Text: "check a view and its metrics"},
		{Line: "pcp chart -a 20261121 -c CPU -o cpu.png", Text: "a picture of a view"},
		{Line: "pcp chart -h www --no-open", Text: "serve the page of another host's collector, and print its address"},
	},
	SeeAlso: []string{"pcp help up", "pcp help record", "pcp help replay"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptArchive,
			cli.OptArchiveFolio,
			cli.OptHost,
			{Short: 'H', Long: "hostsfile", Arg: "PATH", Help: "charts may also have metrics of the hosts in this file"},
			cli.OptSpecLocal,
			cli.OptLocalPMDA,
			{Short: 'c', Long: "view", Arg: "FILE", Help: "show this view of pmchart, by its path or name; can be repeated"},
			{Short: 'C', Long: "check", Help: "only check the view; given twice, also its metrics"},
			cli.OptNameSpace,
			{Short: 's', Long: "samples", Arg: "N", Help: "keep N live samples on the page [default 15 minutes of them or more]"},
			{Short: 'v', Long: "visible", Arg: "N", Help: "show N samples [default five minutes of them]"},
			cli.Heading("Time options"),
			cli.OptStart,
			cli.OptFinish,
			cli.OptOrigin,
			cli.OptAlign,
			cli.OptInterval,
			cli.OptTimeZone,
			cli.OptHostZone,
			cli.Heading("Page options"),
			{Short: 'o', Long: "output", Arg: "FILE", Help: "write a picture to this file, and end"},
			{Short: 'g', Long: "geometry", Arg: "WxH", Help: "size of the picture [default 1280 and the height of the page]"},
			{Short: 'f', Long: "font-family", Arg: "FAMILY", Help: "font of the page"},
			{Short: 'F', Long: "font-size", Arg: "POINT", Help: "size of its letters [default 10.5]"},
			{Short: 'W', Long: "white", Help: "give the picture a white background, as it always has"},
			{Long: "port", Arg: "N", Help: "serve at this TCP port, with -a or -h [default any]"},
			{Long: "no-open", Help: "do not open the browser"},
			cli.OptVersion,
			cli.OptHelp,
			{Short: 'p', Long: "guiport", Arg: "PORT"}, // see guiPort
		}
	},
	Run: run,
}

// guiPort is the reason why -p is refused.
const guiPort = "-p (--guiport) of pmchart is not supported: it names the port of a pmtime that several windows of pmchart share; " +
	"each page has its own time control, and a link to the page has its time"

// geometry is the reason why -geometry, an option of all programs for X, is refused.
const geometry = "-geometry of pmchart is not supported: the browser places its windows; -g sets the size of a picture"

// Limits.
const (
	maxCharts = 24      // which the metrics below a name become
	maxView   = 1 << 20 // bytes of a view
	maxLink   = 256 << 10
	maxHosts  = 1000    // of -H
	maxFile   = 1 << 20 // bytes of it
	minWindow = 10      // seconds, as in cmd/internal/web/src/state.ts
	maxWindow = 366 * 86400
	// Those of -s and -F are in that file too.
	maxSamples       = 100_000
	minFont, maxFont = 6, 24
)

// A chart is a run of the command.
type chart struct {
	env *cli.Env
	o   *source.Options

	views   []string // of pmchart
	output  string   // the file of a picture
	width   int      // of the picture, 0 by default
	height  int
	white   bool
	plots   []plot          // of the view
	check   int             // number of -C options
	visible int             // samples, 0 by default
	samples int             // that the page keeps, 0 by default
	reach   map[string]bool // hosts of -H
	port    int
	served  bool // a port was given
	noOpen  bool

	metrics []string // with instances
	link    url.Values
}

func (x *chart) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Long {
	case "guiport":
		o.Usagef("%s", guiPort)
	case "hostsfile":
		var err error
		if x.reach, err = readHosts(arg); err != nil {
			o.Usagef("-H: %v", err)
		}
	case "samples":
		n, err := strconv.ParseUint(arg, 10, 31)
		if err != nil || n < 2 || n > maxSamples {
			o.Usagef("-s needs a number of samples, from 2 to %d, not %q", maxSamples, arg)
		}
		x.samples = int(n)
	case "font-family":
		if !fontFamily().MatchString(arg) {
			o.Usagef("-f needs the name of a font, not %q", arg)
		}
		x.link.Set("font", arg)
	case "font-size":
		n, err := strconv.ParseFloat(arg, 64)
		if err != nil || !(n >= minFont && n <= maxFont) {
			o.Usagef("-F needs a size from %d to %d points, not %q", minFont, maxFont, arg)
		}
		x.link.Set("size", strconv.FormatFloat(n, 'f', -1, 64))
	case "view":
		x.views = append(x.views, arg)
	case "output":
		var err error
		if x.output, err = pictureFile(arg); err != nil {
			o.Usagef("%v", err)
		}
	case "geometry":
		var err error
		if x.width, x.height, err = parseGeometry(arg); err != nil {
			o.Usagef("%v", err)
		}
	case "white":
		x.white = true
	case "check":
		x.check++
	case "visible":
		n, err := strconv.ParseUint(arg, 10, 31)
		if err != nil || n < 2 {
			o.Usagef("-v needs a number of samples, 2 or more, not %q", arg)
		}
		x.visible = int(n)
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
	if slices.Contains(env.Args, "-geometry") {
		return env.Fatalf("%s", geometry)
	}
	x := &chart{env: env, link: url.Values{}}
	x.o = source.Parse(env, cli.ParseConfig{Own: x.own, Archives: true, HighRes: true})
	o := x.o
	if env.Classic() && len(o.Args) > 0 {
		if o.FromArchive() {
			o.Archives = append(o.Archives, o.Args...)
		} else {
			o.Hosts = append(o.Hosts, o.Args...)
		}
		o.Args = nil
	}
	if len(o.Hosts) > 1 {
		o.Usagef("a page is that of one collector, not of %s", strings.Join(o.Hosts, " and "))
	}
	if x.output == "" && (x.width > 0 || x.white) {
		o.Usagef("-g and -W are for the picture that -o makes; the page has the size of the browser's window")
	}
	if x.output != "" && x.served {
		o.Usagef("-o makes a picture, and serves no page at a port")
	}
	for _, arg := range o.Args {
		if _, _, ok := metric(arg); !ok {
			o.Usagef("%q is not a metric: NAME or NAME[INSTANCE,...]", arg)
		}
	}
	if x.samples > 0 && o.FromArchive() {
		o.Usagef("-s is for live values; the page shows all samples of archives")
	}
	if x.samples > 0 && x.visible > x.samples {
		o.Usagef("-v %d is more than the %d samples of -s", x.visible, x.samples)
	}
	if x.reach != nil && (o.FromArchive() || o.Local) {
		o.Usagef("-H is for collectors: -a and -L have one source")
	}
	if len(o.Args) > 0 && len(x.views) > 0 {
		o.Usagef("a view and metrics cannot be shown at once")
	}
	if x.check > 0 && len(x.views) == 0 {
		o.Usagef("-C checks a view; name it with -c")
	}
	if o.FromArchive() && o.NameSpace != nil {
		o.Usagef("-n is not supported with -a: archives have the names that were recorded")
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
	if x.samples > 0 {
		x.link.Set("kept", strconv.Itoa(x.samples))
	}
	if o.Interval > 0 {
		x.link.Set("step", strconv.FormatFloat(o.Interval.Seconds(), 'f', -1, 64))
	}
	for _, name := range x.views {
		if err := x.readView(name); err != nil {
			return env.Fatalf("%v", err)
		}
	}
	if x.check == 1 {
		return 0
	}
	if x.visible > 0 {
		step := o.Interval
		if step <= 0 {
			step = time.Second
		}
		if err := x.show(float64(x.visible) * step.Seconds()); err != nil {
			return env.Fatalf("-v %d: %v", x.visible, err)
		}
	}
	if o.FromArchive() {
		return x.archives(ctx)
	}
	return x.collector(ctx)
}

// show has the page show a number of seconds.
func (x *chart) show(window float64) error {
	if window < minWindow || window > maxWindow {
		return fmt.Errorf("%g seconds; a page shows from %d seconds to %d days", window, minWindow, maxWindow/86400)
	}
	x.link.Set("window", seconds(window))
	return nil
}

// setZone has the page show the times of a source, as -z asks for.
func (x *chart) setZone(ctx context.Context, c *pmapi.Context) error {
	if !x.o.HostZone {
		return nil
	}
	tz, err := c.TimeZone(ctx)
	if err != nil {
		return fmt.Errorf("-z: %s", cli.ErrText(err))
	}
	name, ok := zoneName(tz)
	if !ok {
		return fmt.Errorf("-z: browsers do not know the time zone %q of the source; name one with -Z, such as Europe/Oslo", tz)
	}
	x.link.Set("zone", name)
	return nil
}

var fixedZone = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z]{3,}([-+]?)(\d{1,2})(?::?00(?::?00)?)?$`)
})

// zoneName returns the name that browsers have for a zone as the variable TZ has it: that of the IANA, or one for
// zones whose hours are always the same.
func zoneName(tz string) (name string, ok bool) {
	name = strings.TrimPrefix(tz, ":")
	if name != "" && ianaZone(name) {
		return name, true
	}
	m := fixedZone().FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	hours, _ := strconv.Atoi(m[2])
	switch {
	case hours == 0:
		return "UTC", true
	case m[1] == "-" && hours <= 14:
		return fmt.Sprintf("Etc/GMT-%d", hours), true
	case m[1] != "-" && hours <= 12:
		return fmt.Sprintf("Etc/GMT+%d", hours), true
	}
	return "", false
}

// metric takes an argument apart: a name, and instances in brackets. The page accepts
// the same form.
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

// readView adds a view: a file, or a name in the directories where pmchart looks.
func (x *chart) readView(view string) error {
	paths := []string{view}
	if !strings.Contains(view, "/") {
		conf := x.env.Config()
		for _, dir := range []string{
			filepath.Join(x.env.Getenv("HOME"), ".pcp", "kmchart"),
			filepath.Join(x.env.Getenv("HOME"), ".pcp", "pmchart"),
			filepath.Join(conf.Get("PCP_VAR_DIR"), "config", "kmchart"),
			filepath.Join(conf.Get("PCP_VAR_DIR"), "config", "pmchart"),
			filepath.Join(conf.Get("PCP_SYSCONF_DIR"), "pmchart"),
		} {
			paths = append(paths, filepath.Join(dir, view))
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
		text, name := string(b), filepath.Base(path)
		if before := x.link.Get("view"); before != "" {
			text, name = strings.TrimRight(before, "\n")+"\n"+text, x.link.Get("name")+", "+name
		}
		if len(text) > maxLink {
			return fmt.Errorf("%s: too long for an address; open it on the page, by \"From a file…\"", path)
		}
		plots, err := parseView(path, string(b))
		if err != nil {
			return err
		}
		x.plots = append(x.plots, plots...)
		x.link.Set("view", text)
		x.link.Set("name", name)
		return nil
	}
	return fmt.Errorf("%s: there is no such view in %s", view, strings.Join(paths, ", "))
}

// look asks a source for all that options and arguments need of it.
func (x *chart) look(ctx context.Context, c *pmapi.Context) error {
	if x.check > 1 {
		return x.checkView(ctx, c)
	}
	if err := x.setZone(ctx, c); err != nil {
		return err
	}
	return x.find(ctx, c)
}

// find checks names of metrics, and replaces inner nodes of the tree by the metrics
// below them.
func (x *chart) find(ctx context.Context, c *pmapi.Context) error {
	for _, arg := range x.o.Args {
		name, instances, _ := metric(arg)
		var below []string
		for leaf, err := range c.Traverse(ctx, name) {
			if errors.Is(err, pcp.ErrName) {
				return fmt.Errorf("%s: %s%s", name, cli.ErrText(err), source.DidYouMean(ctx, x.env, c, name))
			}
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

// hash is the part of the address that selects the view.
func (x *chart) hash() string {
	page := "overview"
	if len(x.metrics) > 0 {
		x.link["chart"] = x.metrics
	}
	if len(x.metrics) > 0 || len(x.views) > 0 {
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
	if o.Local {
		return x.local(ctx)
	}
	if r := x.running(); r != nil && !x.served && o.NameSpace == nil && x.reach == nil {
		c, err := o.Dial(ctx, "unix:"+r.Socket)
		if err != nil {
			return o.CannotConnect("unix:"+r.Socket, err)
		}
		defer c.Close()
		if err := x.look(ctx, c); err != nil {
			return env.Fatalf("%v", err)
		}
		if x.check > 1 {
			return 0
		}
		return x.open(ctx, r.Page+"?token="+r.Token+x.hash())
	}
	host := o.Host()
	if host == "" {
		host = "local:"
	}
	c, err := o.Dial(ctx, host)
	if err != nil {
		return o.CannotConnect(host, err)
	}
	err = x.look(ctx, c)
	c.Close()
	if err != nil {
		return env.Fatalf("%v", err)
	}
	if x.check > 1 {
		return 0
	}
	return x.serve(ctx, hostSource{host: host, dial: o.Dial})
}

// local opens the page of agents in this process.
func (x *chart) local(ctx context.Context) int {
	dial := func(ctx context.Context, _ string) (*pmapi.Context, error) { return x.o.OpenLocal(ctx) }
	c, err := dial(ctx, "")
	if err != nil {
		return x.env.Fatalf("-L: %s", cli.ErrText(err))
	}
	err = x.look(ctx, c)
	c.Close()
	if err != nil {
		return x.env.Fatalf("%v", err)
	}
	if x.check > 1 {
		return 0
	}
	return x.serve(ctx, hostSource{host: "local:", dial: dial, local: true})
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
		if h := x.o.Hosts[0]; strings.HasPrefix(h, "localhost:") && list[i].Serves("tcp", h) || h == "unix:"+list[i].Socket || h == "unix://"+list[i].Socket {
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
	if err := x.look(ctx, c); err != nil {
		return env.Fatalf("%v", err)
	}
	if x.check > 1 {
		return 0
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
	// Without -v the page shows all from the origin on, and with it that many samples from there.
	begin := w.Origin
	if x.visible > 0 {
		window, _ := strconv.ParseFloat(x.link.Get("window"), 64)
		end = begin.Add(time.Duration(window * float64(time.Second)))
	}
	if span := end.Sub(begin); span > 0 {
		x.link.Set("end", seconds(float64(end.Sec)+float64(end.Nsec)/1e9))
		x.link.Set("window", seconds(max(span, minWindow)))
		// Six hundred samples are as many as a chart has room for.
		if o.Interval == 0 && span > 600 {
			x.link.Set("step", strconv.Itoa(int(span/600)+1))
		}
	} else {
		x.link.Set("end", seconds(float64(end.Sec)+float64(end.Nsec)/1e9)) // what comes before it
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
