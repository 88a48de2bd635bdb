package model

import (
	"testing"

	"github.com/go-pcp/pcp"
)

// TestDenied checks the text shown in place of processes that the collector denies to this client.
func TestDenied(t *testing.T) {
	s := &Snapshot{Groups: Processes}
	for _, m := range panels[PanelProcesses] {
		s.why[m] = pcp.ErrPermission
	}
	if got, want := s.Absent(PanelProcesses), "proc.psinfo.utime: "+pcp.ErrPermission.Error(); got != want {
		t.Errorf("Absent = %q, want %q", got, want)
	}
	s.denied = func() string { return "the collector does not know the user\nuse its socket" }
	if got, want := s.Absent(PanelProcesses), s.denied(); got != want {
		t.Errorf("Absent = %q, want %q", got, want)
	}
}
