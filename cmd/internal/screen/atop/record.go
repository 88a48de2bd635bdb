package atop

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/pmapi/record"
)

// record runs pmlogger to record the metrics of pcp-atop in an archive with a folio (-w), and returns the exit
// status.
func (m *monitor) record(ctx context.Context) int {
	seconds := math.Inf(1) // the duration that -s and -S set
	if m.e.samples > 0 {
		seconds = m.e.every.Seconds() * float64(m.e.samples)
	}
	if m.midnight {
		now := time.Now().In(m.env.Local())
		seconds = time.Date(now.Year(), now.Month(), now.Day(), 23, 59, 59, 0, now.Location()).Sub(now).Seconds()
	}
	if err := os.MkdirAll(m.write, 0o775); err != nil {
		return m.env.Fatalf("making folio path %s for recording: %s", m.write, cli.ErrText(err))
	}
	folio := filepath.Join(m.write, filepath.Base(m.write)+".folio")
	s, err := record.Setup(folio, record.Config{Creator: "pcp-atop", Replay: true})
	if err != nil {
		return m.env.Fatalf("cannot setup recording to %s: %s", m.write, cli.ErrText(err))
	}
	defer s.Close()
	host := m.o.Host()
	h, err := s.AddHost(host, true)
	if err != nil {
		return m.env.Fatalf("adding host %s to recording: %s", host, cli.ErrText(err))
	}
	once, often := sample.Recorded(m.hot, m.Seven)
	fmt.Fprintf(h, "log mandatory on once {\n    %s\n}\n\nlog mandatory on every %d milliseconds {\n    %s\n}\n",
		strings.Join(once, "\n    "), m.e.every.Milliseconds(), strings.Join(often, "\n    "))
	if !math.IsInf(seconds, 1) {
		if err := h.SetArg(fmt.Sprintf("-T%.3fseconds", seconds)); err != nil {
			return m.env.Fatalf("setting loggers arguments: %s", cli.ErrText(err))
		}
	}
	if err := s.On(); err != nil {
		return m.env.Fatalf("failed to start recording: %s", cli.ErrText(err))
	}
	wait := time.Duration(math.MaxInt64)
	if !math.IsInf(seconds, 1) {
		wait = time.Duration(seconds * float64(time.Second))
	}
	pacing.Sleep(ctx, wait)
	if err := s.Off(); err != nil && ctx.Err() == nil {
		return m.env.Fatalf("failed to stop recording: %s", cli.ErrText(err))
	}
	return 0
}
