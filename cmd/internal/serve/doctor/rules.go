package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/daemon/controlfile"
	"github.com/go-pcp/pcp/cmd/internal/pmie"
	"github.com/go-pcp/pcp/cmd/internal/pmie/alert"
	promrules "github.com/go-pcp/pcp/cmd/internal/prom/rules"
	"github.com/go-pcp/pcp/cmd/internal/rules/alerts"
	"github.com/go-pcp/pcp/pmapi"
)

func ruleFaults() []kind {
	const never = "Its rules are not evaluated, and no alert is sent."
	return []kind{
		{"rules.missing", fault, "A file of rules does not exist.", never},
		{"rules.syntax", fault, "A file of rules is wrong.", never},
		{"rules.metric", warning, "A metric in a rule does not exist.", "The rule is never true."},
		{"receiver.configuration", fault, "The file of receivers is wrong.", "Alerts reach no receiver."},
		{"receiver.secret", fault, "The file with the secret of a receiver does not exist.", "The receiver rejects alerts."},
		{"receiver.alerts", fault, "A receiver does not accept alerts.", "Alerts wait, and are dropped when they are too old."},
		{"receiver.spool", fault, "Alerts cannot be saved.", "They are lost when the rule engine ends."},
	}
}

func ruleChecks() []check {
	return []check{
		{"the rules", false, false, checkRules},
		{"the receivers of alerts", false, false, checkReceivers},
	}
}

// checkRules examines the files of rules of control files, of "pcp up", and of running engines.
func checkRules(ctx context.Context, s *site) []finding {
	files := make(map[string]string) // with the place that names each
	found := s.controls(true, func(_ *controlfile.Parser, line *controlfile.Line) {
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
	for _, name := range names(files) {
		found = append(found, s.rulesFile(ctx, name, files[name])...)
	}
	return found
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
