// Package service is how a daemon talks with the manager of the system's
// services, by the protocols of sd_notify(3) and sd_listen_fds(3):
//
//	lns, err := service.Listeners(os.Getenv) // sockets that the manager opened
//	m := service.NewManager(os.Getenv)
//	m.Ready("serving 5 agents")
//	m.Stopping()
//
// Without such a manager all of it does nothing.
package service
