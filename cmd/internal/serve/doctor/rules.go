package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/daemon/controlfile"
	"github.com/go-pcp/pcp/cmd/internal/pmie"
	"github.com/go-pcp/pcp/cmd/internal/pmie/alert"
	promnames "github.com/go-pcp/pcp/cmd/internal/prom/names"
	promrules "github.com/go-pcp/pcp/cmd/internal/prom/rules"
	"github.com/go-pcp/pcp/cmd/internal/rules/alerts"
	"github.com/go-pcp/pcp/internal/pmiestats"
	"github.com/go-pcp/pcp/internal/processes"
	"github.com/go-pcp/pcp/pmapi"
)

func ruleFaults() []kind {
	const never = "Its rules are not evaluated, and no alert is sent."
	return []kind{
		{"rules.missing", fault, "A file of rules does not exist.", never},
		{"rules.syntax", fault, "A file of rules is wrong.", never},
		{"rules.metric", warning, "A metric in a rule does not exist.", "The rule is never true."},
		{"rules.stopped", fault, "A rule engine of the control files does not run, and did until recently.", "Its rules are not evaluated, and no alert is sent."},
		{"receiver.configuration", fault, "The file of receivers is wrong.", "Alerts reach no receiver."},
		{"receiver.secret", fault, "The file with the secret of a receiver does not exist.", "The receiver rejects alerts."},
		{"receiver.alerts", fault, "A receiver does not accept alerts.", "Alerts wait, and are dropped when they are too old."},
		{"receiver.spool", fault, "Alerts cannot be saved.", "They are lost when the rule engine ends."},
	}
}

func ruleChecks() []check {
	return []check{
		{"the rules", false, false, checkRules},
		{"the metrics of rules", false, true, checkRuleMetrics},
		{"rule engines", false, false, checkEngines},
		{"the receivers of alerts", false, false, checkReceivers},
	}
}

// checkRules examines the files of rules of control files, of "pcp up", and of running engines.
func checkRules(ctx context.Context, s *site) []finding {
	files, found := s.ruleFiles()
	for _, name := range names(files) {
		found = append(found, s.rulesFile(ctx, name, files[name])...)
	}
	return found
}

// ruleFiles returns the files of rules, each with the place that names it, and the faults of control files.
func (s *site) ruleFiles() (files map[string]string, found []finding) {
	files = make(map[string]string)
	found = s.controls(true, func(_ *controlfile.Parser, line *controlfile.Line) {
		name := configOf(line.Args)
		switch {
		case name == "" || name == "config.default": // it is made when the engine starts
			return
		case !filepath.IsAbs(name):
			name = filepath.Join(s.get("PCP_VAR_DIR"), "config", "pmie", name)
		}
		files[name] = fmt.Sprintf("%s, line %d", line.File, line.Number)
	})
	for _, u := range s.running() {
		for _, name := range option(u.args, "rules") {
			if filepath.IsAbs(name) {
				files[name] = fmt.Sprintf("\"pcp up\" (process %d)", u.PID)
			}
		}
	}
	return files, found
}

// checkRuleMetrics looks for metrics in rules of Prometheus that neither the collector nor an archive has.
func checkRuleMetrics(ctx context.Context, s *site) []finding {
	paths, _ := s.ruleFiles()
	var files []*promrules.File
	known := map[string]bool{"ALERTS": true, "ALERTS_FOR_STATE": true}
	for _, name := range names(paths) {
		b, err := readSmall(name)
		if err != nil || !promrules.Is(b) {
			continue
		}
		if f, err := promrules.Parse(name, b); err == nil {
			files = append(files, f)
			_, recorded := f.Metrics()
			for _, metric := range recorded {
				known[metric] = true
			}
		}
	}
	if len(files) == 0 || !s.liveNames(ctx, known) {
		return nil
	}
	var list []finding
	archives := false // are in known
	for _, f := range files {
		needed, _ := f.Metrics()
		for _, metric := range needed {
			if !has(known, metric) && !archives {
				s.archiveNames(ctx, known)
				archives = true
			}
			if !has(known, metric) {
				list = append(list, finding{
					id: "rules.metric", subject: f.Name, command: `"${EDITOR:-vi}" ` + words(f.Name),
					text: fmt.Sprintf("%s: neither the collector nor an archive has the metric %s", f.Name, metric),
				})
			}
		}
	}
	return list
}

// has reports whether a name is one of Prometheus for a known metric, or for a series of its histogram.
func has(known map[string]bool, name string) bool {
	if known[name] {
		return true
	}
	for _, suffix := range []string{promnames.BucketSuffix, promnames.CountSuffix, "_sum"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && known[base] {
			return true
		}
	}
	return false
}

// liveNames adds the names of the collector, and reports whether it has answered.
func (s *site) liveNames(ctx context.Context, known map[string]bool) bool {
	c, err := s.connect(ctx)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	for name, err := range c.Traverse(ctx, "") {
		if err != nil {
			return false
		}
		known[promnames.Metric(name)] = true
	}
	return true
}

// archiveNames adds the names in the newest archives.
func (s *site) archiveNames(ctx context.Context, known map[string]bool) {
	for _, dir := range s.archiveDirs() {
		for i, files := range archivesIn(dir) {
			if i == maxOpened || ctx.Err() != nil {
				break
			}
			a, err := archive.Options{AnyFeatures: true}.Open(files.base)
			if err != nil {
				continue // see checkArchives
			}
			for name := range a.Meta().NamesInOrder() {
				known[promnames.Metric(name)] = true
			}
			a.Close()
		}
	}
}

// checkEngines looks for lines of control files whose pmie does not run. An engine that has not run for a week is not missed.
func checkEngines(_ context.Context, s *site) []finding {
	if s.pmcdPID == 0 || exists(s.path("/run/systemd/system")) && !s.unit("pmie") {
		return nil
	}
	engines := slices.DeleteFunc(pmiestats.List(filepath.Join(s.get("PCP_TMP_DIR"), "pmie")), func(p pmiestats.Process) bool { return !processes.Exists(p.PID) })
	var list []finding
	s.controls(true, func(_ *controlfile.Parser, line *controlfile.Line) {
		log, err := os.Stat(line.Dir)
		if err != nil || s.now.Sub(log.ModTime()) > stoppedIn {
			return
		}
		if slices.ContainsFunc(engines, func(p pmiestats.Process) bool { return sameFile(p.Log, line.Dir, log) }) ||
			slices.ContainsFunc(s.procs(), func(p process) bool {
				return (p.name == "pmie" || p.name == "pcp ie") && slices.ContainsFunc(p.args, func(arg string) bool { return sameFile(arg, line.Dir, log) })
			}) {
			return
		}
		start := s.pcp() + " service start pmie"
		if s.unit("pmie") {
			start = "systemctl start pmie"
		}
		list = append(list, finding{
			id: "rules.stopped", subject: line.Host, command: start,
			text: fmt.Sprintf("%s, line %d: no pmie runs for %s, and its log %s was written %v ago", line.File, line.Number, line.Host, line.Dir, s.now.Sub(log.ModTime()).Round(time.Second)),
		})
	})
	return list
}

// sameFile reports whether a name is that of a file, also through links of directories.
func sameFile(name, path string, file fs.FileInfo) bool {
	if name == path {
		return true
	}
	st, err := os.Stat(name)
	return filepath.IsAbs(name) && err == nil && os.SameFile(st, file)
}

// rulesFile examines a file of rules.
func (s *site) rulesFile(ctx context.Context, name, by string) []finding {
	edit := `"${EDITOR:-vi}" ` + words(name)
	b, err := readSmall(name)
	if err != nil {
		return []finding{{id: "rules.missing", subject: name, text: fmt.Sprintf("%s names the rules %s: %v", by, name, errors.Unwrap(err)), command: edit}}
	}
	if promrules.Is(b) {
		_, err = promrules.Parse(name, b)
	} else {
		_, _, err = alerts.CheckPmie(ctx, name, b)
	}
	if err != nil {
		text := strings.Join(strings.Fields(err.Error()), " ")
		return []finding{{id: "rules.syntax", subject: name, text: name + ": " + text, command: s.pcp() + " alerts check " + words(name)}}
	}
	if _, err := s.connect(ctx); err != nil || promrules.Is(b) {
		return nil
	}
	var messages bytes.Buffer
	e, err := pmie.New(ctx, pmie.Config{Name: "rules", Err: &messages, Quiet: true, Dial: func(ctx context.Context, _ string) (*pmapi.Context, error) {
		return s.dialAgain(ctx)
	}})
	if err != nil {
		return nil
	}
	defer e.Close()
	if _, err := e.Load(ctx, bytes.NewReader(b), name); err != nil {
		return nil // as checked above
	}
	var list []finding
	for line := range strings.Lines(messages.String()) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "rules: metric "); ok {
			metric, _, _ := strings.Cut(text, " ")
			list = append(list, finding{id: "rules.metric", subject: name, text: fmt.Sprintf("%s: the collector has no metric %s", name, metric), command: edit})
		}
	}
	return list
}

// checkReceivers examines the file of receivers, and the states of running rule engines.
func checkReceivers(_ context.Context, s *site) []finding {
	var list []finding
	settings, path, err := alerts.Receivers(s.env, "", "")
	switch {
	case errors.Is(err, alerts.ErrNoReceivers):
	case err != nil:
		list = append(list, finding{id: "receiver.configuration", subject: path, text: strings.TrimSpace(err.Error()), command: `"${EDITOR:-vi}" ` + words(path)})
	default:
		for _, r := range settings.Receivers {
			if r.SecretFile != "" && !exists(r.SecretFile) {
				list = append(list, finding{
					id: "receiver.secret", subject: r.Name, text: fmt.Sprintf("%s: the file %s with the secret of the receiver %s does not exist", path, r.SecretFile, r.Name),
					command: "install -m 600 /dev/stdin " + words(r.SecretFile),
				})
			}
		}
	}
	states, errs := alerts.States(s.env)
	for _, err := range errs {
		if !errors.Is(err, fs.ErrNotExist) {
			list = append(list, finding{id: "recorder.status", subject: "rules", text: err.Error(), command: s.pcp() + " alerts"})
		}
	}
	for _, st := range states {
		list = append(list, standings(s, st.Receivers)...)
	}
	return list
}

func standings(s *site, receivers []alert.Standing) []finding {
	var list []finding
	for _, r := range receivers {
		if r.Error != "" {
			list = append(list, finding{
				id: "receiver.alerts", subject: r.Receiver, text: fmt.Sprintf("the receiver %s (%s) does not accept alerts, and %d wait: %s", r.Receiver, r.Kind, r.Waiting, r.Error),
				command: s.pcp() + " alerts send " + words(r.Receiver),
			})
		}
		if r.SpoolError != "" {
			list = append(list, finding{id: "receiver.spool", subject: r.Receiver, text: fmt.Sprintf("%d alerts for the receiver %s cannot be saved: %s", r.Unsaved, r.Receiver, r.SpoolError), command: "df -h"})
		}
	}
	return slices.Clip(list)
}
