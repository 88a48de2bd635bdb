package atop

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/screen"
)

// Codes of a terminal: switch to its other screen, without a cursor, and back.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[0m\x1b[?25h\x1b[?1049l"
)

// A terminal shows the samples, and its keys are the user's commands.
type terminal struct {
	m      *monitor
	in     *os.File
	state  *term.State
	keys   chan string
	resize chan os.Signal
	view   screen.View
	shown  *screen.Canvas
	row    int // of the line of the prompt

	size func() (cols, rows int)
	look chan func() // for tests: functions to call before the next key
}

// openTerminal takes the terminal of standard output. It does nothing if there is no terminal, or if the terminal has
// no screen.
func (m *monitor) openTerminal() bool {
	if m.env.OutTerminal == nil || !m.env.OutTerminal() || m.env.Getenv("TERM") == "dumb" {
		return true
	}
	t := &terminal{m: m, in: os.Stdin, keys: make(chan string), resize: make(chan os.Signal, 1), size: windowSize}
	if !term.IsTerminal(int(t.in.Fd())) { // it may be a pipe; the terminal is where the output is
		t.in = os.Stdout
	}
	cols, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err == nil && cols < 30 {
		fmt.Fprintf(m.env.Stderr, "Not enough columns available\n(need at least %d columns)\nPlease resize window....\n", 30)
		return false
	}
	if t.state, err = term.MakeRaw(int(t.in.Fd())); err != nil {
		m.env.Fatalf("terminal: %v", err)
		return false
	}
	if list := resizeSignals(); len(list) > 0 {
		signal.Notify(t.resize, list...)
	}
	m.term = t
	io.WriteString(m.env.Stdout, m.env.Own(enterScreen))
	go t.read()
	return true
}

// closeTerminal gives the terminal back.
func (m *monitor) closeTerminal() {
	if t := m.term; t != nil {
		signal.Stop(t.resize)
		io.WriteString(m.env.Stdout, m.env.Own(leaveScreen))
		m.env.FlushOut()
		term.Restore(int(t.in.Fd()), t.state)
		m.term = nil
	}
}

// read passes on keys until the terminal is closed: it ends with the program.
func (t *terminal) read() {
	b := make([]byte, 64)
	for {
		n, err := t.in.Read(b)
		for keys := string(b[:n]); keys != ""; {
			key := keys[:1]
			if strings.HasPrefix(keys, "\x1b[") || strings.HasPrefix(keys, "\x1bO") {
				key = keys[:min(3, len(keys))]
				if strings.HasPrefix(keys[2:], "5~") || strings.HasPrefix(keys[2:], "6~") {
					key = keys[:4]
				}
			}
			keys = keys[len(key):]
			t.keys <- key
		}
		if err != nil {
			close(t.keys)
			return
		}
	}
}

// windowSize returns the size of the window.
func windowSize() (cols, rows int) {
	cols, rows, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || cols < 1 || rows < 1 {
		return 80, 24
	}
	return cols, rows
}

// draw shows the sample.
func (t *terminal) draw() bool {
	m := t.m
	cols, rows := t.size()
	c := screen.NewCanvas(rows, cols)
	m.printer.Screen(c, &m.input, &t.view)
	if t.view.TooMany {
		m.closeTerminal()
		fmt.Fprintf(m.env.Stderr, "Not enough screen-lines available (need more than %d lines)\nPlease resize window....\n", rows)
		return false
	}
	t.row = t.view.Status
	t.put(c)
	return true
}

// put shows a canvas.
func (t *terminal) put(c *screen.Canvas) {
	t.m.b = c.Append(t.m.b[:0], t.shown, t.m.env.Own("\x1b"))
	t.m.env.Stdout.Write(t.m.b)
	t.m.env.FlushOut()
	t.shown = c
}

// next waits for a key; it is "" when a sample is due, the window has changed or ctx is done.
func (t *terminal) next(ctx context.Context) (key string, due bool) {
	m := t.m
	for {
		select {
		case <-ctx.Done():
			return "q", false
		case look := <-t.look:
			look()
		case key, ok := <-t.keys:
			if !ok {
				return "q", false
			}
			return key, false
		case <-t.resize:
			t.shown = nil
			return "", false
		case <-m.e.ticks.due:
			m.e.ticks.ask() // for the engine, which also waits for it
			return "", true
		}
	}
}

// interact shows a sample until the next one is due or a key requests another command.
func (m *monitor) interact(ctx context.Context) command {
	t := m.term
	for {
		if !t.draw() {
			return abort
		}
		t.view.Message = ""
		key, due := t.next(ctx)
		if due && !t.view.Paused && !m.e.raw {
			return forward
		}
		if key == "" {
			continue
		}
		if last, done := t.press(ctx, key); done {
			return last
		}
	}
}

// toggle switches a setting and shows a message about it.
func (t *terminal) toggle(what *bool, on, off string) {
	*what = !*what
	if t.view.Message = off; *what {
		t.view.Message = on
	}
	t.view.First = 0
}

// onlyRaw is the message about a key that a live source does not support.
const onlyRaw = "Only allowed when viewing raw file!"

// press handles a key. Done reports whether to show the next sample.
func (t *terminal) press(ctx context.Context, key string) (last command, done bool) {
	m, v := t.m, &t.view
	switch key {
	case "q", "\x03":
		return quit, true
	case "t":
		if !v.Paused {
			m.e.ticks.ask()
			return forward, true
		}
	case "T":
		switch {
		case !m.e.raw:
			v.Message = onlyRaw
		case !v.Paused:
			m.e.now = m.e.now.Add(-2 * m.e.every)
			return backward, true
		}
	case "b":
		if !m.e.raw {
			v.Message = onlyRaw
		} else if !v.Paused {
			return t.branch(ctx)
		}
	case "r":
		v.Paused = false
		m.e.ticks.ask()
		return again, true
	case "z":
		v.Paused = !v.Paused
	case "a":
		t.toggle(&m.All, "All processes/threads will be shown/accumulated...", "Only active processes/threads will be shown/accumulated...")
	case "1":
		m.Average = !m.Average
	case "f":
		t.toggle(&m.Fixed, "Also inactive system-resources will be shown.....", "Only active system-resources will be shown ......")
	case "F":
		t.toggle(&m.NoSort, "System resources will not be sorted on utilization...", "System resources will be sorted on utilization...")
	case "y":
		t.toggle(&m.Threads, "Thread view enabled", "Thread view disabled")
	case "Y":
		t.toggle(&m.SortThreads, "Thread sorting enabled for thread view", "Thread sorting disabled for thread view")
	case "R":
		t.toggle(&m.e.s.Proportional, "PSIZE gathering enabled", "PSIZE gathering disabled")
	case "W":
		t.toggle(&m.e.s.WaitChannels, "WCHAN gathering enabled", "WCHAN gathering disabled")
	case "G":
		t.toggle(&m.NoExited, "Exited processes will not be shown/accumulated", "Exited processes will be shown/accumulated")
	case "x":
		t.toggle(&m.Colors, "Colors will be used...", "No colors will be used...")
	case "l":
		t.limit(ctx)
	case "i":
		t.interval(ctx)
	case "k":
		switch {
		case m.e.raw:
			v.Message = "Not possible when viewing raw file!"
		case !m.e.local:
			v.Message = "Not possible when viewing values from a remote host!"
		default:
			t.kill(ctx)
		}
	case "U", "P", "J", "I", "/", "Q", "S":
		t.choose(ctx, key)
	case "?", "h":
		t.help(ctx)
	case "V":
		v.Message = fmt.Sprintf("%s version: %s <pcp@groups.io>", m.env.ProgName(), m.env.Version)
	case "\x0c":
		t.shown = nil
	case "\x1b[C", "\x1bOC":
		v.Offset++
	case "\x1b[D", "\x1bOD":
		v.Offset = max(v.Offset-1, 0)
	case "\x1b[B", "\x1bOB":
		v.First = min(v.First+1, max(v.Listed-1, 0))
	case "\x1b[A", "\x1bOA":
		v.First = max(v.First-1, 0)
	case "\x1b[6~", "\x06":
		if v.Listed-v.First > v.Page {
			v.First += v.Page
		}
	case "\x1b[5~", "\x02":
		v.First = max(v.First-v.Page, 0)
	default:
		t.list(key)
	}
	return forward, false
}

// list chooses the columns and the order of the processes.
func (t *terminal) list(key string) {
	m, v := t.m, &t.view
	switch {
	case (key == "D" || key == "d") && !m.e.s.DiskIO:
		v.Message = "No disk-activity figures available; request ignored!"
		return
	case (key == "N" || key == "n") && !m.e.s.NetIO:
		v.Message = t.m.noNetwork()
		return
	case key == "X" && !m.e.s.CGroups:
		v.Message = "No cgroup v2 figures available; request ignored!"
		return
	case key == "o" && len(m.OwnRow) == 0:
		v.Message = "Own process line is not configured in rc-file; request ignored"
		return
	}
	auto := m.Order == screen.Auto
	if !m.SetList(key[0]) {
		m.env.Stdout.Write([]byte{7})
		return
	}
	if auto && strings.Contains("gmdnes", key) { // these select an order too, but a different one
		m.Order = screen.Auto
	}
	if what, ok := map[string]string{"u": "user", "p": "program", "j": "container"}[key]; ok {
		v.Message = "Consumption per " + what + "; use 'a' to toggle between all/active processes"
	}
	v.First = 0
}

// ask asks for a line of text. The clock is stopped meanwhile.
func (t *terminal) ask(ctx context.Context, prompt string) string {
	t.m.e.ticks.set(0)
	defer t.resume()
	answer := ""
	for {
		c := t.shown.Clone()
		c.Say(t.row, prompt+answer+"_")
		t.put(c)
		switch key, _ := t.next(ctx); {
		case ctx.Err() != nil, key == "\r", key == "\n":
			return answer
		case key == "\x1b", key == "\x03":
			return ""
		case key == "\x7f" || key == "\b":
			answer = answer[:max(len(answer)-1, 0)]
		case len(key) == 1 && key >= " " && len(answer) < 255:
			answer += key
		}
	}
}

// resume restarts the clock, so that the next sample is due soon.
func (t *terminal) resume() {
	if e := t.m.e; e.every > 0 && !t.view.Paused && !e.raw {
		e.ticks.set(3 * time.Second)
	}
}

// askNumber asks for a number, which stays the same if the answer is empty.
func (t *terminal) askNumber(ctx context.Context, prompt string, now int) int {
	answer := t.ask(ctx, prompt)
	n, err := strconv.Atoi(answer)
	switch {
	case answer == "":
		return now
	case !numeric(answer) || err != nil:
		t.view.Message = "Value not numeric (current value kept)!"
		return now
	}
	return n
}

func (t *terminal) interval(ctx context.Context) {
	e := t.m.e
	n := t.askNumber(ctx, fmt.Sprintf("New interval in seconds (now %d): ", int(e.every.Seconds())), int(e.every.Seconds()))
	e.every = time.Duration(n) * time.Second
	e.ticks.every, e.s.Interval = e.every, e.every
	if n == 0 {
		t.view.Message = "No timer set; waiting for manual trigger ('t')....."
	}
	t.resume()
}

func (t *terminal) limit(ctx context.Context) {
	l := &t.m.Max
	for _, r := range []struct {
		what string
		n    *int
	}{
		{"per-cpu", &l.CPU},
		{"per-gpu", &l.GPU},
		{"LVM", &l.Volume},
		{"MD device", &l.Array},
		{"disk", &l.Disk},
		{"interface", &l.Interface},
		{"infiniband port", &l.Port},
		{"NFS mount", &l.Mount},
		{"numa", &l.Node},
	} {
		*r.n = t.askNumber(ctx, fmt.Sprintf("Maximum lines for %s statistics (now %d): ", r.what, *r.n), *r.n)
	}
}

// kill sends a signal to a process.
func (t *terminal) kill(ctx context.Context) {
	pid := t.askNumber(ctx, "Pid of process: ", 0)
	switch pid {
	case 0:
	case 1:
		t.view.Message = "Sending signal to pid 1 not allowed!"
	default:
		if err := kill(pid, t.askNumber(ctx, "Signal [15]: ", 15)); err != nil {
			t.view.Message = "Not possible to send signal to this pid!"
		}
	}
}

// branch moves to the sample of a time of archives.
func (t *terminal) branch(ctx context.Context) (command, bool) {
	e := t.m.e
	to, ok := branchTime(t.ask(ctx, "Enter new time (format [YYYYMMDD]hh:mm:ss): "), time.Unix(e.now.Sec, 0).In(e.loc))
	if !ok {
		t.view.Message = "Wrong time format!"
		return forward, false
	}
	e.now = sample.Time{Sec: to.Unix()}.Add(-e.every)
	if e.now.Less(e.start) {
		e.now = e.start
	}
	return branch, true
}

// branchTime reads a time as [YYYYMMDD]hh[:]mm[[:]ss], by default on the current day.
func branchTime(s string, now time.Time) (time.Time, bool) {
	digits := strings.ReplaceAll(s, ":", "")
	layout, ok := map[int]string{4: "1504", 6: "150405", 12: "200601021504", 14: "20060102150405"}[len(digits)]
	if !ok || !numeric(digits) {
		return now, false
	}
	to, err := time.ParseInLocation(layout, digits, now.Location())
	if len(digits) <= 6 {
		to = time.Date(now.Year(), now.Month(), now.Day(), to.Hour(), to.Minute(), to.Second(), 0, now.Location())
	}
	return to, err == nil
}

// expression asks for a regular expression. It returns nil if there is no answer.
func (t *terminal) expression(ctx context.Context, prompt string) *regexp.Regexp {
	answer := t.ask(ctx, prompt)
	if answer == "" {
		return nil
	}
	re, err := regexp.Compile(answer)
	if err != nil {
		t.view.Message = "Invalid regular expression!"
	}
	return re
}

// choose asks which processes or resources to show.
func (t *terminal) choose(ctx context.Context, key string) {
	sel, v := &t.m.Select, &t.view
	v.First = 0
	switch key {
	case "U":
		sel.Users = nil
		if answer := t.ask(ctx, "Username as regular expression (enter=all users): "); answer != "" {
			list, err := matchUsers(answer)
			if sel.Users = list; err != nil {
				v.Message = "Invalid regular expression!"
			} else if list == nil {
				v.Message = "No user-names match this pattern!"
			}
		}
	case "P":
		sel.Name = t.expression(ctx, "Process-name as regular expression (enter=no regex): ")
	case "/":
		sel.Command = t.expression(ctx, "Command line string as regular expression (enter=no regex): ")
	case "J":
		if t.m.Seven {
			if sel.Container = t.ask(ctx, "Container or pod name (enter=all, 'host'=host processes): "); sel.Container == "host" {
				sel.Container = "H"
			}
			return
		}
		answer := t.ask(ctx, "Containerid 12 postitions (enter=all, 'host'=host processes): ")
		_, err := strconv.ParseUint(answer, 16, 64)
		switch {
		case answer == "host":
			answer = "H"
		case answer != "" && (len(answer) != 12 || err != nil):
			answer, v.Message = "", "Invalid containerid!"
		}
		sel.Container = answer
	case "I":
		sel.PIDs = nil
		for _, word := range strings.FieldsFunc(t.ask(ctx, "Comma-separated PIDs of processes (enter=no selection): "), func(r rune) bool { return r == ',' }) {
			n, err := strconv.ParseInt(strings.TrimSpace(word), 10, 32)
			if err != nil {
				sel.PIDs, v.Message = nil, "Non-numerical PID!"
				return
			}
			sel.PIDs = append(sel.PIDs, int32(n))
		}
	case "Q":
		sel.States = ""
		for _, word := range strings.Split(t.ask(ctx, "Comma-separated process/thread states (R|S|D|I|T|t|X|Z|P): "), ",") {
			if word = strings.TrimSpace(word); len(word) > 1 || !strings.Contains("RSDITtXZP", word) {
				sel.States, v.Message = "", "Invalid state!"
				return
			}
			sel.States += word
		}
	case "S":
		sel.Volumes = t.expression(ctx, "Logical volume name as regular expression (enter=no specific name): ")
		sel.Disks = t.expression(ctx, "Disk name as regular expression (enter=no specific name): ")
		sel.Interfaces = t.expression(ctx, "Interface name as regular expression (enter=no specific name): ")
	}
}

// help describes the keys, page by page.
func (t *terminal) help(ctx context.Context) {
	t.m.e.ticks.set(0)
	defer t.resume()
	lines := strings.Split(strings.TrimSuffix(screen.Help, "\n"), "\n")
	for len(lines) > 0 && ctx.Err() == nil {
		c := screen.NewCanvas(t.shown.Rows, t.shown.Cols)
		page := min(max(c.Rows-1, 1), len(lines))
		for i, s := range lines[:page] {
			c.Say(i, s)
		}
		last := "Press 'q' to leave help, any other key for the next page... "
		if page == len(lines) {
			last = "End of help - press any key to leave help... "
		}
		c.Say(c.Rows-1, last)
		t.put(c)
		key, _ := t.next(ctx)
		if slices.Contains([]string{"q", "\x03", "\x1b"}, key) {
			return
		}
		if key != "" {
			lines = lines[page:]
		}
	}
}
