//go:build !unix

package pmproxy

func usage() (resources, bool) { return resources{}, false }
