package top

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/ui"
)

// The limits of how often the screen is drawn: of a live source and, so that the time can be moved smoothly, of an archive.
const (
	framesPerSecond       = 15
	replayFramesPerSecond = 60
)

// environment are the variables that describe the terminal.
var environment = []string{
	"TERM", "COLORTERM", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "STY", "SSH_TTY",
	"SSH_CONNECTION", "WT_SESSION", "GOOGLE_CLOUD_SHELL", "TERMINFO", "TERMINFO_DIRS", "HOME",
}

// A program binds a screen to Bubble Tea.
type program struct {
	ctx   context.Context
	job   *job
	app   *ui.App
	grid  *screen.Grid
	timer int // number of the newest timer; older ones do not count
	busy  chan struct{}
}

// Messages from outside.
type (
	tick  int
	acted struct {
		act ui.Action
		err error
	}
	diagnosed struct {
		of   ui.Diagnosing
		text string
		err  error
	}
)

// show runs the screen until the user quits.
func (j *job) show(ctx context.Context) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &program{ctx: ctx, job: j, app: j.app(), grid: screen.New(0, 0), busy: make(chan struct{}, 1)}
	var vars []string
	for _, name := range environment {
		if j.env.IsSet(name) {
			vars = append(vars, name+"="+j.env.Getenv(name))
		}
	}
	in := j.env.Stdin
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		in = keyboard{f, cancel}
	}
	frames := framesPerSecond
	if j.sampler.Host().Archive {
		frames = replayFramesPerSecond
	}
	t := tea.NewProgram(p, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(j.env.Screen),
		tea.WithEnvironment(vars), tea.WithFPS(frames), tea.WithoutSignalHandler())
	_, err := t.Run()
	cancel()
	p.busy <- struct{}{} // the sampler is at rest
	j.env.Advise(nil)    // the screen has shown it
	switch {
	case err == nil, errors.Is(err, tea.ErrProgramKilled) && !errors.Is(err, tea.ErrProgramPanic):
		return 0
	default:
		return j.env.Fatalf("%v", err)
	}
}

// A keyboard is the input of a terminal. When the terminal has gone, the screen is not visible any more; a program
// that gets no signal about it, as under nohup, detects it here.
type keyboard struct {
	*os.File
	gone func()
}

func (k keyboard) Read(b []byte) (int, error) {
	n, err := k.File.Read(b)
	if err != nil {
		k.gone()
	}
	return n, err
}

// Init implements [tea.Model].
func (p *program) Init() tea.Cmd { return p.next() }

// Update implements [tea.Model].
func (p *program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		p.app.Resize(msg.Width, msg.Height)
	case tea.KeyPressMsg:
		p.app.Key(msg.String(), msg.Text)
	case tea.PasteMsg:
		p.app.Paste(msg.Content)
	case tea.MouseClickMsg:
		if m := msg.Mouse(); m.Button == tea.MouseLeft {
			p.app.Click(m.X, m.Y)
		}
	case tea.MouseMotionMsg:
		if m := msg.Mouse(); m.Button == tea.MouseLeft {
			p.app.Drag(m.X)
		}
	case tea.MouseReleaseMsg:
		p.app.Release()
	case tea.MouseWheelMsg:
		switch m := msg.Mouse(); m.Button {
		case tea.MouseWheelUp:
			p.app.Wheel(m.X, m.Y, -1)
		case tea.MouseWheelDown:
			p.app.Wheel(m.X, m.Y, 1)
		}
	case tick:
		if int(msg) != p.timer {
			return p, nil
		}
		p.timer++
		p.app.Tick()
	case ui.Reply:
		p.app.Took(msg)
	case acted:
		p.app.Acted(msg.act, msg.err)
	case diagnosed:
		p.app.Diagnosed(msg.of, msg.text, msg.err)
	}
	return p, p.next()
}

// next returns the commands to run before the next message.
func (p *program) next() tea.Cmd {
	if p.app.Quit() {
		return tea.Quit
	}
	var cmds []tea.Cmd
	if p.app.Suspend() {
		cmds = append(cmds, tea.Suspend)
	}
	if act, ok := p.app.Action(); ok {
		cmds = append(cmds, func() tea.Msg { return acted{act, do(act)} })
	}
	if r, ok := p.app.Request(); ok {
		cmds = append(cmds, func() tea.Msg {
			p.busy <- struct{}{}
			defer func() { <-p.busy }()
			if p.ctx.Err() != nil {
				return nil
			}
			return ui.Do(p.ctx, p.job.sampler, r)
		})
	}
	if d, ok := p.app.Diagnosis(); ok {
		cmds = append(cmds, func() tea.Msg {
			text, err := p.job.diagnose(p.ctx, d)
			return diagnosed{d, text, err}
		})
	}
	if path, ok := p.app.Export(); ok {
		p.app.Exported(path, p.export(path))
	}
	if d, ok := p.app.Delay(); ok {
		p.timer++
		id := p.timer
		cmds = append(cmds, tea.Tick(d, func(time.Time) tea.Msg { return tick(id) }))
	}
	return tea.Batch(cmds...)
}

// View implements [tea.Model].
func (p *program) View() tea.View {
	x, y, cursor := p.app.Draw(p.grid)
	v := tea.NewView(p.grid.Styled(p.app.Theme()))
	v.AltScreen = true
	v.WindowTitle = screen.Clean(fmt.Sprintf("pcp top %s", p.job.sampler.Host().Name))
	if p.job.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	if cursor {
		v.Cursor = tea.NewCursor(x, y)
	}
	return v
}
