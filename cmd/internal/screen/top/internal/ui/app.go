package ui

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
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
	numViews
)

// views are the pages with their names.
var views = [numViews]struct{ title, name string }{
	{"Overview", "overview"},
	{"Processes", "processes"},
	{"Cgroups", "cgroups"},
	{"Disks", "disks"},
	{"Network", "network"},
	{"Pressure", "pressure"},
	{"Chart", "chart"},
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

// historySize is the number of samples that the graphs can show.
const historySize = 600

// maxPast limits the samples that a replay takes before the one to which it jumps.
const maxPast = 60

// An App is the state of the screen. It must be used by one goroutine.
type App struct {
	cfg   Config
	theme *screen.Theme
	w, h  int

	view     View
	now      *model.Snapshot // the snapshot shown; nil before the first sample
	hist     *model.History
	tape     model.Tape
	tapeAt   int // the index on the tape of the snapshot shown, -1 for the newest
	order    model.Order
	rows     []model.Row // of the snapshot that is shown
	rowsOf   *model.Snapshot
	sel      model.Selection
	procs    list
	pid      int32 // the selected process, 0 for the first row
	lists    [numViews]list
	detail   int32 // the process whose page is open, 0 if none is
	specs    []string
	chartAt  int
	command  bool // show the name of a program and not the whole command
	started  time.Time
	interval time.Duration

	// The requests to the sampler.
	want     Op
	seekAt   pcp.Timestamp
	past     bool // the history must be fetched too
	inflight bool
	refresh  bool
	due      time.Time
	paused   bool
	speed    int // steps a second, as an index of speeds
	atEnd    bool
	lost     error // the error of a lost connection
	lostAt   time.Time
	failed   string // the error of the last sample
	samples  int

	names     []string // of all metrics, for completion
	wantNames bool
	namesErr  error

	prompt   *prompt
	menu     *menu
	question *question
	help     bool
	helpTop  int
	note     string
	noteEnds time.Time
	action   *Action
	text     bool // it is drawn once, as text
	quit     bool
	suspend  bool

	hits   []hit
	buffer []float64
	freed  []*model.Snapshot
}

// A list is the cursor in a table.
type list struct{ cursor, top int }

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
	a := &App{
		cfg: cfg, w: 80, h: 24, view: cfg.View, hist: model.NewHistory(historySize), tapeAt: -1, interval: cfg.Interval,
		specs: cfg.Charts, speed: normalSpeed, want: OpNext, sel: cfg.Selection, paused: cfg.Paused && cfg.Host.Archive,
	}
	a.theme, _ = screen.NewTheme(cfg.Theme)
	if a.theme == nil {
		a.theme, _ = screen.NewTheme(screen.Themes()[0])
	}
	if cfg.Host.Archive {
		a.want, a.seekAt, a.past = OpSeek, cfg.Start, true
	}
	return a
}

// speeds are the steps of a replay a second.
var speeds = []float64{0.25, 0.5, 1, 2, 4, 8, 16, 32}

const normalSpeed = 2

// liveIntervals are the live intervals that + and - select.
var liveIntervals = []time.Duration{
	250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
	30 * time.Second, time.Minute,
}

// replayIntervals are the intervals that { and } select in a replay.
var replayIntervals = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute,
	5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour,
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
		if a.now != nil && a.now.Groups&model.Processes != 0 && a.now.Absent(model.PanelProcesses) != "" {
			g |= model.Disks | model.Network // in their place
		}
	case Processes:
		g |= model.Processes
		if a.showsIO() {
			g |= model.ProcessIO
		}
	case CGroups:
		g |= model.Processes | model.CGroups
	case Disks:
		g |= model.Disks | model.Files
	case Network:
		g |= model.Network
	case Pressure:
		g |= model.Pressure
	}
	if a.detail != 0 {
		g |= model.Processes | model.ProcessIO
	}
	return g
}

// Request returns the request of the App to its sampler, and reports whether there is any. There is no other request
// until Took has the reply.
func (a *App) Request() (Request, bool) {
	if a.inflight {
		return Request{}, false
	}
	if a.want == OpNone && a.wantNames && a.lost == nil {
		a.wantNames, a.inflight = false, true
		return Request{Op: OpNames}, true
	}
	if a.want == OpNone {
		return Request{}, false
	}
	r := Request{Op: a.want, At: a.seekAt, Need: a.need(), Interval: a.interval, Charts: a.specs, Refresh: a.refresh, Recycle: a.freed}
	if a.past && a.want == OpSeek {
		r.Past = min(maxPast, max(20, a.w))
	}
	a.want, a.past, a.refresh, a.inflight, a.freed = OpNone, false, false, true, nil
	return r, true
}

// Delay returns the time until Tick is due, and reports whether it is due at all.
func (a *App) Delay() (time.Duration, bool) {
	if a.inflight || a.want != OpNone || a.due.IsZero() {
		return 0, false
	}
	return max(0, a.due.Sub(a.cfg.Now())), true
}

// Tick requests the next sample.
func (a *App) Tick() {
	switch {
	case a.inflight || a.want != OpNone || a.due.IsZero():
		return
	case a.lost != nil:
		a.want = OpReconnect
	default:
		a.want = OpNext
	}
	a.due = time.Time{}
}

// playing reports whether a replay is running.
func (a *App) playing() bool { return a.cfg.Host.Archive && !a.paused && !a.atEnd }

// schedule decides when the next sample is due.
func (a *App) schedule() {
	now := a.cfg.Now()
	switch {
	case a.lost != nil:
		a.due = now.Add(time.Second)
	case a.cfg.Host.Archive && !a.playing():
		a.due = time.Time{}
	case a.cfg.Host.Archive:
		a.due = now.Add(time.Duration(float64(time.Second) / speeds[a.speed]))
	case a.samples == 1:
		// The first rates come soon.
		a.started = now
		a.due = now.Add(min(a.interval, 300*time.Millisecond))
	default:
		// At multiples of the interval since the start; missed samples are left out.
		passed := now.Sub(a.started)
		a.due = a.started.Add((passed/a.interval + 1) * a.interval)
	}
}

// Took handles the result of a request.
func (a *App) Took(r Reply) {
	a.inflight = false
	if r.Op == OpNames {
		a.names, a.namesErr = r.Names, r.Err
		return
	}
	switch {
	case r.Op == OpReconnect && r.Err == nil:
		a.lost, a.failed = nil, ""
		a.say("connected again")
		a.want = OpNext
		return
	case r.Err == nil:
		a.failed = ""
	case errors.Is(r.Err, model.ErrEnd):
		a.atEnd = r.Op != OpBack
		a.paused = a.paused || r.Op == OpBack
		if r.Op == OpBack {
			a.say("this is the start of the archive")
		}
		a.schedule()
		return
	case !a.cfg.Host.Archive && (r.Op == OpReconnect || errors.Is(r.Err, pcp.ErrIPC) || errors.Is(r.Err, pcp.ErrTimeout)):
		if a.lost == nil {
			a.lostAt = a.cfg.Now()
		}
		a.lost = r.Err
		a.schedule()
		return
	default:
		a.failed = r.Err.Error()
		a.schedule()
		return
	}
	a.samples++
	if a.samples == a.cfg.Samples || !a.cfg.Finish.IsZero() && r.Snapshot.Time.Compare(a.cfg.Finish) >= 0 {
		a.quit = true
	}
	if r.Op == OpSeek {
		a.atEnd = false
		if len(r.Past) > 0 {
			a.hist.Reset()
		}
	}
	for _, s := range r.Past {
		a.hist.Push(s)
		a.freed = append(a.freed, s)
	}
	a.hist.Push(r.Snapshot)
	if a.detail != 0 {
		if p := process(r.Snapshot, a.detail); p != nil {
			a.hist.Put(model.Key{Kind: model.ProcCPU}, p.CPU)
			a.hist.Put(model.Key{Kind: model.ProcRSS}, p.RSS)
		}
	}
	if a.cfg.Host.Archive {
		a.freed = append(a.freed, a.now)
		a.now = r.Snapshot
	} else {
		a.push(r.Snapshot)
		if a.cfg.Paused && a.samples == 2 { // with rates
			a.togglePause()
		}
	}
	a.atEnd = a.atEnd && r.Op != OpBack
	a.schedule()
	a.supply()
}

// push adds a snapshot to the tape. If the user has paused, the snapshot shown stays as long as the tape has
// it.
func (a *App) push(s *model.Snapshot) {
	gone := a.tape.Push(s)
	if a.tapeAt >= 0 {
		a.tapeAt = max(0, a.tapeAt-len(gone))
	}
	a.freed = append(a.freed, gone...)
	a.show()
}

// show shows the selected snapshot of the tape.
func (a *App) show() {
	if a.tape.Len() == 0 {
		return
	}
	if a.tapeAt < 0 || a.tapeAt >= a.tape.Len() {
		a.now = a.tape.At(a.tape.Len() - 1)
	} else {
		a.now = a.tape.At(a.tapeAt)
	}
}

// supply requests a sample at once if the view shows metrics that the last sample did not
// have.
func (a *App) supply() {
	if a.now == nil || a.want != OpNone || a.lost != nil || a.tapeAt >= 0 {
		return
	}
	if need := a.need(); a.now.Groups&need == need && a.chartsTaken() {
		return
	}
	a.want = OpNext
	if a.cfg.Host.Archive {
		a.want, a.seekAt = OpSeek, a.now.Time
	}
}

func (a *App) chartsTaken() bool {
	for _, spec := range a.specs {
		if !slices.ContainsFunc(a.now.Charts, func(c model.Chart) bool { return c.Spec == spec }) {
			return false
		}
	}
	return true
}

// end returns the number in the history of the sample shown.
func (a *App) end() int64 {
	if a.now == nil {
		return 0
	}
	return a.hist.Find(a.now.Time)
}

// values returns the history of a series for a graph of n columns. They are valid until the next call.
func (a *App) values(kind model.Series, name string, n int) []float64 {
	a.buffer = a.hist.Values(a.buffer[:0], model.Key{Kind: kind, Name: name}, a.end(), n)
	return a.buffer
}

// say shows a message for some seconds.
func (a *App) say(format string, args ...any) {
	a.note = fmt.Sprintf(format, args...)
	a.noteEnds = a.cfg.Now().Add(5 * time.Second)
}

// process returns the process of a PID, or nil.
func process(s *model.Snapshot, pid int32) *model.Process {
	if s == nil {
		return nil
	}
	for i := range s.Processes {
		if s.Processes[i].PID == pid {
			return &s.Processes[i]
		}
	}
	return nil
}
