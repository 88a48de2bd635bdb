// Package smart is the agent for what disks say of their own health (S.M.A.R.T.), as
// smartctl(8) reads it, or what the kernel says of it where there is no smartctl.
//
//	a := smart.New(smart.Config{})
//
// An [Agent] runs smartctl for the disks, and the parts, that a fetch wants: -Hi for
// smart.health and smart.info, -A for the attributes. A disk that does not answer is left alone for
// a minute. SMART_SETUP names another program to run, and SMART_SETUP_LSBLK one that lists
// disks, as for pmdasmart(1), whose names and numbers metrics have. Without
// smartctl capacity, sectors and, of NVMe disks, model, serial number, firmware and
// temperatures come from /sys. What a disk does not say has no value.
package smart
