// Package containers finds the container that a control group belongs to, and its labels: the names of the container, its image, its
// pod and its name space, and the runtime.
//
//	f := containers.New("/", log)
//	defer f.Close()
//	labels := f.Labels("/kubepods.slice/kubepods-pod0a1b.slice/cri-containerd-4c01db….scope")
//
// It reads the files that the kubelet, containerd, CRI-O, docker and podman keep. Runtimes are asked by package runtimes, in the
// background: a runtime that hangs delays no client.
package containers
