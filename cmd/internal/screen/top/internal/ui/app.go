package ui

import (
	"cmp"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
)

// A View is one of the pages.
type View int

// Views.
const (
	Overview View = iota
	Processes
	CGroups
	Disks
	Network
	Pressure
	Charts
	Containers
	numViews
)

// views are the pages with their names.
var views = [numViews]struct{ title, short, name string }{
	{"Overview", "Overview", "overview"},
	{"Processes", "Procs", "processes"},
	{"Cgroups", "Cgroups", "cgroups"},
	{"Disks", "Disks", "disks"},
	{"Network", "Net", "network"},
	{"Pressure", "PSI", "pressure"},
	{"Chart", "Chart", "chart"},
	{"Containers", "Containers", "containers"},
}

// ViewNames returns the names of the views in options.
func ViewNames() []string {
	list := make([]string, 0, len(views))
	for _, v := range views {
		list = append(list, v.name)
	}
	return list
}

// ViewNamed returns the view of a name, and reports whether there is one.
func ViewNamed(name string) (View, bool) {
	for i, v := range views {
		if v.name == name {
			return View(i), true
		}
	}
	return 0, false
}

// A Config configures an App.
type Config struct {
	Host     model.Host
	Interval time.Duration
	Start    pcp.Timestamp // of a replay
	Loc      *time.Location
	View     View
	Charts   []string // metrics
	Theme    string
	ASCII    bool
	// Local is set if the processes are those of this machine, which can be sent signals.
	Local bool

	Selection model.Selection // of processes
	Paused    bool
	Samples   int           // after which it is over, 0 for never
	Finish    pcp.Timestamp // when a live source is left, zero for never

	Now func() time.Time // nil means time.Now
}

// maxPast limits the samples that a replay takes before the one to which it jumps.
const maxPast = 60

// An App is the state of the screen. It must be used by one goroutine. It passes keys and clicks to the parts that they
// are for, and has the samples taken that the view shows; each part has its own state.
type App struct {
	cfg   Config
	theme *screen.Theme
	w, h  int
	view  View

	film    *film
	play    player
	procs   processes
	acts    actions
	charts  charts
	tables  tables
	dialogs dialogs
	mouse   mouse

	quit    bool
	suspend bool
	export  string // a file, "" for none
}

// An Op is a request of an App to a sampler.
type Op int

// Ops.
const (
	OpNone Op = iota
	OpNext
	OpBack
	OpSeek
	OpReconnect
	OpNames
)

// A Request is for [Do].
type Request struct {
	Op       Op
	At       pcp.Timestamp
	Past     int // the number of samples to take before that
	Need     model.Group
	Interval time.Duration
	Charts   []string
	Refresh  bool
	Recycle  []*model.Snapshot
}

// A Reply is the result of a Request.
type Reply struct {
	Op       Op
	Snapshot *model.Snapshot
	Past     []*model.Snapshot
	Names    []string
	Err      error
}

// New returns an App that requests its first sample.
func New(cfg Config) *App {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Loc == nil {
		cfg.Loc = time.Local
	}
	cfg.Interval = cmp.Or(cfg.Interval, time.Second)
	a := &App{cfg: cfg, w: 80, h: 24, view: cfg.View, film: newFilm()}
	host, say := &a.cfg.Host, a.dialogs.note.say
	a.dialogs.note.clock = cfg.Now
	a.play = player{
		host: host, loc: cfg.Loc, clock: cfg.Now, say: say, film: a.film,
		req: requests{want: OpNext}, pace: pace{interval: cfg.Interval, speed: normalSpeed},
		paused: cfg.Paused && host.Archive, soon: cfg.Paused,
	}
	if host.Archive {
		a.play.req.seek(cfg.Start, true)
	}
	a.procs = processes{film: a.film, mouse: &a.mouse, loc: cfg.Loc, say: say, sel: cfg.Selection}
	a.acts = actions{host: host, local: cfg.Local, film: a.film, procs: &a.procs, say: say}
	a.charts = charts{film: a.film, mouse: &a.mouse, loc: cfg.Loc, specs: cfg.Charts}
	a.tables = tables{film: a.film, mouse: &a.mouse, meters: meters{film: a.film}}
	a.theme, _ = screen.NewTheme(cfg.Theme)
	if a.theme == nil {
		a.theme, _ = screen.NewTheme(screen.Themes()[0])
	}
	return a
}

// Resize sets the size of the screen.
func (a *App) Resize(w, h int) { a.w, a.h = w, h }

// Theme returns the theme that the user has chosen.
func (a *App) Theme() *screen.Theme { return a.theme }

// Quit reports whether the user has quit.
func (a *App) Quit() bool { return a.quit }

// Suspend reports, once, whether the user wants to suspend the program.
func (a *App) Suspend() bool {
	s := a.suspend
	a.suspend = false
	return s
}

// need returns the groups of metrics that the view shows.
func (a *App) need() model.Group {
	g := model.System
	switch a.view {
	case Overview:
		g |= model.CPUs | model.Processes
		if a.film.now != nil && a.film.now.Groups&model.Processes != 0 && a.film.now.Absent(model.PanelProcesses) != "" {
			g |= model.Disks | model.Network // in their place
		}
	case Processes:
		g |= model.Processes | a.procs.needs(a.w)
	case CGroups, Containers:
		g |= model.Processes | model.CGroups
		if a.view == Containers {
			g |= model.Containers
		}
		if a.w >= groupIOFrom {
			g |= model.ProcessIO | a.needNetwork()
		}
	case Disks:
		g |= model.Disks | model.Files
	case Network:
		g |= model.Network
	case Pressure:
		g |= model.Pressure
	}
	if a.procs.detail != 0 {
		g |= model.Processes | model.ProcessIO | model.ProcessNet | model.ProcessGPU
	}
	if g&model.Processes != 0 && a.procs.sel.Threads {
		g |= model.Threads
	}
	return g
}

// needNetwork returns the groups with the traffic of control groups: that of processes or, if that has no source, of
// TCP connections.
func (a *App) needNetwork() model.Group {
	if now := a.film.now; now != nil && now.Lacks(model.PanelProcessNet) {
		return model.ProcessNet | model.Sockets
	}
	return model.ProcessNet
}

// Request returns the request of the App to its sampler, and reports whether there is any. There is no other request
// until Took has the reply.
func (a *App) Request() (Request, bool) {
	q := &a.play.req
	switch {
	case q.inflight:
		return Request{}, false
	case q.want != OpNone:
		r := q.take(min(maxPast, max(20, a.w)))
		r.Need, r.Interval, r.Charts, r.Recycle = a.need(), a.play.pace.interval, a.charts.specs, a.film.recycle()
		return r, true
	case a.charts.names.wanted && a.play.lost == nil:
		a.charts.names.wanted, q.inflight = false, true
		return Request{Op: OpNames}, true
	}
	return Request{}, false
}

// Delay returns the time until Tick is due, and reports whether it is due at all.
func (a *App) Delay() (time.Duration, bool) { return a.play.delay() }

// Tick requests the next sample.
func (a *App) Tick() { a.play.tick() }

// Took handles the result of a request.
func (a *App) Took(r Reply) {
	if r.Op == OpNames {
		a.play.req.inflight = false
		a.charts.names.list, a.charts.names.err = r.Names, r.Err
		return
	}
	if !a.play.took(r) {
		return
	}
	if a.play.pace.samples == a.cfg.Samples || !a.cfg.Finish.IsZero() && r.Snapshot.Time.Compare(a.cfg.Finish) >= 0 {
		a.quit = true
	}
	a.procs.follow(r.Snapshot)
	a.supply()
}

// supply requests a sample at once if the view shows metrics that the last sample did not
// have.
func (a *App) supply() {
	now := a.film.now
	if now == nil || a.play.req.want != OpNone || a.play.lost != nil || a.film.past() {
		return
	}
	if need := a.need(); now.Groups&need != need || !a.charts.taken() {
		a.play.again()
	}
}

// Action returns, once, the action that the user has requested.
func (a *App) Action() (Action, bool) { return a.acts.take() }

// Acted shows the result of an action.
func (a *App) Acted(act Action, err error) {
	a.play.req.refresh = true
	a.acts.done(act, err)
}
