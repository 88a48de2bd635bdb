package alert

import (
	"path/filepath"
	"time"
)

// StateDirs returns the directories in which processes of this host list their firing alerts: below the run
// directory of PCP, and below that of the user (XDG_RUNTIME_DIR), "" if there is none.
func StateDirs(run, user string) []string {
	list := []string{filepath.Join(run, "pmie")}
	if filepath.IsAbs(user) {
		list = append(list, filepath.Join(user, "pcp", "pmie"))
	}
	return list
}

// NewTest returns an alert for testing a receiver.
func NewTest(host, text string, now time.Time) Alert {
	a := Alert{Status: Firing, Rule: "test", Host: host, Text: text, Since: now.UTC()}
	a.ID = a.newID()
	return a
}
