package nvidia

import (
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/pmda"
)

// ProgramName is the name of the program that reads the library of the driver. It is beside the program that the agent
// is a part of.
const ProgramName = "pcp-gpu"

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{Name: "nvidia", Domain: Domain, New: func(e builtin.Env) (pmda.Agent, error) {
		return New(Config{
			Root: e.HostRoot, Domain: e.Domain, Log: e.Log,
			Program: Program(e.Config.Getenv), Library: e.Config.Getenv("PCP_NVML_LIBRARY"),
		})
	}}
}

// Program returns the path of pcp-gpu: that of the variable PCP_GPU_PROGRAM, or else beside this program, also if that was
// started by a link. It is "" if there is none.
func Program(getenv func(string) string) string {
	if path := getenv("PCP_GPU_PROGRAM"); path != "" {
		return path
	}
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	path := filepath.Join(filepath.Dir(self), ProgramName)
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	return path
}

// HasDriver reports whether the driver is loaded on the machine with that root directory.
func HasDriver(root string) bool {
	for _, path := range []string{"dev/nvidiactl", "dev/dxg"} { // dxg is that of WSL
		if _, err := os.Stat(filepath.Join(root, path)); err == nil {
			return true
		}
	}
	return false
}
