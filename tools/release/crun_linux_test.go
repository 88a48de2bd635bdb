package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// crunScript runs the container in the bundle $1 and in it the commands below, with the sections
// of their output named. It runs in a mount name space of its own: crun refuses a machine that has both versions of
// control groups, and the container has no use for the second one.
const crunScript = `
cd "$1" || exit
[ ! -d /sys/fs/cgroup/unified ] || umount /sys/fs/cgroup/unified || exit
crun() { command crun --root "$PWD/state" --cgroup-manager=disabled "$@"; }
name=pcp-test-$$
crun run $name >log 2>&1 &
trap 'crun kill $name KILL; crun delete --force $name' EXIT
tries=0
until crun exec --user 65532:65532 $name /usr/bin/pcp doctor --quiet >health 2>&1; do
	tries=$((tries + 1))
	[ $tries -lt 60 ] || { echo "not healthy: $(cat health log)"; exit 1; }
	sleep 0.5
done
section() { echo "== $1"; shift; crun exec --user 65532:65532 $name "$@" 2>&1; }
section load /usr/bin/pcp info -f kernel.all.load hinv.ncpu kernel.uname.release
section process /usr/bin/pcp info -h unix:/var/lib/pcp/pmcd.socket -f proc.psinfo.pid
section cgroup /usr/bin/pminfo -f cgroup.mounts.subsys
section capabilities /usr/bin/pcp info -h unix:/var/lib/pcp/pmcd.socket -f proc.id.uid
section zone /usr/bin/pcp date %Z
section write /usr/bin/pcp links /usr/new
trap - EXIT
crun kill $name TERM
wait
echo "== log"
cat log
crun delete --force $name 2>/dev/null
exit 0
`

// TestImageRuns runs the image with crun: from its OCI layout, on a read-only root, without capabilities, as the user of
// the image, with the /proc and /sys of this host. The collector is healthy and has the metrics of the host. The image of a
// release has at most 14 MB.
func TestImageRuns(t *testing.T) {
	for _, name := range []string{"crun", "unshare", "tar", "sh"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: there is no %s", name)
		}
	}
	if out, err := exec.Command("unshare", "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no mount name space can be made here: %s", strings.TrimSpace(string(out)))
	}
	atRoot(t)
	r, in := small(t)
	program, err := r.program(t.Context(), runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	in = input{arch: runtime.GOARCH, program: program, usr: in.usr.withProgram("/usr/bin/pcp", program)}
	if err := makeLayout(t.Context(), r, []input{in}); err != nil {
		t.Fatal(err)
	}

	// Level 19, which a release has, takes half a minute and makes the image 9 % smaller than level 12.
	const most = 15_950_000
	if info, err := os.Stat(r.path("pcp-1.2.3-image-oci.tar")); err != nil || info.Size() > most {
		t.Errorf("the image has %d bytes, at most %d are allowed: find what has made the program larger (%v)", info.Size(), most, err)
	}

	bundle, oci := t.TempDir(), t.TempDir()
	// The user of the image must reach its root.
	if err := os.Chmod(bundle, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-C", oci, "-xf", r.path("pcp-1.2.3-image-oci.tar")).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	index, err := layout.ImageIndexFromPath(oci)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(bundle, "rootfs")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	untar := exec.Command("tar", "-C", root, "-x", "--same-owner", "--same-permissions")
	flat := mutate.Extract(img)
	defer flat.Close()
	untar.Stdin = flat
	if out, err := untar.CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	type list = []any
	type object = map[string]any
	bind := func(path string) object {
		return object{"destination": path, "type": "bind", "source": path, "options": list{"rbind", "ro", "nosuid", "nodev", "noexec"}}
	}
	spec := object{
		"ociVersion": "1.0.0",
		"process": object{
			"user": object{"uid": imageUser, "gid": imageUser}, "args": append(config.Config.Entrypoint, "--no-record"), "env": append(config.Config.Env, "TZ=Europe/Berlin"),
			"cwd": config.Config.WorkingDir, "noNewPrivileges": true,
			"capabilities": object{"bounding": list{}, "effective": list{}, "permitted": list{}, "ambient": list{}},
		},
		"root": object{"path": "rootfs", "readonly": true},
		"mounts": list{
			bind("/proc"), bind("/sys"),
			object{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": list{"nosuid", "mode=755", "size=64k"}},
			object{"destination": imageState, "type": "tmpfs", "source": "tmpfs", "options": list{"nosuid", "nodev", "mode=700", fmt.Sprintf("uid=%d", imageUser), fmt.Sprintf("gid=%d", imageUser)}},
		},
		"linux": object{"namespaces": list{object{"type": "mount"}, object{"type": "ipc"}, object{"type": "uts"}, object{"type": "network"}}},
	}
	b, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bundle, "config.json"), b, 0o666); err != nil {
		t.Fatal(err)
	}

	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", crunScript, "sh", bundle)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("crun: %v\n%s", err, out)
	}
	sections := make(map[string]string)
	for _, s := range strings.Split(string(out), "== ")[1:] {
		name, text, _ := strings.Cut(s, "\n")
		sections[name] = text
	}
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		t.Fatal(err)
	}
	want := func(section string, texts ...string) {
		t.Helper()
		for _, w := range texts {
			if !strings.Contains(sections[section], w) {
				t.Errorf("%s: %q is not in\n%s", section, w, sections[section])
			}
		}
	}
	want("load", `"1 minute"] value `, fmt.Sprintf("value %d\n", runtime.NumCPU()), `value "`+strings.TrimSpace(string(release))+`"`)
	want("process", fmt.Sprintf("] value %d\n", os.Getpid()))
	want("cgroup", "/sys/fs/cgroup")
	want("capabilities", fmt.Sprintf("value %d\n", imageUser))
	want("zone", "CE") // CET or CEST, of the image's own time zones
	want("write", "read-only file system")
	want("log", "Collecting from ", "Stopped.")
}
