package loggerdaily

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/daemon/controlfile"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/housekeeping"
)

// controls processes the control files.
func (d *daily) controls() {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	if d.here, err = os.Getwd(); err != nil {
		d.printf("%s: Error: current directory: %v\n", d.env.ProgName(), err)
		d.failed = true
		return
	}
	base := d.env
	d.parser = controlfile.NewParser(controlfile.Config{
		ArchiveDir: d.get("PCP_ARCHIVE_DIR"), LogDir: d.get("PCP_LOG_DIR"), Hostname: host,
		Getenv: base.Getenv, Now: d.now, Stopped: true,
	})
	d.env = base.WithGetenv(d.parser.Getenv)
	top := d.get("PCP_PMLOGGERCONTROL_PATH")
	if top == "" {
		top = filepath.Join(d.get("PCP_SYSCONF_DIR"), "pmlogger", "control")
	}
	back := func() bool { // a line may name a relative path
		err := os.Chdir(d.here)
		if err != nil {
			d.fault("cannot go back to directory %s: %v", d.here, err)
		}
		return err == nil
	}
	defer back()
	for _, path := range controlfile.Files(d.control) {
		if d.ctx.Err() != nil || !back() {
			return
		}
		d.file, d.number = strings.Replace(path, filepath.Dir(top)+"/", "", 1), 0
		if controlfile.IsBackup(path) {
			d.printf("Warning: ignoring backup control file \"%s\"\n", path)
			continue
		}
		for line := range d.parser.File(path) {
			if d.ctx.Err() != nil || !back() {
				return
			}
			d.line(line, host)
		}
	}
}

// line does the daily work for a line of a control file.
func (d *daily) line(l *controlfile.Line, hostname string) {
	f := l.Fields
	d.number, d.host = l.Number, f[0]
	if l.Number > 0 {
		d.debugf("[%s:%d] host=\"%s\" primary=\"%s\" socks=\"%s\" dir=\"%s\" args=\"%s\"", d.file, l.Number, f[0], f[1], f[2], f[3], f[4])
	}
	if strings.HasPrefix(f[0], "$") && d.showMe {
		d.printf("# %s\n", strings.Join(f[:], " "))
	}
	for _, p := range l.Problems {
		if p.Warning {
			d.warn("%s", p.Text)
		} else {
			d.fault("%s", p.Text)
		}
	}
	switch {
	case l.Assignment != "":
		d.assign(l)
	case l.Valid:
		d.host = l.Host
		(&work{daily: d, line: l, hostname: hostname}).run()
	}
}

// assign notes a variable that a control file sets. Some of them act as options.
func (d *daily) assign(l *controlfile.Line) {
	_, source, _ := strings.Cut(l.Assignment, "; ")
	name, source, _ := strings.Cut(source, "=")
	value := d.parser.Getenv(name)
	show := func() {
		if d.showMe {
			d.printf("+ %s\n", l.Assignment)
		}
	}
	reset := func(old *string, opt string, fromOption *string) {
		show()
		before := *old
		*old = value
		if before != "" {
			d.warn("$%s (%s) reset from control file, previous value (%s) ignored", name, value, before)
		}
		if value != "" && *fromOption != "" && value != *fromOption {
			d.warn("$%s (%s) reset from control file, -%s value (%s) ignored", name, value, opt, *fromOption)
			*fromOption = ""
		}
	}
	switch name {
	case "PCP_COMPRESS":
		reset(&d.envCompress, "X", &d.compress)
	case "PCP_COMPRESSAFTER":
		if value != "" && !validAge(value) {
			d.fault("$PCP_COMPRESSAFTER value (%s) must be number, time, \"forever\" or \"never\"", value)
			return
		}
		reset(&d.envAfter, "x", &d.after)
	case "PCP_COMPRESSREGEX":
		reset(&d.envRegex, "Y", &d.regex)
	case "PCP_MERGE_CALLBACK":
		if d.compressOnly {
			return
		}
		show()
		if d.addCallback(&d.mergeCallbacks, value) {
			d.verbosef("Add merge callback: %s", source)
		}
	case "PCP_COMPRESS_CALLBACK":
		show()
		if d.addCallback(&d.compressCallbacks, value) {
			d.verbosef("Add compress callback: %s", source)
		}
	case "PCP_AUTOSAVE_DIR":
		if d.compressOnly {
			return
		}
		show()
		if d.autosave != "" {
			d.warn("$PCP_AUTOSAVE_DIR (%s) reset from control file, previous value (%s) ignored", value, d.autosave)
		}
		d.autosave = value
		d.verbosef("Using $PCP_AUTOSAVE_DIR: %s", value)
	default:
		show()
	}
}

// makeDir creates the directory for the archives of a host, if needed, and reports
// whether it exists then.
func (d *daily) makeDir(dir, what string) bool {
	st, err := os.Stat(dir)
	if err == nil && st.IsDir() {
		return true
	}
	if d.showMe {
		d.printf("+ mkdir -p %s\n", dir)
		return false
	}
	if err == nil {
		err = &fs.PathError{Op: "mkdir", Path: dir, Err: errors.New("not a directory")}
	} else {
		err = housekeeping.MkdirAll(d.env, dir, 0o755)
	}
	if err != nil {
		first := missing(dir)
		d.printf("mkdir: %s: %s\nmkdir_and_chown: %s: mkdir -m 755 failed\n", strings.TrimRight(first, "/"), cli.ErrText(err), first)
		d.fault("cannot create directory (%s) for %s", dir, what)
		return false
	}
	d.warn("creating directory (%s) for %s", dir, what)
	return true
}

// missing returns the first directory on the path to dir that does not exist.
func missing(dir string) string {
	for i := range dir {
		if i > 0 && dir[i] == '/' && strings.Trim(dir[i:], "/") != "" {
			if _, err := os.Stat(dir[:i]); err != nil {
				return dir[:i]
			}
		}
	}
	return dir
}

func (d *daily) binadm(name string) string {
	return fmt.Sprintf("%s/%s", d.get("PCP_BINADM_DIR"), name)
}
