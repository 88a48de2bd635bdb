// Package service communicates with the system's service manager, by the
// protocols of sd_notify(3) and sd_listen_fds(3):
//
//	lns, err := service.Listeners(os.Getenv) // sockets that the manager opened
//	m := service.NewManager(os.Getenv)
//	m.Ready("serving 5 agents")
//	m.Stopping()
//
// Without such a manager it does nothing.
package service
