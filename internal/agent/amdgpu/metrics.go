package amdgpu

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// Clusters of metrics. Cluster 2 is not used: an early release of the C agent had the
// metrics of the processor there, some under the wrong names.
const (
	clusterCards  = 0
	clusterMemory = 1
	clusterGPU    = 3
)

// itemDebug is amdgpu.control.debug.
const itemDebug = 3

// metrics returns the table. The order is that of the blocks.
func metrics() []column.Metric {
	const discrete, instant = pcp.SemDiscrete, pcp.SemInstant
	bytes := pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}
	mhz := pcp.Units{DimTime: -1, DimCount: 1, ScaleTime: pcp.TimeUsec}
	return []column.Metric{
		{Name: "amdgpu.numcards", Cluster: clusterCards, Item: 0, Type: pcp.TypeU32, Sem: discrete, From: blockCount, Help: "Number of AMD graphics cards", Long: "Cards that the driver amdgpu runs, at the time of the fetch. Cards by others,\nand old ones of the driver radeon, do not count."},
		{Name: "amdgpu.cardname", Cluster: clusterCards, Item: 1, Type: pcp.TypeString, Sem: discrete, From: blockName, Help: "Name of each card", Long: "The name under which the card is sold, from the list amdgpu.ids of libdrm. If\nthe list is not installed, or does not have the card, it is the name that the\ncard itself gives, which few do."},
		{Name: "amdgpu.cardid", Cluster: clusterCards, Item: 2, Type: pcp.TypeU32, Sem: instant, From: blockCards, Help: "Number of each card", Long: "The number in the name of the instance: 0 for gpu0. Cards are numbered in the\norder of the kernel's names for them, such as card1, without cards by others."},
		{Name: "amdgpu.control.debug", Cluster: clusterCards, Item: itemDebug, Type: pcp.TypeString, Sem: instant, From: blockControl, Help: "Debugging options of the agent", Long: "The options that are set, with commas between, see pmdbg -l. With appl1 the\nagent logs each file that it reads. pmstore sets other options;\n\"\" clears them."},
		{Name: "amdgpu.memory.used", Cluster: clusterMemory, Item: 0, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockUsed, Col: usedNow, Help: "Memory of the card in use", Long: "The card's own memory (VRAM) that is allocated. The driver keeps some of it\nfor itself even if no program uses the card."},
		{Name: "amdgpu.memory.total", Cluster: clusterMemory, Item: 1, Type: pcp.TypeU64, Sem: discrete, Units: bytes, From: blockTotal, Help: "Memory of the card", Long: "The size of the card's own memory (VRAM). A processor with built-in graphics\nreports what the firmware set aside for them."},
		{Name: "amdgpu.memory.free", Cluster: clusterMemory, Item: 2, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockFree, Help: "Memory of the card not in use", Long: "amdgpu.memory.total less amdgpu.memory.used. Programs cannot get quite all of\nit, as the driver pins some memory for itself."},
		{Name: "amdgpu.memory.usedaccum", Cluster: clusterMemory, Item: 3, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: bytes, From: blockUsed, Col: usedSum, Help: "Sum of amdgpu.memory.used over all readings", Long: "The agent adds the memory in use to the sum at each reading. The average\nbetween two values can be computed only if the number of readings meanwhile,\nfor any client, is known."},
		{Name: "amdgpu.memory.clock", Cluster: clusterMemory, Item: 4, Type: pcp.TypeU32, Sem: instant, Units: mhz, From: blockMemClock, Help: "Clock of the card's memory in MHz", Long: "The clock that the memory runs at now. Built-in graphics may not report it."},
		{Name: "amdgpu.memory.clock_max", Cluster: clusterMemory, Item: 5, Type: pcp.TypeU32, Sem: discrete, Units: mhz, From: blockMemMax, Help: "Highest clock of the card's memory in MHz", Long: "The fastest of the levels between which the driver switches."},
		{Name: "amdgpu.gpu.temperature", Cluster: clusterGPU, Item: 0, Type: pcp.TypeFloat, Sem: instant, Units: pcp.Units{Extra: pcp.Celsius}, From: blockTemp, Col: tempDegrees, Labels: `{"measure":"temperature","units":"degrees Celsius"}`, Help: "Temperature of the graphics processor in degrees Celsius", Long: "The temperature at the edge of the chip. The sensor may be less precise than\nthe value looks."},
		{Name: "amdgpu.gpu.load", Cluster: clusterGPU, Item: 1, Type: pcp.TypeU32, Sem: instant, From: blockLoad, Help: "Load of the graphics processor in percent", Long: "The firmware of the card measures it over a short time, from 0 (idle) to 100."},
		{Name: "amdgpu.gpu.average_power", Cluster: clusterGPU, Item: 2, Type: pcp.TypeU32, Sem: instant, Units: pcp.Units{Extra: pcp.Watt}, From: blockPower, Help: "Power that the graphics processor draws, in watts", Long: "An average over a short time, computed by the firmware of the card, truncated\nto whole watts. Cards without an average report their present power."},
		{Name: "amdgpu.gpu.clock", Cluster: clusterGPU, Item: 3, Type: pcp.TypeU32, Sem: instant, Units: mhz, From: blockClock, Help: "Clock of the graphics processor in MHz", Long: "The clock that the shaders run at now. It is low while there is nothing to do."},
		{Name: "amdgpu.gpu.clock_max", Cluster: clusterGPU, Item: 4, Type: pcp.TypeU32, Sem: discrete, Units: mhz, From: blockMax, Help: "Highest clock of the graphics processor in MHz", Long: "The fastest of the levels between which the driver switches."},
		{Name: "amdgpu.gpu.old_temperature", Cluster: clusterGPU, Item: 5, Type: pcp.TypeU32, Sem: instant, From: blockTemp, Col: tempMilli, Labels: `{"measure":"temperature","units":"millidegrees Celsius"}`, Help: "Temperature of the graphics processor in thousandths of a degree", Long: "amdgpu.gpu.temperature as old releases of PCP recorded it. Below 0 degrees\nCelsius it has no value."},
	}
}
