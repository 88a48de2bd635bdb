package importcmd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/bits"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pcptime"
)

// MRTGCommand is mrtg2pcp.
var MRTGCommand = &cli.Command{
	Name:     "import mrtg",
	Link:     "mrtg2pcp",
	Group:    cli.Export,
	Summary:  "create an archive from a log of MRTG",
	Synopsis: "hostname devname timezone infile outfile",
	Options:  func() []cli.Option { return []cli.Option{optAppend(), cli.OptHelp} },
	Doc: `The file is a log of MRTG, the newest line first. Its average rates become counters of bytes,
network.interface.in.bytes and network.interface.out.bytes with the instance devname, which begin at
0. "-" is standard input. Lines with the time 0, with which MRTG fills its logs, are ignored.

With --append, lines up to the end of the archive are ignored too, and the counters continue.`,
	Examples: []cli.Example{
		{Line: "pcp import mrtg gate eth0 UTC gate_eth0.log gate", Text: "import the log of a network interface"},
		{Line: "pcp import mrtg --append gate eth0 UTC gate_eth0.log gate", Text: "add the new lines of the log"},
	},
	SeeAlso: []string{"pmval(1)"},
	Run:     runMRTG,
}

func runMRTG(ctx context.Context, env *cli.Env) int {
	var opt importer.Options
	o := cli.ParseArgs(env, cli.ParseConfig{Own: takeAppend(&opt)})
	if !o.Errors() && len(o.Args) != 5 {
		fmt.Fprintf(env.Stdout, "Usage: %s %s\n", env.ProgName(), env.Command.Synopsis)
		return 1
	}
	if status, exit := o.Done(); exit {
		return status
	}
	host, device, zone, file, base := o.Args[0], o.Args[1], o.Args[2], o.Args[3], o.Args[4]
	in := env.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return env.Fatalf("open(%s): %s", file, cli.ErrText(err))
		}
		defer f.Close()
		in = f
	}
	opt.Host, opt.TimeZone = host, zone
	var out output
	samples, err := readMRTG(ctx, file, in)
	if err == nil && len(samples) == 0 {
		err = fmt.Errorf("%s: %w", file, errNoValue)
	}
	if err == nil {
		err = out.start(env, base, opt, file)
	}
	if err == nil {
		err = out.writeMRTG(ctx, file, device, samples)
	}
	return out.finish(ctx, env, pcptime.Zone(zone), err)
}

// An mrtgSample is a line of a log: average rates until a time.
type mrtgSample struct {
	line    int
	time    int64
	in, out uint64
}

// maxMRTG is the maximum number of lines of a log; MRTG itself keeps some
// 3,000.
const maxMRTG = 1 << 20

// readMRTG returns the lines of a log, the oldest first.
func readMRTG(ctx context.Context, file string, in io.Reader) ([]mrtgSample, error) {
	r := lineReader{r: bufio.NewReaderSize(in, maxLine)}
	var all []mrtgSample
	for {
		text, err := r.next()
		switch {
		case err == io.EOF:
			slices.Reverse(all)
			return all, nil
		case err == nil:
			err = ctx.Err()
		}
		if err == nil && len(all) == maxMRTG {
			err = fmt.Errorf("more than %d lines", maxMRTG)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, r.line, err)
		}
		fields := strings.Fields(text)
		if r.line == 1 || len(fields) == 0 { // the first has counters, not rates
			continue
		}
		s := mrtgSample{line: r.line}
		if len(fields) < 3 {
			return nil, fmt.Errorf("%s:%d: %q: a time and two rates are needed", file, r.line, text)
		}
		if s.time, err = strconv.ParseInt(fields[0], 10, 64); err != nil || s.time < 0 || s.time > maxMRTGTime {
			return nil, fmt.Errorf("%s:%d: %q is not a time", file, r.line, fields[0])
		}
		if s.time == 0 {
			continue
		}
		for i, rate := range []*uint64{&s.in, &s.out} {
			if *rate, err = strconv.ParseUint(fields[1+i], 10, 64); err != nil {
				return nil, fmt.Errorf("%s:%d: %q is not a rate", file, r.line, fields[1+i])
			}
		}
		all = append(all, s)
	}
}

// maxMRTGTime is the end of the year 9999.
const maxMRTGTime = 253402300799

// writeMRTG writes the samples.
func (o *output) writeMRTG(ctx context.Context, file, device string, samples []mrtgSample) error {
	handles, err := o.declareMRTG(device)
	if err != nil {
		return err
	}
	totals, before, err := o.stored.mrtgTotals(device)
	if err != nil {
		return err
	}
	if o.stored != nil {
		samples = slices.DeleteFunc(samples, func(s mrtgSample) bool { return !time.Unix(s.time, 0).After(o.stored.end) })
		if len(samples) == 0 {
			return fmt.Errorf("%s: no line is after the last record of %s, %s", file, o.stored.base, o.stored.end.UTC().Format(time.RFC3339))
		}
	}
	for _, s := range samples {
		err := ctx.Err()
		if before.line > 0 && err == nil {
			err = totals.add(s, before)
		}
		before = s
		for j, n := range totals {
			if err == nil {
				err = handles[j].PutUint(n)
			}
		}
		if err == nil {
			err = o.write(time.Unix(s.time, 0))
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", file, s.line, err)
		}
		o.values += 2
	}
	return nil
}

// declareMRTG declares the metrics. Numbers are those of the Linux agent.
func (o *output) declareMRTG(device string) (handles [2]importer.Handle, err error) {
	indom := pcp.NewInDom(60, 3)
	for i, name := range mrtgMetrics {
		_, err := o.im.AddMetric(name, pcp.Desc{
			PMID: pcp.NewPMID(60, 3, 8*i), Type: pcp.TypeU64, InDom: indom, Sem: pcp.SemCounter, Units: pcp.Units{DimSpace: 1},
		})
		if err == nil && i == 0 {
			err = o.addInstance(indom, device, 1)
		}
		if err == nil {
			handles[i], err = o.im.Handle(name, device)
		}
		if err != nil {
			return handles, err
		}
		o.metrics++
	}
	return handles, nil
}

// mrtgMetrics are the metrics of received and sent bytes.
var mrtgMetrics = [2]string{"network.interface.in.bytes", "network.interface.out.bytes"}

// mrtgTotals returns the last values of a device in the archive that is continued, and a sample at their time. Without
// values the line of the sample is 0.
func (s *stored) mrtgTotals(device string) (totals mrtgTotals, last mrtgSample, err error) {
	var descs [2]pcp.Desc
	for i, name := range mrtgMetrics {
		desc, ok := s.desc(name)
		if !ok {
			return totals, last, nil
		}
		descs[i] = desc
	}
	list := s.instances(descs[0].InDom)
	at := slices.IndexFunc(list, func(in pcp.Instance) bool { return in.Name == device })
	if at < 0 {
		return totals, last, nil
	}
	a, err := archive.Open(s.base)
	if err != nil {
		return totals, last, err
	}
	defer a.Close()
	for res, err := range a.Records(pcp.TimestampOf(s.end), archive.Backward) {
		if err != nil {
			return totals, last, fmt.Errorf("%s: %w", s.base, err)
		}
		found := 0
		for _, vs := range res.Sets {
			for _, v := range vs.Values {
				for i, desc := range descs {
					if vs.PMID == desc.PMID && v.Inst == list[at].Inst {
						totals[i] = v.As(pcp.TypeU64).Uint64()
						found++
					}
				}
			}
		}
		if found == len(descs) {
			return totals, mrtgSample{line: 1, time: res.Time.Sec}, nil
		}
	}
	return totals, last, nil
}

// mrtgTotals are the bytes received and sent.
type mrtgTotals [2]uint64

// add adds the increase from the sample before s.
func (t *mrtgTotals) add(s, before mrtgSample) error {
	if s.time < before.time {
		return fmt.Errorf("the time goes back, from %d to %d", before.time, s.time)
	}
	for i, rate := range []uint64{s.in, s.out} {
		high, n := bits.Mul64(rate, uint64(s.time-before.time))
		sum, carry := bits.Add64(t[i], n, 0)
		if high != 0 || carry != 0 {
			return fmt.Errorf("a total of 2^64 bytes or more: %w", pcp.ErrTrunc)
		}
		t[i] = sum
	}
	return nil
}
