package oracle

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// StartWith starts a process that gets sig when the test's process ends, as cmd.Start does. The
// other fields of cmd.SysProcAttr stay.
func StartWith(cmd *exec.Cmd, sig syscall.Signal) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = sig
	startThread()
	err := make(chan error)
	starts <- func() { err <- cmd.Start() }
	return <-err
}

// starts is the work of the one thread that starts processes: the kernel sends the signal when the
// thread ends that started the process, and threads that changed their user or name space end
// before the test does.
var starts = make(chan func())

var startThread = sync.OnceFunc(func() {
	go func() {
		runtime.LockOSThread() // for good
		for start := range starts {
			start()
		}
	}()
})

// leadGroup has a process lead its own group.
func leadGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
