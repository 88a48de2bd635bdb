package up

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/agent/pmcd"
	"github.com/go-pcp/pcp/internal/agent/zfs"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/pmda"
)

// TestLateAgentIsRecorded records an agent whose files come after the start.
func TestLateAgentIsRecorded(t *testing.T) {
	files := agenttest.Tree(t, map[string]string{"arcstats": "size 4 4711\n"})
	root := tempDir(t)
	set := &settings{retry: time.Minute, look: time.Millisecond, dir: tempDir(t), noWeb: true, keep: defaultKeep, builtins: []builtin.Spec{
		pmcd.Builtin(),
		{Name: "late", Domain: zfs.Domain, Source: "/sys/late", New: func(builtin.Env) (pmda.Agent, error) { return zfs.New(zfs.Config{Dir: files}) }},
	}}
	out, errs := new(screen), new(screen)
	env := testEnv(out, errs, map[string]string{"PCP_HOST_ROOT": root})
	if err := set.complete(env); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, env, set) }()
	defer func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	// Metadata are not compressed, and have the names of the metrics.
	recorded := func(name string) bool {
		list, err := filepath.Glob(filepath.Join(set.dir, "pmlogger", "*", "*.meta"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range list {
			if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte(name)) {
				return true
			}
		}
		return false
	}
	await.Until(t, "the collector is recorded", func() bool { return recorded("pmcd.") })
	if recorded("zfs.arc.size") {
		t.Error("the agent runs before its files are there")
	}
	if err := os.MkdirAll(filepath.Join(root, "sys/late"), 0o777); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the agent is recorded", func() bool { return recorded("zfs.arc.size") })
}
