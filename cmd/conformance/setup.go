//go:build linux

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A cache is a directory of files that are prepared once: layers with the changes in
// the file system when the suite's agents are installed and its helpers built.
type cache string

func (c cache) layers() string { return filepath.Join(string(c), "layers") }
func (c cache) stamp() string  { return filepath.Join(string(c), "stamp") }

// sourced finds the scripts of the suite that others source or run.
var sourced = regexp.MustCompile(`(?:\.|\$here)/((?:common|mk)\.\w+)`)

// scripts returns the script of a test, and those that it sources or runs.
func scripts(suite string, t test) []byte {
	var text []byte
	files := []string{t.id}
	for i := 0; i < len(files); i++ { // it grows
		b, err := os.ReadFile(filepath.Join(suite, files[i]))
		if err != nil {
			continue // run reports the error
		}
		text = append(text, b...)
		for _, m := range sourced.FindAllSubmatch(b, -1) {
			if name := string(m[1]); !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
	}
	return text
}

// controlsLogger matches commands that control a pmlogger, ask for the archive that it writes,
// want the configuration that is made for the primary one, or stop one.
var controlsLogger = regexp.MustCompile(`\b(config\.default|[Pp]rimary pmlogger|pmlc|logcontrol|pmlogctl|pmcd\.pmlogger\.(archive|port)|_service pmlogger stop)\b`)

// wantsLogger reports whether a test needs a primary pmlogger: a test that controls one, or that
// stops the running one, as the tests of the agent openmetrics do too, which report an error if
// none runs.
func wantsLogger(suite string, t test) bool {
	b, err := os.ReadFile(filepath.Join(suite, t.id))
	return err == nil && (controlsLogger.Match(b) || bytes.Contains(scripts(suite, t), []byte(". ./common.openmetrics")))
}

// helperUse finds the programs that a test runs out of the suite's src directory.
var helperUse = regexp.MustCompile(`\bsrc/([A-Za-z_][A-Za-z0-9_-]*(?:\.so)?)`)

// helpers returns which programs of src the tests run.
func helpers(suite string, tests []test) []string {
	var names []string
	for _, t := range tests {
		for _, m := range helperUse.FindAllSubmatch(scripts(suite, t), -1) {
			name := string(m[1])
			if exists(filepath.Join(suite, "src", strings.TrimSuffix(name, ".so")+".c")) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// identity identifies the state that the layers depend on: if it changes they
// are made again.
func identity(suite string) (string, error) {
	h := sha256.New()
	for _, path := range []string{suite, filepath.Join(suite, "src"), "/var/lib/pcp/pmdas/sample", "/etc/pcp/pmcd/pmcd.conf", "/var/lib/pcp/pmns/root", "/etc/pcp.conf"} {
		st, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, path, st.Size(), st.ModTime().UnixNano())
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// installAgents makes layers in which the collector has the agents of the suite.
const installAgents = `touch qa_hosts; ./mk.localconfig
for agent in sample simple
do
    (cd /var/lib/pcp/pmdas/$agent && ./Install </dev/null)
done
pminfo -f sample.colour sampledso.colour simple.numfetch || exit
/etc/init.d/pmcd stop
chown -R ` + qaUser + ` localconfig qa_hosts src/localconfig.h
rm -f /etc/hosts /etc/hostname
`

// prepare makes the files that tests need and the cache lacks.
func (r *runner) prepare(tests []test, progress func(string)) error {
	id, err := identity(r.suite)
	if err != nil {
		return err
	}
	want := helpers(r.suite, tests)
	b, _ := os.ReadFile(r.cache.stamp())
	have := strings.Fields(string(b))
	if len(have) == 0 || have[0] != id {
		have = []string{id}
		progress("preparing the suite in " + string(r.cache))
		for try := 1; ; try++ {
			if err := errors.Join(os.RemoveAll(r.cache.layers()), os.RemoveAll(r.cache.archives())); err != nil {
				return err
			}
			err := r.prepareStep(installAgents, true)
			if err == nil {
				break
			}
			// The scripts give a collector that they restart some time, which
			// is short on a busy machine.
			if err = fmt.Errorf("installing the suite's agents: %w", err); try == 3 {
				return err
			}
			progress("once more after " + err.Error())
		}
	}
	missing := slices.DeleteFunc(want, func(name string) bool { return slices.Contains(have[1:], name) })
	if len(missing) > 0 {
		// If a helper cannot be built, its test fails.
		progress("building " + strings.Join(missing, ", "))
		if err := r.prepareStep("cd src && make -k "+strings.Join(missing, " ")+"; chown "+qaUser+" .", false); err != nil {
			return fmt.Errorf("building helpers: %w", err)
		}
	}
	stamp := strings.Join(append(have, missing...), "\n") + "\n"
	if err := os.WriteFile(r.cache.stamp(), []byte(stamp), 0o644); err != nil {
		return err
	}
	return r.makeArchives(tests, progress)
}

func (r *runner) prepareStep(command string, collector bool) error {
	if err := os.MkdirAll(r.cache.layers(), 0o755); err != nil {
		return err
	}
	log := filepath.Join(string(r.cache), "setup.log")
	j := job{
		Layout:  layout{Suite: r.suite, Layers: r.cache.layers(), Wrap: r.wrap, Keep: true, Writable: writable},
		Command: command, PMCD: collector, Root: true, Timeout: 15 * time.Minute, Log: log,
	}
	if _, err := sandbox(&j); err != nil {
		return fmt.Errorf("%w (see %s)", err, log)
	}
	// Traces of the sandbox itself that must not cover anything.
	for _, path := range []string{"etc/hosts", "etc/hostname", "usr-local-bin", "run", "var-log-pcp"} {
		os.RemoveAll(filepath.Join(r.cache.layers(), path))
	}
	works, _ := filepath.Glob(filepath.Join(r.cache.layers(), ".work-*"))
	for _, work := range works {
		os.RemoveAll(work)
	}
	return nil
}
