package packaging

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestAppArmor compiles the AppArmor profiles.
func TestAppArmor(t *testing.T) {
	if _, err := exec.LookPath("apparmor_parser"); err != nil {
		t.Skip("SKIPPED: there is no apparmor_parser")
	}
	profiles, err := filepath.Glob("apparmor/*")
	if err != nil || len(profiles) < 2 {
		t.Fatalf("profiles %q, %v", profiles, err)
	}
	for _, p := range profiles {
		if out, err := exec.Command("apparmor_parser", "-Q", "-K", "-T", p).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", p, err, out)
		}
	}
}

// TestSELinux compiles and packs the SELinux module.
func TestSELinux(t *testing.T) {
	for _, name := range []string{"checkmodule", "semodule_package"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: there is no %s", name)
		}
	}
	mod, pp := filepath.Join(t.TempDir(), "pcpgo.mod"), filepath.Join(t.TempDir(), "pcpgo.pp")
	for _, args := range [][]string{
		{"checkmodule", "-M", "-m", "-o", mod, "selinux/pcpgo.te"},
		{"semodule_package", "-o", pp, "-m", mod, "-f", "selinux/pcpgo.fc"},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
}

// TestScripts has shellcheck look at the scripts of the packages.
func TestScripts(t *testing.T) {
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Skip("SKIPPED: there is no shellcheck")
	}
	scripts, err := filepath.Glob("scripts/*/*")
	if err != nil || len(scripts) < 10 {
		t.Fatalf("scripts %q, %v", scripts, err)
	}
	if out, err := exec.Command("shellcheck", append([]string{"-s", "sh"}, scripts...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
