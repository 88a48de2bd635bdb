package packaging

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestInstall runs make install and make uninstall below its own directory and
// checks the files after each.
func TestInstall(t *testing.T) {
	for _, name := range []string{"make", "bash", "sed"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: there is no %s", name)
		}
	}
	dest := t.TempDir()
	const prefix = "/opt/pcp"
	made := func(target string) (string, error) {
		cmd := exec.Command("make", "-C", "..", target, "DESTDIR="+dest, "PREFIX="+prefix)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := made("install"); err != nil {
		t.Fatalf("make install: %v\n%s", err, out)
	}
	root := dest + prefix
	for _, name := range []string{
		"bin/pcp", "bin/pminfo",
		"share/man/man1/pcp.1", "share/man/man1/pminfo.1", "share/man/man1/pcp-info.1", "share/man/man5/mmv.5", "share/man/man3/pcp.3", "share/man/man3/pcp-pmapi.3",
		"share/bash-completion/completions/pcp", "share/bash-completion/completions/pminfo",
		"share/zsh/site-functions/_pcp", "share/fish/vendor_completions.d/pcp.fish",
		"lib/systemd/system/pcp-pmcd.service", "lib/systemd/system/pcp-pmcd.socket",
		"lib/systemd/system/pcp-pmlogger.service", "lib/systemd/system/pcp-pmlogger-check.timer", "lib/systemd/system/pcp-pmlogger-daily.timer",
		"lib/systemd/system/pcp-pmie.service", "lib/systemd/system/pcp-pmie-check.timer", "lib/systemd/system/pcp-pmie-daily.timer",
		"lib/systemd/system/pcp-pmproxy.service",
		"lib/systemd/user/pcp-up.service", "lib/sysusers.d/pcp.conf",
		"share/doc/pcp/examples/capabilities/proc.conf", "share/doc/pcp/examples/apparmor/pcp-pmcd", "share/doc/pcp/examples/selinux/pcpgo.te", "share/doc/pcp/examples/pmcd.conf", "share/doc/pcp/examples/tls.conf", "share/doc/pcp/examples/pmproxy.conf",
	} {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Error(err)
		} else if strings.Contains(string(b), "@BINDIR@") && name != "bin/pcp" {
			t.Errorf("%s has @BINDIR@ in it", name)
		}
	}
	unit, err := os.ReadFile(filepath.Join(root, "lib/systemd/system/pcp-pmcd.service"))
	if err != nil || !strings.Contains(string(unit), "ExecStart="+prefix+"/bin/pcp pmcd") {
		t.Errorf("the unit does not start %s/bin/pcp: %v\n%s", prefix, err, unit)
	}

	// The programs and files of units are installed.
	installed, err := filepath.Glob(filepath.Join(root, "lib/systemd/system/*"))
	if err != nil || len(installed) != len(unitNames(t))-1 { // one is for users
		t.Errorf("the units %q are installed, %v", installed, err)
	}
	starts := regexp.MustCompile(`(?m)^Exec\w+=(` + prefix + `/\S+)`)
	for _, path := range installed {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range starts.FindAllStringSubmatch(string(b), -1) {
			if _, err := os.Stat(dest + m[1]); err != nil {
				t.Errorf("%s: %v", filepath.Base(path), err)
			}
		}
	}

	run := func(want string, name string, args ...string) {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s %s: %v\n%s\nwant %q in it", name, strings.Join(args, " "), err, out, want)
		}
	}
	run("pminfo version ", filepath.Join(root, "bin/pminfo"), "-V")
	run("", filepath.Join(root, "bin/pcp"), "pmcd", "-v", "-c", filepath.Join(root, "share/doc/pcp/examples/pmcd.conf"))
	run("", "bash", "-n", filepath.Join(root, "share/bash-completion/completions/pcp"))
	if _, err := exec.LookPath("man"); err == nil {
		run("PMINFO(1)", "man", "-M", filepath.Join(root, "share/man"), "pcp-info")
	}

	// A program of another package is not replaced, and then no other file is either.
	link := filepath.Join(root, "bin/pminfo")
	os.Remove(link)
	if err := os.WriteFile(link, []byte("#!/bin/sh\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	if out, err := made("install"); err == nil || !strings.Contains(out, "pminfo exists and is not ours") {
		t.Errorf("make install over a strange pminfo: %v\n%s", err, out)
	}
	if out, err := made("uninstall"); err != nil {
		t.Fatalf("make uninstall: %v\n%s", err, out)
	}
	var left []string
	filepath.WalkDir(dest, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			left = append(left, strings.TrimPrefix(path, root))
		}
		return err
	})
	if len(left) != 1 || left[0] != "/bin/pminfo" {
		t.Errorf("after make uninstall there is %q, want only the strange pminfo", left)
	}
}

// TestUnits lets systemd check the installed units.
func TestUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("SKIPPED: there is no systemd-analyze")
	}
	dir := t.TempDir()
	// systemd-analyze requires the program to exist.
	if err := os.WriteFile(filepath.Join(dir, "pcp"), []byte("#!/bin/sh\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pmlogger_check", "pmlogger_daily", "pmie_check", "pmie_daily", "pmproxy", "pmsignal"} {
		if err := os.Symlink("pcp", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range unitNames(t) {
		b, err := os.ReadFile(filepath.Join("systemd", name))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(b), "@BINDIR@", dir)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range unitNames(t) {
		cmd := exec.Command("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", filepath.Join(dir, name))
		if name == "pcp-up.service" {
			cmd.Args = append(cmd.Args[:2], append([]string{"--user"}, cmd.Args[2:]...)...)
			cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
		}
		out, err := cmd.CombinedOutput()
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, name) {
				t.Errorf("%s: %v: %s", name, err, line)
			}
		}
	}
}

// unitNames returns the names of all units.
func unitNames(t *testing.T) []string {
	t.Helper()
	files, err := os.ReadDir("systemd")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		if strings.HasPrefix(f.Name(), "pcp-") {
			names = append(names, f.Name())
		}
	}
	if len(names) < 14 {
		t.Fatalf("there are only the units %q", names)
	}
	return names
}

// TestUnitText checks units without systemd: their form, that they name existing units,
// and that system units have no more rights than they need.
func TestUnitText(t *testing.T) {
	names := unitNames(t)
	sections := map[string]string{".service": "Service", ".socket": "Socket", ".timer": "Timer"}
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join("systemd", name))
		if err != nil {
			t.Fatal(err)
		}
		set := make(map[string][]string)
		section := ""
		own := sections[filepath.Ext(name)]
		for i, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
			key, value, assigns := strings.Cut(line, "=")
			switch {
			case line == "", strings.HasPrefix(line, "#"):
			case line == "[Unit]", line == "[Install]", line == "["+own+"]":
				section = line
			case section == "" || !assigns || !regexp.MustCompile(`^[A-Z][A-Za-z0-9]+$`).MatchString(key):
				t.Errorf("%s:%d: %s", name, i+1, line)
			default:
				set[key] = append(set[key], strings.Fields(value)...)
			}
		}
		if len(set["Description"]) == 0 {
			t.Errorf("%s has no description", name)
		}
		for _, key := range []string{"Also", "PartOf", "Requires", "Requisite"} {
			for _, other := range set[key] {
				if !slices.Contains(names, other) {
					t.Errorf("%s: %s=%s: there is no such unit", name, key, other)
				}
			}
		}
		switch own {
		case "Timer":
			if service := strings.TrimSuffix(name, ".timer") + ".service"; !slices.Contains(names, service) || len(set["OnCalendar"]) == 0 {
				t.Errorf("%s starts nothing", name)
			}
		case "Service":
			if len(set["ExecStart"]) == 0 || set["NoNewPrivileges"] == nil {
				t.Errorf("%s: starts %q, NoNewPrivileges=%q", name, set["ExecStart"], set["NoNewPrivileges"])
			}
			if name == "pcp-up.service" { // has the rights of its user
				continue
			}
			for key, want := range map[string]string{
				"ProtectSystem": "strict", "RestrictNamespaces": "yes", "RestrictSUIDSGID": "yes", "LockPersonality": "yes", "ProtectControlGroups": "yes",
			} {
				if got := set[key]; len(got) != 1 || got[0] != want {
					t.Errorf("%s: %s=%q, want %s", name, key, got, want)
				}
			}
			if _, ok := set["CapabilityBoundingSet"]; !ok {
				t.Errorf("%s keeps all capabilities", name)
			}
			if strings.HasPrefix(set["ExecStart"][0], "@BINDIR@/") && !slices.Equal(set["User"], []string{"pcp"}) {
				t.Errorf("%s runs as %q", name, set["User"])
			}
		}
	}
}
