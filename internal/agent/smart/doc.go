// Package smart is the agent for the health of disks (S.M.A.R.T.) as smartctl(8)
// reports it, or as the kernel does if there is no smartctl.
//
//	a := smart.New(smart.Config{})
//
// An [Agent] runs smartctl for the disks, and the parts, that a fetch wants: -Hi for
// smart.health and smart.info, -A for the attributes. A disk that does not answer is left alone for
// a minute. SMART_SETUP names another program to run, and SMART_SETUP_LSBLK a program that lists
// disks, as for pmdasmart(1); metrics have the names and numbers of that agent. Without smartctl
// capacity, sectors and, of NVMe disks, model, serial number, firmware and temperatures are read
// from /sys. Metrics that a disk does not report have no value.
//
// Without smartctl ATA and SCSI disks are asked by the kernel's ioctl SG_IO: identify, SMART read data and return
// status, inquiry, log sense. That takes the capability SYS_RAWIO. SCSI disks have the attributes that their logs count.
//
// smart.wwid has the same metrics for disks by the identifier of their manufacturer.
//
// NVMe disks are asked by the kernel's ioctl for smart.nvme_info, smart.nvme_power_states, smart.nvme_error_log and,
// without smartctl, for health and attributes. That takes the capability SYS_ADMIN and the right to
// read the device. Only commands that change nothing are sent: identify, get log page, get features.
package smart
