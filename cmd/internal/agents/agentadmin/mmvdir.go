package agentadmin

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/housekeeping"
	"github.com/go-pcp/pcp/internal/safefile"
)

// makeMMVDir makes the directory of memory-mapped values, PCP_TMP_DIR/mmv, in which all users may create files, as the script Install of the C agent
// does. An existing directory is not changed: packages give it to a group. Without permission there is a warning, since
// programs of this user then put their files elsewhere.
func makeMMVDir(env *cli.Env) {
	dir := filepath.Join(env.Config().Get("PCP_TMP_DIR"), "mmv")
	if _, err := os.Stat(dir); err == nil {
		return
	}
	err := housekeeping.MkdirAll(env, filepath.Dir(dir), 0o755)
	if err == nil {
		err = safefile.MkdirAll(dir, 0o700, func(made *os.File) error {
			housekeeping.GiveAway(env, made.Name())
			return made.Chmod(fs.ModePerm | fs.ModeSticky)
		})
	}
	if err != nil {
		fmt.Fprintf(env.Stderr, "%s: warning: no directory for the values of all programs: %s\n", env.ProgName(), cli.FileErrText(err))
		return
	}
	fmt.Fprintf(env.Stdout, "%s: created, for the memory-mapped values of all programs\n", dir)
}
