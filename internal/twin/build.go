package twin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds our program in a directory, with links of all its classic names
// beside it: for tests that run many tools, or daemons.
func Build(dir string) error {
	pcp := filepath.Join(dir, "pcp")
	for _, cmd := range []*exec.Cmd{
		exec.Command("go", "build", "-o", pcp, "github.com/go-pcp/pcp/cmd/pcp"),
		exec.Command(pcp, "links", dir),
	} {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
	}
	return nil
}
