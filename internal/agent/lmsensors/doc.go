// Package lmsensors is the agent for sensors of the board, processors, disks and others:
// temperatures, fans, voltages, currents, power, energy and humidity, as the kernel reports them in
// /sys/class/hwmon.
//
//	a, err := lmsensors.New(lmsensors.Config{})
//
// It needs neither the program sensors(1) nor its configuration: labels are those of the kernel, and values are
// not scaled. A metric for each kind of sensor has an instance for each sensor, and its unit. In addition each sensor has
// a metric of its own, without a unit, under the name that pmdalmsensors(1) gives it: lmsensors.coretemp_isa_0000.core_0.
// Their numbers depend on the order in which the agent found the sensors, there and here.
//
// A device that is suspended to save power stays suspended: its sensors have no values.
package lmsensors
