// Package runtimes asks the runtimes of containers, through their Unix sockets, which containers there are: docker and podman by HTTP, and
// containerd, CRI-O and cri-dockerd by the Container Runtime Interface of Kubernetes.
//
//	a := runtimes.New(runtimes.Config{Root: "/"})
//	defer a.Close()
//	a.Ask()                         // returns at once
//	c, ok := a.Find(id, "")         // what the last answers had
//
// Requests only read. They are made in the background, within limits of time and size, and a socket that does not
// answer is asked less often.
package runtimes
