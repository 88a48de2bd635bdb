package mmv

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/config"
)

// DefaultDir returns the folder where programs of this machine put their
// files: mmv below PCP_TMP_DIR if it can be
// written to, else mmv below the user's own state folder, where the collector
// started by pcp up looks too. It makes the latter if necessary.
func DefaultDir(cfg *config.Config) (string, error) {
	if err := cfg.Err(); err != nil {
		return "", err
	}
	dir := filepath.Join(cfg.Get("PCP_TMP_DIR"), "mmv")
	if writable(dir) {
		return dir, nil
	}
	own := UserDir(cfg)
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
func UserDir(cfg *config.Config) string {
	state := cfg.Getenv("XDG_STATE_HOME")
	if state == "" {
		home := cfg.Getenv("HOME")
		if home == "" {
			return ""
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "pcp", "mmv")
}
