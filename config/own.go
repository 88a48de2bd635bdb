package config

import "path/filepath"

// StateDir returns where this user's collectors keep their state: $XDG_STATE_HOME/pcp, by
// default ~/.local/state/pcp, "" if no home directory is known.
func (c *Config) StateDir() string {
	home := c.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(home) { // as the specification of XDG_STATE_HOME demands
		user := c.Getenv("HOME")
		if user == "" {
			return ""
		}
		home = filepath.Join(user, ".local", "state")
	}
	return filepath.Join(home, "pcp")
}

// OwnSocket returns the socket at which "pcp up" serves without options, for programs without an address of
// the collector. It is "" if the environment has one (PMCD_PORT, PMCD_SOCKET or PMCD_HOST).
func (c *Config) OwnSocket() string {
	for _, name := range [...]string{"PMCD_PORT", "PMCD_SOCKET", "PMCD_HOST"} {
		if c.Getenv(name) != "" {
			return ""
		}
	}
	dir := c.StateDir()
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "pmcd.socket")
}
