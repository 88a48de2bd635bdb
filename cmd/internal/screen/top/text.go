package top

import (
	"context"
	"errors"
	"strconv"
	"time"

	"golang.org/x/term"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/pacing"
)

// defaultLines is the number of processes in a text.
const defaultLines = 20

// each calls print for each sample, up to the requested number. The first of a live source has no rates and is left
// out.
func (j *job) each(ctx context.Context, need model.Group, print func(*model.Snapshot) error) int {
	live := !j.sampler.Host().Archive
	j.sampler.SetCharts(j.charts)
	n := 0
	take := func() (*model.Snapshot, error) { return j.sampler.Next(ctx, need) }
	if !live {
		first := true
		take = func() (*model.Snapshot, error) {
			if first {
				first = false
				return j.sampler.Seek(ctx, j.start, need)
			}
			return j.sampler.Next(ctx, need)
		}
	}
	started := time.Now()
	for i := 0; ; i++ {
		s, err := take()
		switch {
		case errors.Is(err, model.ErrEnd):
			if n == 0 {
				return j.env.Fatalf("the archive has nothing in this time window")
			}
			return 0
		case ctx.Err() != nil:
			return 0
		case live && (errors.Is(err, pcp.ErrIPC) || errors.Is(err, pcp.ErrTimeout)):
			if n == 0 {
				return j.env.Fatalf("%s", cli.ErrText(err))
			}
			j.env.Errorf("the collector does not answer: %s", cli.ErrText(err))
			j.env.Flush()
			_ = j.sampler.Reconnect(ctx) // the next sample shows whether it worked
			i = -1
		case err != nil:
			return j.env.Fatalf("%s", cli.ErrText(err))
		case !live || i > 0:
			if !j.finish.IsZero() && s.Time.Compare(j.finish) > 0 {
				return 0
			}
			if err := print(s); err != nil {
				return j.env.OutputFailed(err)
			}
			if n++; n == j.samples() {
				return 0
			}
			j.sampler.Recycle(s)
		}
		if live {
			passed := time.Since(started)
			due := started.Add((passed/j.interval + 1) * j.interval)
			if !pacing.Sleep(ctx, time.Until(due)) {
				return 0
			}
		}
	}
}

// printText prints samples as text.
func (j *job) printText(ctx context.Context) int {
	app := j.app()
	grid := screen.New(0, 0)
	width := j.width()
	lines := j.lines
	if lines < 0 {
		lines = defaultLines
	}
	printed := false
	return j.each(ctx, app.TextNeeds(width), func(s *model.Snapshot) error {
		if printed {
			j.env.Stdout.Write([]byte("\n"))
		}
		printed = true
		app.Text(grid, s, width, lines)
		if _, err := j.env.Stdout.Write([]byte(grid.Plain())); err != nil {
			return err
		}
		return j.env.FlushOut()
	})
}

// The widths of a text.
const (
	defaultWidth = 100
	mostWidth    = 1000
)

// width returns the width of a text: COLUMNS, or the width of the terminal.
func (j *job) width() int {
	if n, err := strconv.Atoi(j.env.Getenv("COLUMNS")); err == nil && n >= 40 && n <= mostWidth {
		return n
	}
	if j.env.Screen != nil {
		if w, _, err := term.GetSize(int(j.env.Screen.Fd())); err == nil && w >= 40 {
			return min(w, mostWidth)
		}
	}
	return defaultWidth
}
