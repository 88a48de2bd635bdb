package rep_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// installedViews are the configurations that the C implementation installs.
const installedViews = "/etc/pcp/pmrep"

var section = regexp.MustCompile(`(?m)^\[([^]\n]+)\]`)

// TestInstalledViews prints two samples of each view that the C implementation installs with both programs; in the short
// form, of every sixth view.
func TestInstalledViews(t *testing.T) {
	twin.NeedSuite(t)
	files, err := filepath.Glob(installedViews + "/*.conf")
	if err != nil || len(files) == 0 {
		t.Skipf("no views in %s: %v", installedViews, err)
	}
	var views []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range section.FindAllSubmatch(text, -1) {
			if name := string(m[1]); name != "options" && name != "global" {
				views = append(views, name)
			}
		}
	}
	archive := filepath.Join(twin.SuiteRoot, "archives", "pcp-zeroconf")
	step, reports := longtest.N(6, 1), 0
	for i := 0; i < len(views); i += step {
		call := twin.Call{
			Tool: "pmrep", Args: []string{"-c", installedViews, "-a", archive, "-t", "10", "-s", "2", "-Z", "UTC", "-5", ":" + views[i]},
			KillAfter: time.Minute, Dir: t.TempDir(),
		}
		want := call.Run(t, false)
		if want.Status == 0 {
			reports++
		}
		if d := same(call, want, call.Run(t, true)); d != "" {
			t.Error(d)
		}
	}
	t.Logf("%d of %d views print a report", reports, (len(views)+step-1)/step)
	if reports < len(views)/step/4 {
		t.Errorf("only %d views print a report", reports)
	}
}
