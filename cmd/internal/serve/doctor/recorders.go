package doctor

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/daemon/controlfile"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/fleet"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/share"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/ship"
	"github.com/go-pcp/pcp/cmd/internal/prom/send"
	"github.com/go-pcp/pcp/internal/fileversion"
	"github.com/go-pcp/pcp/internal/processes"
)

func recorderFaults() []kind {
	const gap = "The past of these hosts has a gap from now on."
	return []kind{
		{"recorder.gone", fault, "A recorder has ended without notice.", gap},
		{"recorder.stuck", fault, "A recorder does not write its status any more.", gap},
		{"recorder.status", warning, "The status of a recorder cannot be read.", "Its state is unknown."},
		{"recorder.host", fault, "A host is not recorded.", gap},
		{"recorder.behind", warning, "A recorder is late.", "Samples are missing or have later times."},
		{"recorder.silent", fault, "The recorder of \"pcp up\" writes nothing.", gap},
		{"recorder.stopped", fault, "A logger of the control files does not run, and did until recently.", gap},
		{"recorder.control", fault, "A line of a control file is wrong.", "Its logger or rule engine is not started."},
		{"recorder.configuration-missing", fault, "The configuration of a logger does not exist.", "The logger does not start."},
		{"recorder.configuration", fault, "The configuration of a logger is wrong.", "The logger does not start, or records fewer metrics."},
		{"clock.host", warning, "The clock of a recorded host differs from this machine's clock.", "Times in its archives are those of its clock, and do not match those of other hosts."},
		{"clock.collector", warning, "The clock of the collector's host differs from this machine's clock.", "Times of its values do not match those of other hosts."},
		{"receiver.remote-write", fault, "A receiver of remote write does not accept samples.", "Samples wait in the archives, and are lost when these are removed."},
		{"receiver.ship", fault, "Archives cannot be stored in a bucket or directory.", "They wait on this machine's disk, and are lost when they are removed."},
	}
}

func recorderChecks() []check {
	return []check{
		{"recorders", false, false, checkStatus},
		{"the recording of pcp up", false, false, checkSilent},
		{"control files", false, false, checkControl},
		{"the clock of the collector", true, true, checkClock},
	}
}

// Limits of a recorder that works.
const (
	stuckAfter  = time.Minute      // the status is written each 5 seconds
	behindAfter = time.Minute      // lag
	silentAfter = 15 * time.Minute // the longest interval of its metrics is 10 minutes
	stoppedFor  = time.Hour        // without a write; less may be a long interval
	stoppedIn   = 7 * 24 * time.Hour
	wrongClock  = 2 * time.Second
)

// A recorderStatus is the file record.status.
type recorderStatus struct {
	PID   int          `json:"pid"`
	Time  time.Time    `json:"time"`
	Hosts []share.Host `json:"hosts"`

	RemoteWrite []send.Status `json:"remotewrite"`
	Ship        []ship.Status `json:"ship"`
}

// hostsOf returns the hosts in the status of a recorder that runs.
func hostsOf(path string) []share.Host {
	var st recorderStatus
	if b, err := readSmall(path); err != nil || fileversion.Unmarshal(b, fileversion.RecordStatus, &st) != nil || !processes.Exists(st.PID) {
		return nil
	}
	return st.Hosts
}

// recordDirs returns the directories in which "pcp record" may record.
func (s *site) recordDirs() []string {
	list := []string{s.get("PCP_ARCHIVE_DIR")}
	if dir := s.conf.StateDir(); dir != "" {
		list = append(list, filepath.Join(dir, "pmlogger"))
	}
	return list
}

// checkStatus reads the status of each recorder.
func checkStatus(_ context.Context, s *site) []finding {
	var list []finding
	for _, dir := range s.recordDirs() {
		path := filepath.Join(dir, "record.status")
		if !exists(path) {
			continue
		}
		again := s.pcp() + " record -d " + words(dir)
		b, err := readSmall(path)
		var st recorderStatus
		if err == nil {
			err = fileversion.Unmarshal(b, fileversion.RecordStatus, &st)
		}
		if fileversion.IsNewer(err) {
			continue // see checkVersions
		}
		if err != nil {
			list = append(list, finding{id: "recorder.status", subject: path, text: fmt.Sprintf("%s: %v", path, err), command: again + " --status"})
			continue
		}
		age := s.now.Sub(st.Time)
		switch {
		case !processes.Exists(st.PID):
			list = append(list, finding{
				id: "recorder.gone", subject: dir, command: again,
				text: fmt.Sprintf("the recorder of %s (process %d) ended without notice %v ago", dir, st.PID, age.Round(time.Second)),
			})
			continue
		case age > stuckAfter:
			list = append(list, finding{
				id: "recorder.stuck", subject: dir, command: fmt.Sprintf("kill -TERM %d && %s", st.PID, again),
				text: fmt.Sprintf("the recorder of %s (process %d) wrote its status %v ago, and should each 5 seconds", dir, st.PID, age.Round(time.Second)),
			})
			continue
		}
		list = append(list, s.statusFindings(&st, again)...)
	}
	return list
}

func (s *site) statusFindings(st *recorderStatus, again string) []finding {
	var list []finding
	for i := range st.Hosts {
		h := &st.Hosts[i]
		lag := time.Duration(max(h.Lag, 0) * float64(time.Second))
		switch {
		case h.Err != "" && h.State != fleet.Recording.String():
			list = append(list, finding{id: "recorder.host", subject: h.Name, text: fmt.Sprintf("the host %s is not recorded: %s", h.Name, h.Err), command: s.pcp() + " doctor -h " + words(h.Spec)})
		case lag > behindAfter:
			list = append(list, finding{id: "recorder.behind", subject: h.Name, text: fmt.Sprintf("the recording of %s is %v late", h.Name, lag.Round(time.Second)), command: again + " --status"})
		}
		clock := time.Duration(h.Clock * float64(time.Second))
		if text := fleet.ClockText(clock); clock.Abs() > wrongClock {
			list = append(list, finding{id: "clock.host", subject: h.Name, text: fmt.Sprintf("%s: %s", h.Name, text), command: words("ssh", h.Name, "timedatectl set-ntp true")})
		}
	}
	for i := range st.RemoteWrite {
		if w := &st.RemoteWrite[i]; w.Err != "" {
			list = append(list, finding{id: "receiver.remote-write", subject: w.URL, text: fmt.Sprintf("%s accepts no samples: %s", w.URL, w.Err), command: again + " --status"})
		}
	}
	for i := range st.Ship {
		if w := &st.Ship[i]; w.Err != "" {
			list = append(list, finding{id: "receiver.ship", subject: w.Name, text: fmt.Sprintf("archives of %s cannot be stored: %s", w.Name, w.Err), command: again + " --status"})
		}
	}
	return list
}

// ownArchives returns the directories of archives of "pcp up", each with its collector.
func (s *site) ownArchives() map[string]up {
	m := make(map[string]up)
	for _, u := range s.running() {
		if option(u.args, "no-record") != nil {
			continue
		}
		dirs, err := filepath.Glob(filepath.Join(u.Dir, "pmlogger", "*"))
		if err != nil {
			continue
		}
		for _, dir := range dirs {
			if st, err := os.Stat(dir); err == nil && st.IsDir() {
				m[dir] = u
			}
		}
	}
	return m
}

// newest returns the time of the last change of a file of an archive in a directory.
func newest(dir string) (t time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return t
	}
	for _, e := range entries {
		if _, part, ok := splitName(e.Name()); !ok || part == "" {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().After(t) {
			t = info.ModTime()
		}
	}
	return t
}

// checkSilent looks at the last change of the recording of "pcp up".
func checkSilent(_ context.Context, s *site) []finding {
	last := make(map[int]time.Time)
	ups := make(map[int]up)
	for dir, u := range s.ownArchives() {
		ups[u.PID] = u
		if t := newest(dir); t.After(last[u.PID]) {
			last[u.PID] = t
		}
	}
	var list []finding
	for pid, u := range ups {
		started, err := os.Stat(u.file)
		if err != nil || s.now.Sub(started.ModTime()) < silentAfter || s.now.Sub(last[pid]) < silentAfter {
			continue
		}
		list = append(list, finding{
			id: "recorder.silent", subject: u.Dir, text: fmt.Sprintf("\"pcp up\" (process %d) wrote to its archives %s", pid, since(s.now, last[pid])),
			command: words("tail", filepath.Join(u.Dir, "pmcd.log")),
		})
	}
	return list
}

func since(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return fmt.Sprintf("last %v ago", now.Sub(t).Round(time.Second))
}

// controls calls each with the lines of the control files of pmlogger or pmie, and returns the faults in them.
func (s *site) controls(pmie bool, each func(p *controlfile.Parser, line *controlfile.Line)) []finding {
	path := s.get("PCP_PMLOGGERCONTROL_PATH")
	if pmie {
		path = s.get("PCP_PMIECONTROL_PATH")
	}
	if path == "" {
		path = filepath.Join(s.get("PCP_SYSCONF_DIR"), map[bool]string{false: "pmlogger", true: "pmie"}[pmie], "control")
	}
	hostname, err := os.Hostname()
	if err != nil {
		hostname = "localhost"
	}
	p := controlfile.NewParser(controlfile.Config{
		PMIE: pmie, ArchiveDir: s.get("PCP_ARCHIVE_DIR"), LogDir: s.get("PCP_LOG_DIR"), Hostname: hostname, Getenv: s.conf.Getenv, Now: s.now,
	})
	var list []finding
	for _, file := range controlfile.Files(path) {
		if !exists(file) {
			continue
		}
		for line := range p.File(file) {
			for _, pr := range line.Problems {
				if !pr.Warning {
					list = append(list, finding{
						id: "recorder.control", subject: line.File, text: fmt.Sprintf("%s, line %d: %s", line.File, line.Number, strings.TrimSpace(pr.Text)),
						command: `"${EDITOR:-vi}" ` + words(line.File),
					})
				}
			}
			if line.Valid {
				each(p, line)
			}
		}
	}
	return list
}

// configOf returns the argument of -c.
func configOf(args string) string {
	f := strings.Fields(args)
	for i, a := range f {
		switch {
		case a == "-c" && i+1 < len(f):
			return f[i+1]
		case strings.HasPrefix(a, "-c") && len(a) > 2:
			return a[2:]
		}
	}
	return ""
}

// checkControl examines the control files of pmlogger and the configurations in them.
func checkControl(_ context.Context, s *site) []finding {
	var list []finding
	found := s.controls(false, func(p *controlfile.Parser, line *controlfile.Line) {
		dir, args, err := p.Directory(line.Dir, line.Args)
		if err != nil {
			return // one of its problems
		}
		if last := newest(dir); s.now.Sub(last) > stoppedFor && s.now.Sub(last) < stoppedIn {
			start := s.pcp() + " service start pmlogger"
			if s.unit("pmlogger") {
				start = "systemctl start pmlogger"
			}
			list = append(list, finding{
				id: "recorder.stopped", subject: line.Host, command: start,
				text: fmt.Sprintf("%s, line %d: the logger for %s wrote to %s %s", line.File, line.Number, line.Host, dir, since(s.now, last)),
			})
		}
		if f := s.loggerConfig(configOf(args), dir, line); f.id != "" {
			list = append(list, f)
		}
	})
	return append(found, list...)
}

// loggerConfig examines the configuration of a logger.
func (s *site) loggerConfig(name, dir string, line *controlfile.Line) (f finding) {
	if name == "" {
		return f
	}
	var path string
	for _, p := range []string{filepath.Join(dir, name), filepath.Join(s.get("PCP_VAR_DIR"), "config", "pmlogger", name)} {
		if filepath.IsAbs(name) {
			p = name
		}
		if exists(p) {
			path = p
			break
		}
	}
	if path == "" {
		if name == "config.default" || !filepath.IsAbs(name) { // it is made when the logger starts
			return f
		}
		return finding{
			id: "recorder.configuration-missing", subject: name, text: fmt.Sprintf("%s, line %d: the configuration %s does not exist", line.File, line.Number, name),
			command: s.pcp() + " logconf -c " + words(name),
		}
	}
	b, err := readSmall(path)
	if err == nil {
		_, err = conf.Read(bytes.NewReader(b), path, time.Minute)
	}
	if err != nil {
		return finding{id: "recorder.configuration", subject: path, text: strings.TrimSpace(err.Error()), command: `"${EDITOR:-vi}" ` + words(path)}
	}
	return f
}

// checkClock compares the time of a sample with this machine's clock.
func checkClock(ctx context.Context, s *site) []finding {
	before := time.Now()
	v, err := s.values(ctx, "pmcd.version")
	if err != nil {
		return nil
	}
	passed := time.Since(before)
	for _, value := range v {
		ahead := value.Time.Time().Sub(s.now.Add(time.Since(s.made)))
		if s.host == "" || ahead.Abs() <= wrongClock+passed {
			return nil
		}
		return []finding{{
			id: "clock.collector", subject: s.host, text: fmt.Sprintf("%s: %s", s.hostName(), fleet.ClockText(ahead)),
			command: words("ssh", s.hostName(), "timedatectl set-ntp true"),
		}}
	}
	return nil
}
