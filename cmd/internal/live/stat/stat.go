package stat

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Command is pmstat.
var Command = &cli.Command{
	Name:    "stat",
	Link:    "pmstat",
	Group:   cli.SeeNow,
	Summary: "show the activity of hosts, a line per interval",
	Doc: `
Prints a line at each interval: load, memory, swap, disk and interrupts, and the
shares of processor time. Without a collector it reads this machine itself.`,
	Examples: []cli.Example{
		{Line: "pcp stat", Text: "print a line every five seconds"},
		{Line: "pcp stat -t 1 -s 10", Text: "print ten lines, one a second"},
		{Line: "pcp stat -h web1 -h web2", Text: "compare two hosts"},
		{Line: "pcp stat -a 20261121 -t 10min", Text: "summarize an archive"},
	},
	SeeAlso: []string{"pmval(1)"},
	Options: func() []cli.Option {
		return slices.Concat(cli.General, []cli.Option{
			cli.Heading("Alternate sources"),
			cli.OptHostsFile,
			cli.OptLocalPMDA,
			cli.Heading("Reporting options"),
			{Short: 'l', Long: "suffix", Help: "print last 7 charcters of the host name(s)"},
			{Short: 'P', Long: "pause", Help: "pause between updates for archive replay"},
			{Short: 'x', Long: "xcpu", Help: "extended CPU statistics reporting"},
			cli.OptJSON,
		})
	},
	DieOnSignal: true,
	Run:         run,
}

type reporter struct {
	env    *cli.Env
	suffix bool // -l
	pause  bool // -P
	xcpu   bool // -x
	guests bool // with -x the column of PCP 7
	json   bool // --json

	archive bool
	control *source.Control // nil without -g and -p
	again   bool            // print the header again
	ended   bool            // an archive had no values up to its end, with which PCP 7 exits
	loc     *time.Location
	sources []*host
	swapOp  byte
	out     []byte
}

func (r *reporter) own(_ *cli.Options, opt *cli.Option, _ string) bool {
	switch opt.Short {
	case 'l':
		r.suffix = true
	case 'P':
		r.pause = true
	case 'x':
		r.xcpu = true
	default:
		return false
	}
	return true
}

func run(ctx context.Context, env *cli.Env) int {
	r := &reporter{env: env, swapOp: 'p', guests: env.Seven()}
	o := source.Parse(env, cli.ParseConfig{Multi: true, Archives: true, Own: r.own})
	r.archive, r.json = o.FromArchive(), o.JSON
	if !o.WantsVersion() {
		if len(o.Args) > 0 {
			o.Usagef("too many options")
		}
		if r.pause && !r.archive {
			o.Usagef("-P can only be used with archives")
		}
	}
	if status, exit := o.Done(); exit {
		return status
	}
	interval := o.Interval
	if interval == 0 {
		interval = 5 * time.Second
	}
	names, open := o.Hosts, o.Dial
	if r.archive {
		names = o.Archives
		open = func(_ context.Context, path string) (*pmapi.Context, error) {
			a, err := o.OpenArchive(path)
			if err != nil {
				return nil, err
			}
			return a.Context, nil
		}
	} else if len(names) == 0 {
		// If there is no collector here, agents in this process will do.
		names = []string{o.Host()}
		open = o.DialOrLocal
	}
	if o.Local {
		open = func(ctx context.Context, _ string) (*pmapi.Context, error) { return o.OpenLocal(ctx) }
	}
	defer func() {
		for _, s := range r.sources {
			s.close()
		}
	}()
	var window pcptime.Window
	for _, name := range names {
		c, err := open(ctx, name)
		if err != nil {
			switch {
			case env.Classic():
				env.Fatalf("Cannot create fetchgroup: %s", cli.ErrText(err))
			case r.archive:
				o.CannotOpen(name, err)
			default:
				o.CannotConnect(name, err)
			}
			continue
		}
		s, err := newHost(ctx, c, env.Config(), r.guests)
		if err != nil {
			env.Fatalf("%s: Cannot resolve any metrics.", name)
			c.Close()
			r.swapOp = 's' // swap.pagesin was not there either
			continue
		}
		if s.swapOp != 'p' {
			r.swapOp = s.swapOp
		}
		r.sources = append(r.sources, s)
		if r.loc == nil {
			if r.loc, err = o.SetZone(ctx, c, !r.json); err != nil {
				return 1
			}
			if window, err = o.Window(ctx, c, r.loc); err != nil {
				return 1
			}
		}
	}
	if len(r.sources) == 0 {
		if !env.Classic() {
			return 1 // already printed
		}
		return env.Fatalf("No place to get data from!")
	}
	samples := o.Samples
	if o.Finish != nil {
		samples = max(samples, int(window.Finish.Sub(window.Origin)/interval.Seconds()))
	}
	if status := r.startControl(ctx, o, window, interval); status != 0 {
		return status
	}
	if r.control != nil {
		defer r.control.Close()
	}
	for _, s := range r.sources {
		if a, ok := s.group.Context().Archive(); ok && r.control == nil {
			mode, origin, step := source.Replay(r.env, window.Origin, interval)
			if err := a.SetMode(ctx, mode, &origin, step); err != nil {
				return env.Fatalf("pmSetMode: %s", cli.ErrText(err))
			}
		}
		s.fetch(ctx) // the start of rates
	}
	return r.loop(ctx, interval, samples, window)
}

// startControl connects to the time control, if the options ask for one. Its
// changes are followed by the header.
func (r *reporter) startControl(ctx context.Context, o *source.Options, window pcptime.Window, interval time.Duration) int {
	contexts := make([]*pmapi.Context, len(r.sources))
	for i, s := range r.sources {
		contexts[i] = s.group.Context()
	}
	printf := func(format string, args ...any) {
		r.printf(format, args...)
		r.flush()
	}
	var err error
	if r.control, err = o.Control(ctx, window, interval, r.loc, printf, contexts...); err != nil {
		return 1
	}
	if r.control == nil {
		return 0
	}
	h := &r.control.Handlers
	resume, rewind, position, length, zone := h.Resume, h.Rewind, h.Position, h.Interval, h.NewZone
	h.Resume = func() { resume(); r.again = true }
	h.Rewind = func() { rewind(); r.again = true }
	h.Position = func(at pcp.Timestamp) { position(at); r.again = true }
	h.Interval = func(delta time.Duration) { length(delta); r.again = true }
	h.NewZone = func(name, label string) { zone(name, label); r.again = true }
	return 0
}

// wait waits for the next line. It returns false if the tool is to exit.
func (r *reporter) wait(ctx context.Context, interval time.Duration) bool {
	switch {
	case r.control != nil:
		r.flush()
		if r.control.Wait(ctx) != nil {
			return false
		}
		r.loc = r.control.Zone
	case !r.archive || r.pause:
		r.flush()
		return pacing.Sleep(ctx, interval)
	case len(r.out) >= rowsAtOnce:
		r.flush()
	}
	return true
}

func (r *reporter) loop(ctx context.Context, interval time.Duration, samples int, window pcptime.Window) int {
	n := len(r.sources)
	for i := 0; samples == 0 || i < samples; i++ {
		if !r.json && (r.again || i*n%r.rows() < n) {
			r.header()
		}
		r.again = false
		if !r.wait(ctx, interval) {
			return 1
		}
		if r.again { // after a header, which shows the new time
			if r.control.Shown() != nil {
				return 1
			}
			continue
		}
		alive, data := false, !r.archive
		for _, s := range r.sources {
			if r.line(ctx, s) {
				data = true
			}
			if r.ended {
				r.flush()
				return 0
			}
			alive = alive || s.group != nil
		}
		if r.control != nil && r.control.Shown() != nil {
			return 1
		}
		if r.control == nil && !data && alive && samples == 0 && window.Origin.Add(time.Duration(i+1)*interval).Compare(window.Finish) > 0 {
			// Behind the end of archives without any values so far: the C tool
			// would print that for ever.
			break
		}
		if !alive {
			r.flush()
			return 1
		}
	}
	r.flush()
	return 0
}

// rowsAtOnce is the number of bytes of lines from archives to buffer.
const rowsAtOnce = 32 << 10

// rows returns the number of lines that fit below a header.
func (r *reporter) rows() int {
	if r.env.Rows != nil {
		if n := r.env.Rows(); n > 3 {
			return n - 3
		}
	}
	return 21
}

func (r *reporter) header() {
	at := r.sources[0].at.Add(500 * time.Millisecond) // to the nearest second
	r.printf("@ %s\n", pcptime.Ctime(at, r.loc))
	width, more := 12, ""
	if r.xcpu {
		width, more = 20, "  wa  st"
		if r.guests {
			width, more = 24, "  wa  st  gu"
		}
	}
	if len(r.sources) > 1 {
		r.printf("%-7s%8s%21s%10s%10s%10s%*s\n", "node", "loadavg", "memory", "swap", "io", "system", width, "cpu")
		r.printf("%8s%7s %6s %6s %6s", "", "1 min", "swpd", "buff", "cache")
	} else {
		r.printf("%8s%28s%10s%10s%10s%*s\n", "loadavg", "memory", "swap", "io", "system", width, "cpu")
		r.printf(" %7s %6s %6s %6s %6s", "1 min", "swpd", "free", "buff", "cache")
	}
	r.printf("   %ci   %co   bi   bo   in   cs  us  sy  id%s\n", r.swapOp, r.swapOp, more)
}

// line prints the line of one host. It reports whether there was anything to print.
func (r *reporter) line(ctx context.Context, s *host) bool {
	if r.json {
		return r.jsonLine(ctx, s)
	}
	if len(r.sources) > 1 {
		name := s.hostName(ctx)
		if r.suffix && len(name) > 7 {
			name = name[len(name)-7:]
		}
		r.printf("%-7.7s", name)
		if s.group == nil {
			r.out = append(r.out, '\n')
			return false
		}
	}
	err := s.fetch(ctx)
	if err == nil {
		s.seen = true
		r.values(s)
		return true
	}
	switch code := pcp.Code(err); {
	case !r.archive && (code == pcp.ErrIPC || code == pcp.ErrTimeout):
		r.printf(" Fetch failed. Reconnecting ...\n")
		// The next fetch reports a failure.
		_ = s.group.Context().Reconnect(ctx)
		return false
	case r.archive && code == pcp.ErrEOL && r.control != nil:
		// The control itself reports its loss.
		_ = r.control.AtEnd()
		r.out = append(r.out, '\n')
		return false
	case r.archive && code == pcp.ErrEOL && !s.seen:
		r.printf(" No data in the archive\n") // not yet, perhaps
		if r.env.Seven() {
			r.printf(" pmFetchGroup: %s\n", cli.ErrText(err))
			r.ended = true
		}
		return false
	}
	r.printf(" pmFetchGroup: %s\n", cli.ErrText(err))
	s.close()
	return false
}

func (r *reporter) values(s *host) {
	if load, ok := s.value(loadAvg); ok {
		r.printf(" %7.2f", load.Float())
	} else {
		r.printf(" %7s", "?")
	}
	r.kbytes(s, swapUsed)
	r.kbytes(s, memFree)
	if len(r.sources) == 1 {
		r.kbytes(s, memBuf)
	}
	r.kbytes(s, memCached)
	for _, item := range [...]int{swapIn, swapOut, blkRead, blkWrite, interrupts, pswitch} {
		r.scaled(s, item)
	}
	r.cpu(s)
	r.out = append(r.out, '\n')
}

// scaled prints a rate in 4 places, thousands with K and millions with M.
func (r *reporter) scaled(s *host, item int) {
	val, ok := s.value(item)
	v := val.Uint32()
	switch {
	case !ok:
		r.printf("    ?")
	case v < 10000:
		r.printf(" %4d", v)
	case v/1000 < 1000:
		r.printf(" %3dK", v/1000)
	default:
		r.printf(" %3dM", v/1000000)
	}
}

// kbytes prints kilobytes in 6 places, or megabytes with m, or gigabytes with g.
func (r *reporter) kbytes(s *host, item int) {
	val, ok := s.value(item)
	v := val.Uint32()
	switch {
	case !ok:
		r.printf("      ?")
	case v < 1000000:
		r.printf(" %6d", v)
	case v/1024 < 100000:
		r.printf(" %5dm", v/1024)
	default:
		r.printf(" %5dg", v/(1024*1024))
	}
}

// cpu prints the shares of processor time. User, system and idle time must be
// known; other missing values are 0.
func (r *reporter) cpu(s *host) {
	columns := 3
	if r.xcpu {
		columns = 5
		if r.guests {
			columns = 6
		}
	}
	var v [numItems]uint64
	total := uint64(0)
	for item := cpuNice; item < numItems; item++ {
		n, ok := s.value(item)
		if !ok && (item == cpuUser || item == cpuSys || item == cpuIdle) {
			for range columns {
				r.printf("   ?")
			}
			return
		}
		if ok {
			v[item] = n.Uint64()
			total += v[item]
		}
	}
	user, sys := v[cpuNice]+v[cpuUser], v[cpuIntr]+v[cpuSys]
	shares := []uint64{user, sys + v[cpuSteal], v[cpuIdle] + v[cpuWait]}
	if r.xcpu {
		shares = []uint64{user, sys, v[cpuIdle], v[cpuWait], v[cpuSteal], v[cpuGuest] + v[cpuGuestNice]}[:columns]
	}
	for _, share := range shares {
		if total == 0 {
			r.printf("   ?") // no time has passed
			continue
		}
		r.printf(" %3d", (100*share+total/2)/total)
	}
}

func (r *reporter) printf(format string, args ...any) { r.out = fmt.Appendf(r.out, format, args...) }

func (r *reporter) flush() {
	r.env.Stdout.Write(r.out)
	r.out = r.out[:0]
	r.env.FlushOut()
}
