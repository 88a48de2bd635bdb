package mmv

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/config"
)

// DefaultDir returns the folder where programs of this machine put their
// files: mmv below PCP_TMP_DIR of the environment or of pcp.conf if it can be
// written to, else mmv below the user's own state folder, where the collector
// that pcp up starts looks too. It makes the latter if need be.
func DefaultDir(getenv func(string) string) (string, error) {
	conf, err := config.Load(getenv)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(conf.Get("PCP_TMP_DIR"), "mmv")
	if writable(dir) {
		return dir, nil
	}
	own := UserDir(getenv)
	if own == "" {
		return "", fmt.Errorf("%s cannot be written to, and there is no home folder", dir)
	}
	if err := os.MkdirAll(own, 0o755); err != nil {
		return "", err
	}
	return own, nil
}

// UserDir returns the folder for the files of this user's programs, "" if
// the environment names no home.
func UserDir(getenv func(string) string) string {
	state := getenv("XDG_STATE_HOME")
	if state == "" {
		home := getenv("HOME")
		if home == "" {
			return ""
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "pcp", "mmv")
}
