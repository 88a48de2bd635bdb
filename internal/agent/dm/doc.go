// Package dm is the agent for the device mapper: caches (dm-cache), thin pools and volumes
// (dm-thin), the statistics of regions that dmstats(8) makes, and VDO volumes.
//
//	a, err := dm.New(dm.Config{})
//
// It asks the kernel through /dev/mapper/control, which only root may use, and reads /sys/kvdo.
// On a machine without a device mapper, and for other users, there are no instances.
package dm
