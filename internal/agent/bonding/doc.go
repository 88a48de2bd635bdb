// Package bonding is the agent for bonded network interfaces. It serves the
// interfaces of a bond, the active one, its mode, and the number of link failures.
//
//	a, err := bonding.New(bonding.Config{})
//
// An instance is a bond, with the kernel's name. On a machine without bonds there are
// no instances, and a fetch costs an attempt to open one file.
package bonding
