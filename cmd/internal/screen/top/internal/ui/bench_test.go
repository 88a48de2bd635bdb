package ui

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/toptest"
	"github.com/go-pcp/pcp/pmapi"
)

// record writes an archive of a host with a number of processes, and opens a desk on it.
func record(b *testing.B, long, every time.Duration, processes int) *desk {
	b.Helper()
	h := toptest.New(toptest.Start)
	h.More, h.Every, h.Steady = processes, every, true
	path, err := h.Archive(b.TempDir(), long)
	if err != nil {
		b.Fatal(err)
	}
	a, err := pmapi.OpenArchive(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { a.Close() })
	first := pcp.TimestampOf(toptest.Start)
	cfg := model.Config{Interval: every, First: first, Last: first.Add(long), Start: first.Add(long / 3)}
	s, err := model.New(b.Context(), a.Context, cfg)
	if err != nil {
		b.Fatal(err)
	}
	d := &desk{t: b, app: New(Config{Host: s.Host(), Interval: every, Start: cfg.Start, Loc: time.UTC, View: Processes, Paused: true}), s: s, grid: screen.New(120, 40)}
	d.app.Resize(120, 40)
	d.settle()
	return d
}

// BenchmarkScrub moves the time of a day's archive, with a record every 10 seconds and 200 processes, and draws each
// frame: by steps, as with a held key, and along the time line, as with the mouse.
func BenchmarkScrub(b *testing.B) {
	const day = 24 * time.Hour
	d := record(b, day, 10*time.Second, 200)
	first := d.app.cfg.Host.First
	frame := func(b *testing.B, move func()) {
		move()
		d.settle()
		d.app.Draw(d.grid)
		_ = d.grid.Styled(d.app.Theme())
	}
	run := func(name string, move func(i int)) {
		b.Run(name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				frame(b, func() { move(i) })
				i++
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
		})
	}
	run("forward", func(int) { d.app.Key("right", "") })
	run("back", func(int) { d.app.Key("left", "") })
	run("drag", func(i int) { d.app.play.drag(first.Add(time.Duration(i*7) * time.Minute % day)) })
	run("jump", func(i int) { d.app.play.jump(first.Add(time.Duration(i*7) * time.Minute % day)) })
}

// BenchmarkMonth goes to random seconds of an archive of 30 days, with a record a minute, and reports the median and the
// longest time until the screen is drawn.
func BenchmarkMonth(b *testing.B) {
	const month = 30 * 24 * time.Hour
	d := record(b, month, time.Minute, 0)
	first := d.app.cfg.Host.First
	for _, way := range []struct {
		name string
		to   func(pcp.Timestamp)
	}{{"drag", d.app.play.drag}, {"jump", d.app.play.jump}} {
		b.Run(way.name, func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				way.to(first.Add(time.Duration(random.IntN(int(month/time.Second))) * time.Second))
				d.settle()
				d.app.Draw(d.grid)
				_ = d.grid.Styled(d.app.Theme())
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2].Seconds()*1e3, "ms/median")
			b.ReportMetric(took[len(took)-1].Seconds()*1e3, "ms/longest")
		})
	}
}
