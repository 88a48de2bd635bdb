package ui

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/toptest"
	"github.com/go-pcp/pcp/pmapi"
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(m.Run())
}

// A desk is an App with a user.
type desk struct {
	t    testing.TB
	app  *App
	s    *model.Sampler
	grid *screen.Grid
}

// settle carries out the App's requests.
func (d *desk) settle() {
	d.t.Helper()
	for range 100 {
		r, ok := d.app.Request()
		if !ok {
			return
		}
		d.app.Took(Do(d.t.Context(), d.s, r))
	}
	d.t.Fatal("the App never has enough")
}

// wait lets n samples come.
func (d *desk) wait(n int) {
	d.t.Helper()
	for range n {
		d.settle()
		delay, ok := d.app.Delay()
		if !ok {
			d.t.Fatal("nothing is due")
		}
		time.Sleep(delay)
		d.app.Tick()
	}
	d.settle()
}

// press presses keys by their names; a text in quotes is typed.
func (d *desk) press(keys ...string) {
	d.t.Helper()
	for _, k := range keys {
		if text, ok := strings.CutPrefix(k, "'"); ok {
			for _, r := range text {
				d.app.Key(string(r), string(r))
			}
		} else if len(k) == 1 {
			d.app.Key(k, k)
		} else {
			d.app.Key(k, "")
		}
		d.settle()
	}
}

// screen returns the contents of the screen.
func (d *desk) screen() string {
	d.app.Draw(d.grid)
	return d.grid.Plain()
}

func (d *desk) styled() string {
	d.app.Draw(d.grid)
	return d.grid.Styled(d.app.Theme())
}

// live runs f at the desk of a live host, in a bubble whose clock advances only while f waits. The screen
// shows the 60th sample.
func live(t *testing.T, w, h int, prepare func(*toptest.Host, *Config), f func(d *desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		host := toptest.New(time.Now())
		cfg := Config{Interval: time.Second, Loc: time.UTC, Local: true}
		if prepare != nil {
			prepare(host, &cfg)
		}
		c, err := host.Context()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s, err := model.New(t.Context(), c, model.Config{Interval: cfg.Interval})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Host = s.Host()
		cfg.Host.Name = "web1.example.com"
		d := &desk{t: t, app: New(cfg), s: s, grid: screen.New(w, h)}
		d.app.Resize(w, h)
		d.wait(60)
		f(d)
	})
}

// replay runs f at the desk of an archive of 20 minutes.
func replay(t *testing.T, w, h int, f func(d *desk)) {
	t.Helper()
	path, err := toptest.New(toptest.Start).Archive(t.TempDir(), 20*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		a, err := pmapi.OpenArchive(path)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		first := pcp.TimestampOf(toptest.Start)
		mc := model.Config{Interval: 10 * time.Second, First: first, Last: first.Add(20 * time.Minute), Start: first.Add(5*time.Minute + 20*time.Second)}
		s, err := model.New(t.Context(), a.Context, mc)
		if err != nil {
			t.Fatal(err)
		}
		d := &desk{t: t, app: New(Config{Host: s.Host(), Interval: mc.Interval, Start: mc.Start, Loc: time.UTC}), s: s, grid: screen.New(w, h)}
		d.app.Resize(w, h)
		d.settle()
		f(d)
	})
}

// golden compares a text with a file in testdata. UPDATE=1 writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s differs (-want +got); UPDATE=1 writes it:\n%s", path, diff)
	}
	checkScreen(t, got)
}

// checkScreen tests that nothing on a screen could control a terminal.
func checkScreen(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0xfffd {
			t.Errorf("the screen has the character %U", r)
		}
	}
}

// sizes are those of the screens that are kept.
var sizes = []struct{ w, h int }{{80, 24}, {120, 40}, {200, 60}}

func TestScreensLive(t *testing.T) {
	for _, size := range sizes {
		live(t, size.w, size.h, func(_ *toptest.Host, c *Config) { c.Charts = []string{"kernel.all.load", "disk.dev.read_bytes"} }, func(d *desk) {
			var all strings.Builder
			for v := range numViews {
				d.press(fmt.Sprint(int(v) + 1))
				d.wait(2)
				fmt.Fprintf(&all, "== %s\n%s", views[v].title, d.screen())
			}
			golden(t, fmt.Sprintf("live-%dx%d.txt", size.w, size.h), all.String())
		})
	}
}

func TestScreensOfReplay(t *testing.T) {
	for _, size := range sizes {
		replay(t, size.w, size.h, func(d *desk) {
			var all strings.Builder
			for v := range numViews {
				if v == Charts {
					continue
				}
				d.press(fmt.Sprint(int(v) + 1))
				fmt.Fprintf(&all, "== %s\n%s", views[v].title, d.screen())
			}
			golden(t, fmt.Sprintf("replay-%dx%d.txt", size.w, size.h), all.String())
		})
	}
}

// TestWalk walks through a session of a user, and keeps the screens.
func TestWalk(t *testing.T) {
	type stop struct {
		what string
		keys []string
		wait int
	}
	walk := func(d *desk, stops []stop) string {
		var all strings.Builder
		for _, s := range stops {
			d.press(s.keys...)
			if s.wait > 0 {
				d.wait(s.wait)
			}
			fmt.Fprintf(&all, "== %s: %s\n%s", s.what, strings.Join(s.keys, " "), d.screen())
		}
		return all.String()
	}
	live(t, 80, 24, nil, func(d *desk) {
		golden(t, "walk-live.txt", walk(d, []stop{
			{"processes as a tree", []string{"2", "t"}, 0},
			{"fold a branch", []string{"down", "down", "down", "x"}, 0},
			{"filter", []string{"t", "/", "'ssh|POST"}, 0},
			{"take the filter", []string{"enter"}, 0},
			{"clear it", []string{"esc"}, 0},
			{"choose a column", []string{"s", "down", "down", "down", "down"}, 0},
			{"sort by it", []string{"enter"}, 0},
			{"choose a user", []string{"u", "p"}, 0},
			{"only theirs", []string{"enter"}, 0},
			{"one process", []string{"down", "enter"}, 3},
			{"signals", []string{"k", "down"}, 0},
			{"the question", []string{"enter"}, 0},
			{"no", []string{"n", "esc", "esc"}, 0},
			{"nice value", []string{"r", "'30", "enter"}, 0},
			{"a good one", []string{"ctrl+u", "'5", "enter"}, 0},
			{"yes", []string{"y"}, 0},
			{"pause", []string{"space"}, 3},
			{"ten back", []string{"["}, 0},
			{"one forward", []string{"right"}, 0},
			{"to a time", []string{"b", "'-30", "enter"}, 0},
			{"go on", []string{"esc"}, 0},
			{"a chart", []string{"7", "m", "'kernel.all.l"}, 0},
			{"completed", []string{"tab", "enter"}, 5},
			{"another one", []string{"m", "'disk.dev.read_by", "tab", "enter"}, 5},
			{"a name that is wrong", []string{"m", "'no.such", "enter"}, 0},
			{"drop a chart", []string{"esc", "up", "d"}, 0},
			{"control groups", []string{"3", "down", "down", "down", "down"}, 1},
			{"the processes of one", []string{"enter"}, 1},
			{"a process with threads", []string{"end", "home", "enter"}, 1},
			{"its threads", []string{"H"}, 2},
			{"containers", []string{"H", "8", "down", "down"}, 2},
			{"the processes of one of them", []string{"enter"}, 1},
			{"help", []string{"esc", "?"}, 0},
			{"more help", []string{"pgdown", "pgdown", "pgdown"}, 0},
		}))
		if act, ok := d.app.Action(); !ok || act.Nice != 5 || act.Signal != "" || act.PID == 0 {
			t.Errorf("what was to be done is %+v, %v", act, ok)
		}
	})
	replay(t, 80, 24, func(d *desk) {
		golden(t, "walk-replay.txt", walk(d, []stop{
			{"it plays", nil, 3},
			{"pause", []string{"space"}, 0},
			{"one back", []string{"left"}, 0},
			{"ten forward", []string{"]"}, 0},
			{"to a time", []string{"b", "'08:07", "enter"}, 0},
			{"to what is not a time", []string{"b", "'noon or so", "enter"}, 0},
			{"larger steps", []string{"esc", "}"}, 0},
			{"a step of one's own", []string{"i", "'20", "enter"}, 0},
			{"faster", []string{"+", "+"}, 0},
			{"to where nothing is known", []string{"b", "'8:11", "enter"}, 0},
			{"to the end", []string{"b", "'end", "enter"}, 0},
			{"nothing can be killed", []string{"k"}, 0},
			{"on from the end", []string{"right"}, 0},
			{"back from there", []string{"left"}, 0},
			{"to the start", []string{"b", "'start", "enter"}, 0},
		}))
	})
}

// TestKeys presses each key of the table, and tests that it changes something.
func TestKeys(t *testing.T) {
	// The keys that must be pressed before a key has an effect.
	before := map[string][]string{
		"esc": {"/", "'ssh", "enter"}, "x": {"t"}, "up": {"down", "down"}, "pgup": {"end"}, "home": {"end"},
		"right": {"["}, ".": {"["}, "shift+right": {"[", "["}, "]": {"[", "["},
		"P": {"M"}, "ctrl+l": {"down"},
	}
	inCharts := map[string][]string{"d": {}, "delete": {}, "x": {}}
	for _, b := range bindings() {
		for _, key := range b.keys {
			if key == "ctrl+l" {
				continue // redraws the screen, which is Bubble Tea's part
			}
			run := func(d *desk) {
				t := d.t
				v := Processes
				for w := range numViews {
					if b.in != everywhere && b.fits(w) {
						v = w
					}
				}
				d.press(fmt.Sprint(int(v) + 1))
				if _, ok := inCharts[key]; !ok || v != Charts {
					d.press(before[key]...)
				}
				if v == Processes && key == "2" {
					d.press("1")
				}
				was := d.styled()
				d.press(key)
				if d.styled() == was && !d.app.Quit() && !d.app.Suspend() {
					t.Errorf("in %s %q changes nothing:\n%s", views[v].title, key, d.screen())
				}
			}
			if key == "{" || key == "}" {
				replay(t, 80, 24, run)
				continue
			}
			live(t, 80, 24, func(_ *toptest.Host, c *Config) { c.Charts = []string{"kernel.all.load"} }, run)
		}
	}
}

// TestSizes draws every view on screens of any size, with and without contents.
func TestSizes(t *testing.T) {
	draw := func(d *desk) {
		for v := range numViews {
			d.press(fmt.Sprint(int(v) + 1))
			for _, keys := range [][]string{nil, {"?"}, {"esc", "b"}, {"esc", "m"}, {"esc", "s"}, {"esc", "enter"}} {
				d.press(keys...)
				for w := 0; w < 140; w += 7 {
					for h := 0; h < 45; h += 4 {
						d.app.Resize(w, h)
						checkScreen(t, d.screen())
						for x := range 4 {
							d.app.Click(x*w/4, h/2)
							d.app.Wheel(x*w/4, h/3, 1)
						}
						d.app.quit = false
					}
				}
				d.press("esc", "esc")
			}
		}
	}
	live(t, 80, 24, func(_ *toptest.Host, c *Config) { c.Charts = []string{"kernel.all.load", "no.such"} }, draw)
	live(t, 80, 24, func(h *toptest.Host, _ *Config) {
		h.Without("proc.psinfo.utime", "proc.psinfo.rss", "proc.psinfo.cmd", "proc.psinfo.psargs", "kernel.all.cpu.idle", "kernel.all.cpu.user",
			"kernel.percpu.cpu.idle", "kernel.percpu.cpu.user", "disk.dev.read", "disk.dev.read_bytes", "disk.dev.avactive", "mem.physmem", "mem.util.free",
			"network.interface.in.bytes", "network.interface.in.packets", "kernel.all.pressure.cpu.some.total", "kernel.all.pressure.cpu.some.avg")
	}, draw)
}

func TestMouse(t *testing.T) {
	live(t, 80, 24, nil, func(d *desk) {
		place := func(text string) (x, y int) {
			t.Helper()
			for y, line := range strings.Split(d.screen(), "\n") {
				if before, _, ok := strings.Cut(line, text); ok {
					return len([]rune(before)), y
				}
			}
			t.Fatalf("%q is not on the screen:\n%s", text, d.screen())
			return 0, 0
		}
		click := func(text string) {
			t.Helper()
			x, y := place(text)
			d.app.Click(x+1, y)
			d.settle()
		}
		click("2 Procs")
		if d.app.view != Processes {
			t.Errorf("the view is %d", d.app.view)
		}
		click("TIME+")
		if d.app.procs.sel.By != model.ByTime {
			t.Errorf("sorted by %d", d.app.procs.sel.By)
		}
		click("-bash")
		if d.app.procs.pid != 402 {
			t.Errorf("chosen is %d", d.app.procs.pid)
		}
		click("-bash")
		if d.app.procs.detail != 402 {
			t.Errorf("open is %d", d.app.procs.detail)
		}
		d.press("esc")
		at := d.app.procs.list.cursor
		x, y := place("-bash")
		d.app.Wheel(x, y, 1)
		d.screen()
		if d.app.procs.list.cursor == at {
			t.Error("the wheel moves nothing")
		}
		click("Sort")
		if d.app.dialogs.menu == nil {
			t.Error("the footer does nothing")
		}
	})
	replay(t, 80, 24, func(d *desk) {
		d.screen()
		d.app.Click(40, 22) // the middle of the time line
		d.settle()
		if got := d.app.film.now.Time.Sub(d.app.cfg.Host.First); got < 500 || got > 700 {
			t.Errorf("the sample is %v s behind the start", got)
		}
		// While the button is held the time follows the mouse; the graphs follow at the end.
		d.app.Drag(30)
		d.settle()
		if got := d.app.film.now.Time.Sub(d.app.cfg.Host.First); got < 300 || got > 500 {
			t.Errorf("while it is dragged the sample is %v s behind the start", got)
		}
		d.app.Drag(-5)
		if r, ok := d.app.Request(); !ok || r.Op != OpSeek || r.Past != 0 || r.At != d.app.cfg.Host.First {
			t.Errorf("requested is %+v, %v", r, ok)
		}
		d.app.Release()
		d.app.Took(Reply{Op: OpSeek, Err: errors.New("too late")})
		if r, ok := d.app.Request(); !ok || r.Op != OpSeek || r.Past == 0 {
			t.Errorf("requested at the end is %+v, %v", r, ok)
		}
		d.app.Drag(60)
		if d.app.play.req.want != OpNone {
			t.Error("the time follows a mouse whose button is not held")
		}
	})
}

// TestLost tests the screen when a collector goes away and returns.
func TestLost(t *testing.T) {
	live(t, 80, 24, nil, func(d *desk) {
		lose := func(op Op) {
			t.Helper()
			time.Sleep(time.Second)
			d.app.Tick()
			r, ok := d.app.Request()
			if !ok || r.Op != op {
				t.Fatalf("wanted is %v, %v", r.Op, ok)
			}
			d.app.Took(Reply{Op: r.Op, Err: fmt.Errorf("fetch: %w", pcp.ErrIPC)})
		}
		lose(OpNext)
		lose(OpReconnect)
		lose(OpReconnect)
		if s := d.screen(); !strings.Contains(s, "no answer for 2s") || !strings.Contains(s, "nginx: worker process") {
			t.Errorf("the screen is\n%s", s)
		}
		time.Sleep(time.Second)
		d.app.Tick()
		r, _ := d.app.Request()
		d.app.Took(Reply{Op: r.Op})
		if r, ok := d.app.Request(); !ok || r.Op != OpNext {
			t.Errorf("after it is back: %v, %v", r.Op, ok)
		}
		if s := d.screen(); !strings.Contains(s, "connected again") {
			t.Errorf("the screen is\n%s", s)
		}
	})
	// Other errors are shown, and the App continues.
	live(t, 80, 24, nil, func(d *desk) {
		time.Sleep(time.Second)
		d.app.Tick()
		r, _ := d.app.Request()
		d.app.Took(Reply{Op: r.Op, Err: errors.New("agents are on strike")})
		if s := d.screen(); !strings.Contains(s, "agents are on strike") {
			t.Errorf("the screen is\n%s", s)
		}
		d.wait(1)
		if s := d.screen(); strings.Contains(s, "strike") {
			t.Errorf("the screen is\n%s", s)
		}
	})
}

// TestNotHere tests that there are no actions on processes of another host.
func TestNotHere(t *testing.T) {
	live(t, 100, 24, func(_ *toptest.Host, c *Config) { c.Local = false }, func(d *desk) {
		d.press("2", "k")
		if s := d.screen(); d.app.dialogs.menu != nil || !strings.Contains(s, "web1.example.com: this") {
			t.Errorf("the screen is\n%s", s)
		}
	})
}
