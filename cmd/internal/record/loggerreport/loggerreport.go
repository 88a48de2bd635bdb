package loggerreport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/housekeeping"
	"github.com/go-pcp/pcp/internal/safefile"
)

// Command is pmlogger_daily_report.
var Command = &cli.Command{
	Name:     "logger-daily-report",
	Link:     "pmlogger_daily_report",
	Group:    cli.Record,
	Summary:  "write daily reports like those of sar",
	Synopsis: "[options]",
	Doc: `Writes reports about processors, memory, disks, networks and more, with ten-minute averages in each
line, from an archive. The default is yesterday's archive of pmlogger_daily, and the report is the
file sarNN for day NN of the month. Messages go to a log.

The reports are those of "pcp rep" with the metricsets :sar and others of the C implementation,
whose configuration must be installed.`,
	Examples: []cli.Example{
		{Line: `pcp logger-daily-report -a 20261121 -A -f sar21 -l report.log`, Text: `report on an archive, from its start to its end`},
	},
	SeeAlso: []string{"pmlogger_daily(1)", "pmrep(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'a', Arg: "FILE", Help: "archive, by its base name or directory [yesterday's of this host]"},
			{Short: 'f', Arg: "FILE", Help: "where the report goes [sarXX for day XX, which was yesterday]"},
			{Short: 'h', Arg: "HOSTNAME", Help: "whose archive is meant without -a [this host]"},
			{Short: 'l', Long: "logfile", Arg: "FILE", Help: "send important diagnostic messages to FILE"},
			{Short: 'p', Help: "poll and exit if processing already done for today"},
			{Short: 'o', Arg: "DIRECTORY", Help: "output directory [$PCP_SA_DIR]"},
			{Short: 't', Arg: "TIME", Help: "reporting interval [10m]"},
			{Short: 'A', Help: "from the start to the end of the archive [midnight yesterday for 24 hours]"},
			{Short: 'V', Long: "verbose", Help: "verbose messages in log (multiple times for very verbose)"},
			cli.OptHelp,
		}
	},
	Run: run,
}

// views are the configurations of pmrep, and the title of each.
var views = []struct{ name, title string }{
	{":sar-u-ALL", "# CPU Utilization statistics, all CPUS"},
	{":sar-u-ALL-P-ALL", "# CPU Utilization statistics, per-CPU"},
	{":vmstat", "# virtual memory (vmstat) statistics"},
	{":vmstat-a", "# virtual memory active/inactive memory statistics"},
	{":sar-B", "# paging statistics"},
	{":sar-b", "# I/O and transfer rate statistics"},
	{":sar-d-dev", "# block device statistics"},
	{":sar-d-dm", "# device-mapper device statistics"},
	{":sar-F", "# mounted filesystem statistics"},
	{":sar-H", "# hugepages utilization statistics"},
	{":sar-I-SUM", "# interrupt statistics, summed"},
	{":sar-n-DEV", "# network statistics, per device"},
	{":sar-n-EDEV", "# network error statistics, per device"},
	{":sar-n-NFSv4", "# NFSv4 client and RPC statistics"},
	{":sar-n-NFSDv4", "# NFSv4 server and RPC statistics"},
	{":sar-n-SOCK", "# socket statistics"},
	{":sar-n-TCP-ETCP", "# TCP statistics"},
	{":sar-q", "# queue length and load averages"},
	{":sar-r", "# memory utilization statistics"},
	{":sar-S", "# swap usage statistics"},
	{":sar-W", "# swapping statistics"},
	{":sar-w", "# task creation and system switching statistics"},
	{":sar-y", "# TTY devices activity"},
	{":numa-hint-faults", "# NUMA hint fault statistics"},
	{":numa-per-node-cpu", "# NUMA per-node CPU statistics"},
	{":numa-pgmigrate-per-node", "# NUMA per-node page migration statistics"},
}

// A reporter is a run of the command.
type reporter struct {
	ctx context.Context
	env *cli.Env
	now time.Time
	log io.Writer

	archive, file, host, dir, logFile, interval string

	poll, archiveTimes, verbose bool
}

func (r *reporter) own(_ *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'a':
		r.archive = arg
	case 'f':
		r.file = arg
	case 'h':
		r.host = arg
	case 'l':
		r.logFile = arg
	case 'o':
		r.dir = arg
	case 'p':
		r.poll = true
	case 't':
		r.interval = arg
	case 'A':
		r.archiveTimes = true
	case 'V':
		r.verbose = true
	default:
		return false
	}
	return true
}

func run(ctx context.Context, env *cli.Env) int {
	r := &reporter{ctx: ctx, env: env, now: time.Now().In(env.Local())}
	o := cli.ParseArgs(env, cli.ParseConfig{POSIX: true, Own: r.own})
	if len(o.Args) > 0 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	cfg := env.Config()
	logDir := filepath.Join(cfg.Get("PCP_LOG_DIR"), "pmlogger")
	stamp := housekeeping.Stamp{Path: filepath.Join(logDir, "pmlogger_daily_report.stamp")}
	yesterday := r.now.AddDate(0, 0, -1)
	if r.poll {
		last, ok := stamp.Read()
		if ok && last >= stamp.Due(r.now) || !ok && r.done(yesterday) {
			return 0
		}
	}
	if housekeeping.Writable(logDir) {
		stamp.Write(env, r.now, env.Stderr)
	}
	if r.logFile == "" {
		r.logFile = filepath.Join(logDir, "pmlogger_daily_report.log")
	}
	housekeeping.SavePrev(r.logFile, env.Stderr)
	log, err := housekeeping.OpenLog(env, r.logFile)
	if err != nil {
		return env.Fatalf("cannot create log: %s", cli.FileErrText(err))
	}
	r.log = log
	status := r.report(yesterday)
	if err := log.Close(); err != nil {
		return env.Fatalf("%s: %v", r.logFile, err)
	}
	return status
}

// done reports whether yesterday's report exists already.
func (r *reporter) done(yesterday time.Time) bool {
	list, err := filepath.Glob(filepath.Join(r.env.Config().Get("PCP_LOG_DIR"), "sa", "sar"+yesterday.Format("02")))
	return err == nil && len(list) > 0
}

func (r *reporter) verbosef(format string, args ...any) {
	if r.verbose {
		fmt.Fprintf(r.log, format+"\n", args...)
	}
}

// fatal logs why there is no report.
func (r *reporter) fatal(format string, args ...any) int {
	fmt.Fprintf(r.log, "%s: FATAL error: %s\n", r.env.ProgName(), fmt.Sprintf(format, args...))
	return 1
}

// report writes the report and returns the exit status.
func (r *reporter) report(yesterday time.Time) int {
	cfg := r.env.Config()
	if r.host == "" {
		host, err := os.Hostname()
		if err != nil {
			return r.fatal("the name of this host: %v", err)
		}
		r.host = host
	}
	if r.archive == "" {
		r.archive = filepath.Join(cfg.Get("PCP_ARCHIVE_DIR"), r.host, yesterday.Format("20060102"))
	}
	named := r.archive
	tmp, err := os.MkdirTemp(cfg.Get("PCP_TMPFILE_DIR"), "pmlogger_daily_report.")
	if err != nil {
		return r.fatal("%s", cli.FileErrText(err))
	}
	defer os.RemoveAll(tmp)
	if path, err := r.expand(tmp); err != nil {
		fmt.Fprintf(r.log, "Warning: %s: %v\n", r.archive, err)
		r.verbosef("Uncompressing failed, reverting to compressed archive")
	} else {
		r.archive = path
	}
	r.verbosef("ARCHIVEPATH=%s", r.archive)
	if r.dir == "" {
		if r.dir = cfg.Get("PCP_SA_DIR"); r.dir == "" {
			r.dir = filepath.Join(cfg.Get("PCP_LOG_DIR"), "sa")
		}
	}
	r.verbosef("REPORTDIR=%s", r.dir)
	if r.file == "" {
		if _, err := os.Stat(r.dir); errors.Is(err, fs.ErrNotExist) {
			housekeeping.MkdirAll(r.env, r.dir, 0o775) // the next call reports the error
		}
		r.file = filepath.Join(r.dir, "sar"+yesterday.Format("02"))
	}
	r.verbosef("REPORTFILE=%s", r.file)
	if r.interval == "" {
		r.interval = "10m"
	}
	if st, err := os.Stat(r.archive); err != nil || !st.IsDir() {
		if _, err := archive.FindFiles(r.archive); err != nil {
			return r.fatal("Failed to find input archive \"%s\"", r.archive)
		}
	}
	options := []string{"-a", r.archive, "-z", "-E", "0", "-p", "-f%H:%M:%S", "-t" + r.interval}
	if !r.archiveTimes {
		options = append(options, "-S"+yesterday.Format("@02-Jan-2006"), "-T", "24h")
	}
	r.verbosef("REPORT_OPTIONS=%s", strings.Join(options, " "))
	f, err := os.OpenFile(r.file, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return r.fatal("cannot create \"%s\": %s", r.file, cli.ErrText(err))
	}
	f.Close()
	var b bytes.Buffer
	fmt.Fprintf(&b, "System Activity Report\n\nHost:            %s\nArchive:         %s\nReport created:  %s\n",
		r.host, named, r.now.Format(time.UnixDate))
	start := r.commencing()
	for _, v := range views {
		if err := r.ctx.Err(); err != nil {
			return r.fatal("interrupted, there is no new report")
		}
		r.verbosef("Generating report for %s %s", v.name, v.title)
		fmt.Fprintf(&b, "\n\n%s%s\n", start, v.title)
		r.verbosef("pmrep %s %s", strings.Join(options, " "), v.name)
		r.view(&b, append(options, v.name))
	}
	if err := safefile.ReplaceBytes(r.file, b.Bytes(), safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1, Keep: true, Lenient: true, Follow: true}); err != nil {
		return r.fatal("cannot write \"%s\": %s", r.file, cli.FileErrText(err))
	}
	return 0
}

// commencing returns the line about the start of the archive, from its label.
func (r *reporter) commencing() string {
	var out, errs bytes.Buffer
	r.env.Call(r.ctx, "pmdumplog", &out, &errs, "-z", "-l", r.archive)
	for line := range strings.Lines(out.String()) {
		if f := strings.Fields(line); len(f) > 5 && f[0] == "commencing" {
			return "#  " + strings.Join(f[1:6], " ") + "\n"
		}
	}
	return ""
}

// view appends the output of pmrep, or the reason why there is none.
func (r *reporter) view(b *bytes.Buffer, args []string) {
	var out, errs bytes.Buffer
	status := r.env.Call(r.ctx, "pmrep", &out, &errs, args...)
	if out.Len() > 0 {
		b.Write(out.Bytes())
		return
	}
	text, view := errs.String(), args[len(args)-1]
	var metric []string
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 2 {
			metric = append(metric, f[2])
		}
	}
	name := strings.Join(metric, "\n")
	why := ""
	switch {
	case strings.Contains(text, "PM_ERR_NAME"):
		why = fmt.Sprintf(" because the metric \"%s\" is not in the archive", name)
	case strings.Contains(text, "PM_ERR_INDOM_LOG"):
		why = fmt.Sprintf(" because there are no values for any instance of the metric \"%s\" in the archive", name)
	case strings.Contains(text, "PM_ERR_BADDERIVE"):
		why = fmt.Sprintf(" because one or more metrics for the derived metric \"%s\" is not in the archive", name)
	default:
		b.WriteString(text)
		if text == "" && status != 0 {
			fmt.Fprintf(b, "pmrep: exit status %d\n", status)
		}
	}
	fmt.Fprintf(b, "-- no report for config \"%s\"%s\n", view, why)
}

// expand returns the archive, or an uncompressed copy of it below dir: pmrep reads it once
// for each report.
func (r *reporter) expand(dir string) (string, error) {
	files, err := archive.FindFiles(r.archive)
	if err != nil {
		return r.archive, nil // it may be a directory
	}
	compressed := false
	for _, path := range files.All() {
		if _, part, ok := archive.BaseName(filepath.Base(path)); ok && !strings.HasSuffix(path, "."+part) {
			compressed = true
		}
	}
	if !compressed {
		return r.archive, nil
	}
	r.verbosef("Uncompressing %s", r.archive)
	base := filepath.Join(dir, filepath.Base(files.Base))
	for _, path := range files.All() {
		_, part, _ := archive.BaseName(filepath.Base(path))
		if err := copyTo(r.ctx, path, base+"."+part); err != nil {
			return "", err
		}
	}
	return base, nil
}

func copyTo(ctx context.Context, from, to string) error {
	in, err := archive.OpenFile(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	buf := make([]byte, 1<<20)
	for off := int64(0); ; {
		n, err := in.ReadAt(buf, off)
		_, werr := out.Write(buf[:n])
		off += int64(n)
		switch {
		case werr != nil || err != nil && err != io.EOF:
			return errors.Join(werr, err, out.Close())
		case err == io.EOF:
			return out.Close()
		case ctx.Err() != nil:
			return errors.Join(ctx.Err(), out.Close())
		}
	}
}
