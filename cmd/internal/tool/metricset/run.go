package metricset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/daemon/detach"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/cmd/internal/pytext"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/pcptime"
)

// Live reports whether the metrics are those of now.
func (r *Report) Live() bool { return !r.Archive }

// HostName returns the host of the metrics, as reports name it.
func (r *Report) HostName(ctx context.Context) string {
	host, err := r.Context.HostName(ctx)
	if err != nil {
		return ""
	}
	return host
}

// Detached reports whether this process continues for another that was called with --daemonize,
// which has printed the header already.
func (r *Report) Detached() bool {
	return r.Settings.Is1("daemonize") && detach.Done(r.Env.Getenv)
}

// Background has the program continue in the background if the settings ask for it. In the process
// that has started the other, it returns an error for [Exit].
func (r *Report) Background() error {
	if !r.Settings.Is1("daemonize") || r.Detached() {
		return nil
	}
	err := detach.Start(detach.Config{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
	switch {
	case errors.Is(err, detach.ErrUnsupported):
		return &conf.Error{Text: "Becoming a daemon is not supported on this system."}
	case err != nil:
		return fmt.Errorf("cannot become a daemon: %w", err)
	}
	return &exitError{0}
}

// Align waits for the time that -A asks for.
func (r *Report) Align(ctx context.Context) {
	if r.Archive || r.Options.Align == nil {
		return
	}
	d, err := pcptime.ParseInterval(*r.Options.Align)
	if err != nil || d <= 0 {
		return
	}
	pacing.Sleep(ctx, d-time.Duration(time.Now().UnixNano()%int64(d)))
}

// Run samples the metrics and has w render them, after it has gone to the background and waited as
// the options require.
func (r *Report) Run(ctx context.Context, w pmrep.Writer) error {
	if err := r.Background(); err != nil {
		return err
	}
	r.Align(ctx)
	loop := pmrep.Loop{Samples: r.Samples, Limited: r.Limited, Interval: r.Interval, Live: r.Live()}
	if r.Archive && !r.Interpolated {
		loop.Finish, loop.Exact = r.Window.Finish, r.Env.Seven()
	}
	switch r.Settings["names_change"] {
	case "1":
		loop.OnNames = pmrep.AbortOnNames
	case "2":
		loop.OnNames = pmrep.UpdateNames
	}
	if r.Archive && (r.Silent || r.Env.OutTerminal == nil || !r.Env.OutTerminal()) {
		p := cli.NewProgress(r.Env, r.Env.ProgName(), 0)
		defer p.Clear()
		w = &watched{w, r, p}
	}
	return loop.Run(ctx, r.Set, w)
}

// A watched writer shows how far it has come.
type watched struct {
	pmrep.Writer
	r        *Report
	progress *cli.Progress
}

// WriteSample implements pmrep.Writer.
func (w *watched) WriteSample(s *pmrep.Sample) error {
	w.progress.SetTime(s.Time, w.r.Window.Origin, w.r.Window.Finish)
	return w.Writer.WriteSample(s)
}

// Exit prints an error of these steps as the Python programs do, and returns the status of the program.
func Exit(ctx context.Context, env *cli.Env, err error) int {
	if err == nil {
		if ctx.Err() != nil && strings.Contains(fmt.Sprint(context.Cause(ctx)), syscall.SIGINT.String()) {
			fmt.Fprintln(env.Stdout)
		}
		return 0
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.status
	}
	if ctx.Err() != nil {
		return 0
	}
	if errors.Is(err, syscall.EPIPE) {
		return 0
	}
	if e, ok := errors.AsType[*conf.Error](err); ok {
		return say(env, e.Text)
	}
	if e, ok := errors.AsType[*conf.SyntaxError](err); ok {
		return say(env, e.Error())
	}
	if e, ok := errors.AsType[*conf.NumberError](err); ok {
		return say(env, e.Error())
	}
	if e, ok := errors.AsType[*pmrep.NoInstancesError](err); ok {
		say(env, e.Error())
		if len(e.Wanted) > 0 {
			fmt.Fprintf(env.Stdout, "\nRequested global instances:\n%s\n", reprList(e.Wanted))
		}
		return 1
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return say(env, osError(pe.Err, pe.Path))
	}
	text := cli.ErrText(err)
	if text == syscall.ECONNREFUSED.Error() || text == "Connection refused" {
		text = "Connection refused; is pmcd running?"
	}
	if _, ok := errors.AsType[*pmrep.NothingError](err); ok {
		text += " \nNo metrics or instances to report present."
	}
	if !env.Classic() { // the library's message has the name of the file or host in it
		text = err.Error()
	}
	return say(env, env.ProgName()+": "+text)
}

func say(env *cli.Env, text string) int {
	env.FlushOut()
	fmt.Fprintln(env.Stderr, text)
	return 1
}

// reprList is a list of texts as Python prints it.
func reprList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = pytext.Repr(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// Exists returns the kind of a path that an output may not overwrite, "File" or "Directory", "" if
// nothing is there.
func Exists(path string) string {
	fi, err := os.Stat(path)
	switch {
	case err != nil:
		return ""
	case fi.Mode().IsRegular():
		return "File"
	}
	return "Directory"
}
