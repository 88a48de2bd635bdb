module github.com/go-pcp/pcp/cmd

go 1.26.0

require (
	charm.land/bubbletea/v2 v2.0.9
	charm.land/lipgloss/v2 v2.0.6
	github.com/go-pcp/pcp v0.1.0
	github.com/godbus/dbus/v5 v5.2.4
	github.com/klauspost/compress v1.20.3
	github.com/ulikunitz/xz v0.5.17
	go.etcd.io/bbolt v1.5.0
	golang.org/x/sys v0.49.0
	golang.org/x/term v0.47.0
)

// For tests.
require (
	github.com/charmbracelet/x/vt v0.1.0
	github.com/creack/pty v1.1.24
	github.com/google/go-cmp v0.7.0
	github.com/rogpeppe/go-internal v1.16.0
)

// Until a release, the library of this checkout; scripts/release removes the line.
replace github.com/go-pcp/pcp => ../
