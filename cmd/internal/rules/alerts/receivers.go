package alerts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/cmd/internal/pmie/alert"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// OptReceivers names the file of receivers.
var OptReceivers = cli.Option{
	Long: "receivers", Arg: "FILE", Help: "file of receivers [default receivers.conf in the state directory, else $PCP_SYSCONF_DIR/pmie/receivers.conf]",
	Extra: true,
}

// ErrNoReceivers is the error of Receivers if no file of receivers is named or found.
var ErrNoReceivers = errors.New("no file of receivers")

// Receivers reads the file of receivers: the named file, else receivers.conf in a state directory,
// by default that of the user, else that of the system. It returns its name too.
func Receivers(env *cli.Env, file, dir string) (*alert.Settings, string, error) {
	if file == "" {
		var err error
		if file, err = findReceivers(env, dir); err != nil {
			return nil, "", err
		}
	}
	s, err := alert.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%s: %s; --receivers names another file", file, cli.ErrText(err))
	}
	return s, file, err
}

func findReceivers(env *cli.Env, dir string) (string, error) {
	system := filepath.Join(env.Config().Get("PCP_SYSCONF_DIR"), "pmie", "receivers.conf")
	if dir == "" {
		var err error
		if dir, err = env.StateDir(); err != nil {
			return system, nil
		}
	}
	own := filepath.Join(dir, "receivers.conf")
	for _, path := range []string{own, system} {
		if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: neither %s nor %s; --receivers FILE names another", ErrNoReceivers, own, system)
}
