// Package nvidia is the agent for cards with NVIDIA's own driver: their load, memory, temperature, power and energy,
// and the processes and containers that use them.
//
//	a, err := nvidia.New(nvidia.Config{Program: "/usr/bin/pcp-gpu"})
//
// The driver's library, libnvidia-ml, can only be loaded by a program that is linked dynamically. That is pcp-gpu, a
// program of its own, which the agent starts where there is a driver, and talks to through pipes (package reading). It
// ends with the driver, or after a minute without a request, and is started again; a call of the library that hangs delays a fetch
// for a few seconds only. Sums and instances are kept meanwhile.
//
// Names and numbers of metrics are those of pmdanvidia(1); nvidia.container is not there. The agent changes no settings of the
// cards: where accounting is off, the load of single processes is that of the last samples of the driver.
package nvidia
