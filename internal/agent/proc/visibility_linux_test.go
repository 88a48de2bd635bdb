package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmda"
)

// secretWord is in the environment, the name of the program and the directory of a process.
const secretWord = "hunter2"

// TestVisibility has unknown clients, and clients of another user, request everything from the agent in
// every possible way, after root has requested the same. A process of a third user has a secret in its
// environment, and its program and directory are accessible only to that user.
func TestVisibility(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not run: only root can start processes of other users")
	}
	const owner, stranger = 54321, 54322
	dir, err := os.MkdirTemp("", "visible")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	secret := filepath.Join(dir, secretWord)
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(secret, 0o700), os.Chown(secret, owner, owner)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "120")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner, Gid: owner}}
	cmd.Env = []string{"PASSWORD=" + secretWord}
	cmd.Dir = secret
	if err := oracle.StartWith(cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	defer await.Exit(t, cmd)
	defer cmd.Process.Kill()
	pid := int32(cmd.Process.Pid)
	waitForProgram(pid)

	a := New(Config{})
	if err := store(t, a, root, "hotproc.control.config", pcp.StringValue(fmt.Sprintf("uid == %d", owner))); err != nil {
		t.Fatal(err)
	}
	private := []string{"io.", "smaps.", "psinfo.environ", "psinfo.exe", "psinfo.cwd", "memory.maps", "fd.count", "fdinfo.", "numa_maps.", "delayacct."}
	for name, id := range a.NameSpace().All() {
		if !strings.HasPrefix(name, "proc.") && !strings.HasPrefix(name, "hotproc.") || a.control(id) != nil {
			continue
		}
		get(t, a, root, name) // values for root must not stay for others
		bare := strings.TrimPrefix(strings.TrimPrefix(name, "hot"), "proc.")
		isPrivate := slices.ContainsFunc(private, func(p string) bool { return strings.HasPrefix(bare, p) })
		desc, err := a.Desc(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for who, c := range map[string]*pmda.Client{"nobody": {}, "a stranger": client(stranger, stranger), "one of the group": client(stranger, owner)} {
			// Refresh once for root and the client: they are served from one reading.
			req := &pmda.FetchRequest{Client: root, PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)}
			if err := errors.Join(a.Refresh(t.Context(), req.PMIDs), a.Fetch(t.Context(), req)); err != nil {
				t.Fatal(err)
			}
			req = &pmda.FetchRequest{Client: c, PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)}
			if err := a.Fetch(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			set := req.Result.Sets[0]
			if who == "nobody" && desc.InDom != pcp.InDomNull && (set.Err != pcp.ErrPermission || len(set.Values) > 0) {
				t.Errorf("%s of nobody: %d values, %v", name, len(set.Values), set.Err)
			}
			for _, v := range set.Values {
				text, isText := v.Text()
				if strings.Contains(text, secretWord) || v.Inst == pid && isPrivate && (!isText || text != "") {
					t.Errorf("%s for %s: %v %q", name, who, v, text)
				}
			}
		}
	}
	// Instances, their names and labels.
	for _, serial := range []int{serial, hotSerial, acctSerial} {
		indom := pcp.NewInDom(Domain, serial)
		ctx := pmda.WithClient(t.Context(), &pmda.Client{})
		if insts, err := a.Instances(ctx, indom); !errors.Is(err, pcp.ErrPermission) || len(insts) > 0 {
			t.Errorf("instances %d of nobody: %v, %v", serial, insts, err)
		}
		if name, err := a.InstanceName(ctx, indom, pid); err == nil {
			t.Errorf("nobody learns the name %q", name)
		}
		if inst, err := a.LookupInstance(ctx, indom, fmt.Sprint(pid)); err == nil {
			t.Errorf("nobody finds process %d", inst)
		}
		if sets, _ := a.Labels(ctx, uint32(indom), pcp.LabelInstances); len(sets) > 0 {
			t.Errorf("nobody gets labels: %v", sets)
		}
		for _, c := range []*pmda.Client{client(stranger, stranger), client(owner, owner)} {
			insts, err := a.Instances(pmda.WithClient(t.Context(), c), indom)
			if err != nil {
				t.Errorf("instances %d: %v", serial, err)
			}
			for _, inst := range insts {
				if strings.Contains(inst.Name, secretWord) {
					t.Errorf("an instance is called %q", inst.Name)
				}
			}
		}
	}
	// Only root may set the predicate or configure accounting.
	for _, c := range []*pmda.Client{{}, client(stranger, stranger)} {
		for _, ctl := range slices.Concat(controls[:], acctControls[:]) {
			if !ctl.forRoot {
				continue
			}
			v := pcp.Uint32Value(1)
			if ctl.kind == pcp.TypeString {
				v = pcp.StringValue("psargs ~ /hunter/")
			}
			if err := store(t, a, c, ctl.name, v); !errors.Is(err, pcp.ErrPermission) {
				t.Errorf("client %v stores into %s: %v", c.Attrs, ctl.name, err)
			}
		}
	}
}

// TestVisibilityContainer has unknown clients name a container: they get no more of its processes than
// without one, and an unknown name is an error and does not mean all processes.
func TestVisibilityContainer(t *testing.T) {
	tr := newTree(t)
	tr.write("proc/1/cgroup", "0::/box/a\n")
	a := New(Config{Root: tr.dir, Containers: box(1)})
	for _, container := range []string{"box", "../box", "none"} {
		c := &pmda.Client{Attrs: map[pmda.AttrKey]string{pmda.AttrContainer: container}}
		for name, id := range a.NameSpace().All() {
			desc, err := a.Desc(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if !ofProcesses(desc.InDom) {
				continue
			}
			req := &pmda.FetchRequest{Client: c, PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)}
			if err := a.Fetch(t.Context(), req); err != nil {
				if container == "box" {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			if set := req.Result.Sets[0]; set.Err == 0 || len(set.Values) > 0 {
				t.Errorf("%s of container %s: %d values, %v", name, container, len(set.Values), set.Err)
			}
		}
		if insts, err := a.Instances(pmda.WithClient(t.Context(), c), pcp.NewInDom(Domain, serial)); err == nil {
			t.Errorf("container %s: instances %v", container, insts)
		}
	}
}
