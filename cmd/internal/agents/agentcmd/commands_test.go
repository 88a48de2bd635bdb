package agentcmd

import "testing"

// TestCommandsAllocate limits what every start of the program, of which one command runs, allocates for the agents' commands.
func TestCommandsAllocate(t *testing.T) {
	n := len(Commands())
	if got := testing.AllocsPerRun(10, func() { Commands() }) / float64(n); got > 8 {
		t.Errorf("%.1f allocations for each of %d commands", got, n)
	}
	for _, c := range Commands() {
		if c.Text() == "" {
			t.Errorf("%s has no description", c.Name)
		}
	}
}
