// Package amdgpu is the agent for graphics cards by AMD: their memory, clocks, load,
// temperature and power, as the driver amdgpu reports them in /sys/class/drm.
//
//	a := amdgpu.New(amdgpu.Config{})
//
// An [Agent] only reads the files that a fetch needs. Metrics that the kernel does not
// report have no value. A card that is suspended to save power stays suspended: reading its
// sensors would wake it up, so they have no values until a program uses the card. Names and
// numbers of metrics are those of pmdaamdgpu(1) of PCP 7, which asks libdrm.
package amdgpu
