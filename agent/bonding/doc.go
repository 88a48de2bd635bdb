// Package bonding is the agent for bonded network interfaces: which interfaces a bond
// has, which of them is active, in what mode it works, and how often links failed.
//
//	a, err := bonding.New(bonding.Config{})
//
// An instance is a bond, by the name that the kernel has for it. On a machine without
// bonds there are no instances, and a fetch costs an attempt to open one file.
package bonding
