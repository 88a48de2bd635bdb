package loggercheck

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/daemon/mapfile"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/internal/processes"
	"github.com/go-pcp/pcp/pmapi"
)

// Time limits.
const (
	pause    = 100 * time.Millisecond
	pmcdWait = 5 * time.Second
	endWait  = 50 // pauses, for a logger to end on request
	killWait = 30 // pauses, for it to end when killed
)

// archiveName is the name of new archives, which pmlogger expands.
const archiveName = "%Y%m%d.%H.%M"

// startLogger starts the logger of the line.
func (t *task) startLogger(ctx context.Context) {
	c := t.c
	which, files := "", []string{"PCP_SYSCONFIG_DIR/pmlogger_farm"}
	args := append([]string{"-h", t.Host}, t.args...)
	text := "-h " + t.Host + " " + t.Args
	if t.Primary {
		// The administrator's settings come last and take precedence.
		which, files = " primary", []string{"PCP_SHARE_DIR/zeroconf/pmlogger", "PCP_SYSCONFIG_DIR/pmlogger"}
		args, text = append([]string{"-P"}, t.args...), "-P "+t.Args
		if !c.dry {
			os.Remove(filepath.Join(c.maps, "primary")) // of a logger that has ended
		}
		if !c.waitForPMCD(ctx) {
			c.very("pmcd not running, skip primary pmlogger")
			return
		}
	}
	envs := c.settingsFrom(files)
	t.configureLogger(ctx, envs)
	if c.verbose > 0 {
		t.restarting(which)
	}
	socks := t.pmsocks(ctx)
	if t.Socks && socks == "" {
		t.warn("no pmsocks available, would run without")
	}
	log := t.option('l')
	if log == "" {
		log = "pmlogger.log"
	}
	if st, err := os.Stat(t.path(log)); err == nil && st.Mode().IsRegular() {
		if c.verbose > 0 && c.dry {
			c.printf("\n")
		}
		if c.dry {
			c.printf("+ mv -f %s %s.prior\n", log, log)
		} else if err := os.Rename(t.path(log), t.path(log)+".prior"); err != nil {
			c.printf("%s\n", cli.FileErrText(err))
		}
	}
	if t.Primary {
		args, text = append([]string{"-N"}, args...), "-N "+text
	}
	args, text = append(args, "-m", c.prog), text+" -m "+c.prog
	if c.dry {
		if socks != "" {
			socks = "pmsocks "
		}
		c.printf("\n+ %s%s %s %s\n", socks, filepath.Join(c.cfg.Get("PCP_BINADM_DIR"), "pmlogger"), text, archiveName)
		return
	}
	p := &process{t: t, which: which, log: log, done: make(chan struct{})}
	if p.start(ctx, socks, append(args, archiveName), envs) {
		p.save()
	}
}

// pmsocks returns the program for hosts behind a firewall, if the line requests it and it exists.
func (t *task) pmsocks(ctx context.Context) string {
	if !t.Socks {
		return ""
	}
	path, err := t.c.env.LookPath("pmsocks")
	if err != nil || exec.CommandContext(ctx, path, "ls").Run() != nil {
		return ""
	}
	return path
}

func (t *task) restarting(which string) {
	t.c.printf("Restarting%s %s for host \"%s\" ...", which, t.c.kind.name, t.Host)
}

// path returns the path of a file in the logger's arguments, relative to the logger's directory, which is the
// current one.
func (t *task) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(t.dir, name)
}

// option returns the argument of an option of the logger, the last one.
func (t *task) option(letter byte) (value string) {
	for i, arg := range t.args {
		if len(arg) < 2 || arg[0] != '-' || arg[1] != letter {
			continue
		}
		if len(arg) > 2 {
			value = arg[2:]
		} else if i+1 < len(t.args) {
			value = t.args[i+1]
		}
	}
	return value
}

// settingsFrom returns the variables for loggers, NAME=value, from the system's settings files, those of the later file
// last.
func (c *checker) settingsFrom(files []string) (list []string) {
	for _, name := range files {
		dir, rest, _ := strings.Cut(name, "/")
		f, err := os.Open(filepath.Join(c.cfg.Get(dir), rest))
		if err != nil {
			continue
		}
		sc := bufio.NewScanner(io.LimitReader(f, 1<<20))
		for sc.Scan() {
			line := strings.TrimSpace(sc.Text())
			if name, value, ok := strings.Cut(line, "="); ok && strings.HasPrefix(line, "PMLOGGER") && !strings.ContainsAny(name, " \t") {
				list = append(list, name+"="+strings.Trim(value, `"'`))
			}
		}
		f.Close()
	}
	return list
}

func lookup(list []string, name string) string {
	for _, v := range slices.Backward(list) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// waitForPMCD waits until the collector of this host answers.
func (c *checker) waitForPMCD(ctx context.Context) bool {
	probe := func() error {
		ctx, cancel := context.WithTimeout(ctx, pmcdWait)
		defer cancel()
		d := &pmapi.Dialer{Config: c.cfg, OwnSocket: c.cfg.OwnSocket()}
		conn, err := d.Dial(ctx, "local:")
		if err != nil {
			return err
		}
		defer conn.Close()
		ids, err := conn.LookupName(ctx, "pmcd.numclients")
		if err == nil {
			_, err = conn.Fetch(ctx, ids)
		}
		return err
	}
	var err error
	for end := time.Now().Add(pmcdWait); time.Now().Before(end); {
		if err = probe(); err == nil {
			return true
		}
		if !pacing.Sleep(ctx, pause) {
			break
		}
	}
	c.printf("%s\nArrgghhh ... pmcd at localhost failed to start after %d seconds\n=== failing pmprobes ===\npmcd.numclients %s\n",
		time.Now().Format("Mon Jan _2 15:04:05 MST 2006"), int(pmcdWait/time.Second), cli.ErrText(err))
	c.status = 1
	return false
}

// A process is a process started here.
type process struct {
	t     *task
	which string
	log   string
	pid   int
	out   *os.File      // its output
	done  chan struct{} // closed when it has ended
}

// start starts the process and reports whether it serves.
func (p *process) start(ctx context.Context, socks string, args, envs []string) bool {
	c := p.t.c
	c.post(ctx, "start "+c.kind.name+" from "+c.prog+" for host "+p.t.Host)
	if err := p.launch(socks, args, envs); err != nil {
		if c.verbose == 0 {
			p.t.restarting(p.which)
		}
		c.printf(" failed!\n%s: Error: failed to restart %s: %s\n", c.prog, c.kind.name, cli.ErrText(err))
		return false
	}
	return p.await(ctx)
}

// environ returns the environment of processes, which extends that of this program.
func (c *checker) environ(cmd *exec.Cmd, envs []string) []string {
	return slices.Concat(cmd.Environ(), c.cfg.Environ(), envs, c.parser.Environ())
}

// launch starts the process, which continues after this program has ended.
func (p *process) launch(socks string, args, envs []string) error {
	c := p.t.c
	cmd, err := c.env.Sibling(context.Background(), c.kind.name, args...) // it outlives this program
	if err != nil {
		return err
	}
	if socks != "" {
		cmd = exec.Command(socks, append([]string{cmd.Path}, args...)...)
	}
	out, err := os.CreateTemp("", c.prog+"-*.out")
	if err != nil {
		return err
	}
	os.Remove(out.Name())
	p.out = out
	cmd.Dir, cmd.Env = p.t.dir, c.environ(cmd, envs)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = processes.Apart()
	if err := cmd.Start(); err != nil {
		out.Close()
		return err
	}
	p.pid = cmd.Process.Pid
	go func() {
		cmd.Wait()
		close(p.done)
	}()
	return nil
}

// printed returns the output of the process.
func (p *process) printed() string {
	b := make([]byte, 64<<10)
	n, _ := p.out.ReadAt(b, 0)
	return string(b[:n])
}

// await waits until the process answers, and reports the outcome.
func (p *process) await(ctx context.Context) bool {
	c := p.t.c
	defer p.out.Close()
	if c.verbose > 0 {
		c.printf(" [process %d] ", p.pid)
	}
	seconds := func(name string, def int) int {
		if n, err := strconv.Atoi(c.parser.Getenv(name)); err == nil && n >= 0 && n < 1<<20 {
			return n
		}
		return def
	}
	wait := time.Duration(seconds("PMCD_CONNECT_TIMEOUT", 5)+20*seconds("PMCD_REQUEST_TIMEOUT", 5)) * time.Second
	begin := time.Now()
	dots := 0
	for time.Since(begin) < wait {
		if c.kind.answers(p, ctx) {
			if c.verbose > 0 {
				c.printf(" done\n")
			}
			return true
		}
		timer := time.NewTimer(pause)
		select {
		case <-p.done:
			timer.Stop()
			p.exited()
			return false
		case <-ctx.Done():
			timer.Stop()
			c.printf(" interrupted\n")
			return false
		case <-timer.C:
		}
		if n := int(time.Since(begin) / time.Second); n > dots && c.verbose > 0 {
			c.printf(".")
			dots = n
		}
	}
	if c.verbose == 0 {
		p.t.restarting(p.which)
	}
	c.printf(" timed out waiting!\n")
	if !c.terse {
		for line := range strings.Lines(p.printed()) {
			c.printf("\t%s", line)
		}
	}
	p.showLog()
	return false
}

// loggerAnswers reports whether the logger has published its port, and serves it.
func (p *process) loggerAnswers(ctx context.Context) bool {
	c := p.t.c
	l, err := mapfile.Read(filepath.Join(c.maps, strconv.Itoa(p.pid)))
	if err != nil || l.Port <= 0 || l.Archive == "" {
		return false
	}
	d := net.Dialer{Timeout: time.Second}
	conn, err := d.DialContext(ctx, "unix", filepath.Join(c.cfg.Get("PCP_RUN_DIR"), "pmlogger."+strconv.Itoa(p.pid)+".socket"))
	if err != nil {
		conn, err = d.DialContext(ctx, "tcp", net.JoinHostPort("localhost", strconv.Itoa(l.Port)))
	}
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func (p *process) exited() {
	c := p.t.c
	if c.verbose == 0 {
		p.t.restarting(p.which)
	}
	c.printf(" process exited!\n")
	if !c.terse {
		c.printf("%s: Error: failed to restart %s\nCurrent %[2]s processes:\n", c.prog, c.kind.name)
		pids, err := c.env.Finder(c.kind.name).Find(c.kind.name, false)
		for _, pid := range pids {
			c.printf("%d %s\n", pid, commandLine(pid))
		}
		if err != nil {
			c.printf("%s\n", cli.FileErrText(err))
		}
		c.printf("\n")
	}
	if text := p.printed(); text != "" {
		c.printf("%s", text)
		if !strings.HasSuffix(text, "\n") {
			c.printf("\n")
		}
	}
	p.showLog()
}

// commandLine returns the command line of a process, as far as it is known.
func commandLine(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return "?"
	}
	return strings.TrimSpace(strings.ReplaceAll(string(b), "\x00", " "))
}

// maxLog is the number of bytes shown of a log.
const maxLog = 64 << 10

// showLog prints the log of a process that did not start.
func (p *process) showLog() {
	c := p.t.c
	path := p.t.path(p.log)
	f, err := os.Open(path)
	if err != nil {
		c.printf("%s: Error: cannot find %s output file at \"%s\"\n", c.prog, c.kind.name, p.log)
		if c.terse {
			return
		}
		c.printf("Directory (%s) contents:\n", filepath.Dir(path))
		entries, _ := os.ReadDir(filepath.Dir(path))
		for _, e := range entries {
			c.list(filepath.Join(filepath.Dir(path), e.Name()), e.Name())
		}
		return
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
		c.printf("Contents of %s output file \"%s\" ...\n", c.kind.name, p.log)
		b, _ := io.ReadAll(io.LimitReader(f, maxLog))
		c.out.Write(b)
		if !bytes.HasSuffix(b, []byte("\n")) {
			c.printf("\n")
		}
	}
}

// save keeps the logger's log under the name of its archive, if there is a directory for such logs.
func (p *process) save() {
	c := p.t.c
	dir := p.t.path("SaveLogs")
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return
	}
	l, err := mapfile.Read(filepath.Join(c.maps, strconv.Itoa(p.pid)))
	if err != nil || l.Archive == "" {
		if c.verbose > 0 {
			c.printf("Failed to get archive basename from %s/%d\n", c.maps, p.pid)
		}
		return
	}
	name := filepath.Base(l.Archive) + ".log"
	if err := os.Link(p.t.path(p.log), filepath.Join(dir, name)); errors.Is(err, os.ErrExist) {
		if c.verbose > 0 {
			c.printf("Failed to link %s, SaveLogs/%s already exists\n", p.log, name)
		}
	} else if err != nil {
		c.printf("%s\n", err)
	}
}
