package main

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/go-pcp/pcp/internal/agent/nvidia/reading"
)

// A status is what a function of NVML returns (nvmlReturn_t).
type status uint32

// Statuses that matter here.
const (
	success          status = 0
	notSupported     status = 3
	insufficientSize status = 7
	driverNotLoaded  status = 9
	functionNotFound status = 13
	gpuIsLost        status = 15
)

func (s status) Error() string {
	text := map[status]string{
		1: "NVML is not initialized", 2: "an argument is not valid", notSupported: "the card does not support it", 4: "no permission", 6: "not found",
		insufficientSize: "too little memory for the answer", 8: "the card has too little power", driverNotLoaded: "the driver is not loaded", 10: "timeout", 11: "an interrupt is missing",
		12: "the library is not found", functionNotFound: "the library does not have the function", 14: "the card's memory of facts is damaged", gpuIsLost: "the card is lost",
		16: "the card must be reset", 17: "the operating system refuses it", 18: "driver and library are of different versions",
	}[s]
	if text == "" {
		return fmt.Sprintf("NVML error %d", uint32(s))
	}
	return text
}

// A library is the driver's, after its initialization.
type library struct {
	handle uintptr
	funcs  map[string]uintptr
}

// load loads the first of the files that can be, and initializes it.
func load(files []string) (*library, error) {
	var errs []error
	for _, file := range files {
		handle, err := purego.Dlopen(file, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		l := &library{handle: handle, funcs: make(map[string]uintptr)}
		if s := l.call([]string{"nvmlInit_v2", "nvmlInit"}); s != success {
			return nil, fmt.Errorf("%s: %w", file, s)
		}
		return l, nil
	}
	return nil, errors.Join(errs...)
}

func (l *library) shutdown() { l.call([]string{"nvmlShutdown"}) }

// find returns the first of several versions of a function, 0 if there is none, and which it is.
func (l *library) find(names []string) (fn uintptr, which int) {
	for i, name := range names {
		fn, ok := l.funcs[name]
		if !ok {
			if f, err := purego.Dlsym(l.handle, name); err == nil {
				fn = f
			}
			l.funcs[name] = fn
		}
		if fn != 0 {
			return fn, i
		}
	}
	return 0, -1
}

// call calls the first of several versions of a function.
//
//go:uintptrescapes
func (l *library) call(names []string, args ...uintptr) status {
	fn, _ := l.find(names)
	if fn == 0 {
		return functionNotFound
	}
	r, _, _ := purego.SyscallN(fn, args...)
	return status(r)
}

// number calls a function that sets a number of a card. It returns nil if that fails.
func (l *library) number(device uintptr, names ...string) *uint32 {
	v := new(uint32)
	if l.call(names, device, uintptr(unsafe.Pointer(v))) != success {
		return nil
	}
	return v
}

// text calls a function that sets a text of a card.
func (l *library) text(device uintptr, name string) string {
	b := make([]byte, 96) // NVML_DEVICE_NAME_V2_BUFFER_SIZE, NVML_DEVICE_UUID_V2_BUFFER_SIZE
	if l.call([]string{name}, device, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b))) != success {
		return ""
	}
	return cString(b)
}

func cString(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}

// cards reads all cards. It fails if there is no driver.
func (l *library) cards(processes bool) ([]reading.Card, error) {
	var n uint32
	if s := l.call([]string{"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}, uintptr(unsafe.Pointer(&n))); s != success {
		return nil, fmt.Errorf("counting cards: %w", s)
	}
	if n > reading.MaxCards {
		return nil, fmt.Errorf("the driver reports %d cards", n)
	}
	cards := make([]reading.Card, n)
	for i := range cards {
		var device uintptr
		if s := l.call([]string{"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}, uintptr(i), uintptr(unsafe.Pointer(&device))); s != success {
			cards[i].Error = s.Error()
			continue
		}
		l.card(&cards[i], device)
		if processes {
			cards[i].Processes = l.processes(device)
		}
	}
	return cards, nil
}

// Structures of NVML. Their layouts are part of its interface.
type (
	utilization struct{ gpu, memory uint32 }
	memory      struct{ total, free, used uint64 }
	processV1   struct {
		pid    uint32
		_      uint32
		memory uint64
	}
	processV2 struct {
		pid           uint32
		_             uint32
		memory        uint64
		_gpu, compute uint32 // of a card that is divided
	}
	accounting struct {
		gpu, memory     uint32
		most, time, beg uint64
		running         uint32
		_               [5]uint32
	}
	sample struct {
		pid                     uint32
		_                       uint32
		stamp                   uint64
		busy, memory, enc, deco uint32
	}
)

// card reads a card.
func (l *library) card(c *reading.Card, device uintptr) {
	c.Name, c.UUID = l.text(device, "nvmlDeviceGetName"), l.text(device, "nvmlDeviceGetUUID")
	var pci [256]byte
	names := []string{"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"}
	if l.call(names, device, uintptr(unsafe.Pointer(&pci[0]))) == success {
		const short, numbers = 16, 5 * 4 // the address with a domain of four digits comes first, in all versions
		c.Bus = cString(pci[:short])
		if _, which := l.find(names); which == 0 {
			const long = 32
			c.Bus = cString(pci[short+numbers : short+numbers+long])
		}
	}
	temperature := new(uint32)
	const ofChip = 0
	if l.call([]string{"nvmlDeviceGetTemperature"}, device, ofChip, uintptr(unsafe.Pointer(temperature))) == success {
		c.Temperature = temperature
	}
	c.Fan = l.number(device, "nvmlDeviceGetFanSpeed")
	c.State = l.number(device, "nvmlDeviceGetPerformanceState")
	c.Power = l.number(device, "nvmlDeviceGetPowerUsage")
	var u utilization
	if l.call([]string{"nvmlDeviceGetUtilizationRates"}, device, uintptr(unsafe.Pointer(&u))) == success {
		c.Busy, c.MemoryBusy = &u.gpu, &u.memory
	}
	var m memory
	if l.call([]string{"nvmlDeviceGetMemoryInfo"}, device, uintptr(unsafe.Pointer(&m))) == success {
		c.Memory = &reading.Memory{Total: m.total, Free: m.free, Used: m.used}
	}
	energy := new(uint64)
	if l.call([]string{"nvmlDeviceGetTotalEnergyConsumption"}, device, uintptr(unsafe.Pointer(energy))) == success {
		c.Energy = energy
	}
}

// processes reads the processes that use a card.
func (l *library) processes(device uintptr) (list []reading.Process) {
	var busy map[uint32]sample
	for _, kind := range []string{"Compute", "Graphics"} {
		for _, p := range l.running(device, "nvmlDeviceGet"+kind+"RunningProcesses") {
			x := reading.Process{PID: p.pid, Compute: kind == "Compute"}
			const notAvailable = ^uint64(0)
			if p.memory != notAvailable {
				x.Memory = &p.memory
			}
			var a accounting
			if l.call([]string{"nvmlDeviceGetAccountingStats"}, device, uintptr(p.pid), uintptr(unsafe.Pointer(&a))) == success {
				x.Busy, x.MemoryBusy, x.Time, x.Running = &a.gpu, &a.memory, &a.time, a.running != 0
			} else {
				if busy == nil {
					busy = l.samples(device)
				}
				x.Running = true // it is in the list
				if s, ok := busy[p.pid]; ok {
					x.Busy, x.MemoryBusy = &s.busy, &s.memory
				}
			}
			list = append(list, x)
			if len(list) >= reading.MaxProcesses {
				return list
			}
		}
	}
	return list
}

// running calls a function that lists processes. Since version 2 their structure is larger.
func (l *library) running(device uintptr, name string) (list []processV1) {
	names := []string{name + "_v3", name + "_v2", name}
	_, version := l.find(names)
	const size = int(unsafe.Sizeof(processV2{})) // large enough for both
	n := uint32(64)
	for range 3 { // there may be more each time
		space := n
		b := make([]byte, int(n)*size)
		s := l.call(names, device, uintptr(unsafe.Pointer(&n)), uintptr(unsafe.Pointer(&b[0])))
		if s == insufficientSize && n > space && n <= reading.MaxProcesses {
			n += 16
			continue
		}
		if s != success || n > space {
			return nil
		}
		for i := range int(n) {
			if version == 2 {
				list = append(list, *(*processV1)(unsafe.Pointer(&b[i*int(unsafe.Sizeof(processV1{}))])))
				continue
			}
			p := (*processV2)(unsafe.Pointer(&b[i*size]))
			list = append(list, processV1{pid: p.pid, memory: p.memory})
		}
		return list
	}
	return nil
}

// samples returns the last sample of the load by each process, for a card without accounting.
func (l *library) samples(device uintptr) map[uint32]sample {
	list := make(map[uint32]sample)
	names := []string{"nvmlDeviceGetProcessUtilization"}
	var n uint32
	if s := l.call(names, device, 0, uintptr(unsafe.Pointer(&n)), 0); s != insufficientSize && s != success || n == 0 || n > reading.MaxProcesses {
		return list
	}
	n += 16
	space := n
	buf := make([]sample, n)
	if l.call(names, device, uintptr(unsafe.Pointer(&buf[0])), uintptr(unsafe.Pointer(&n)), 0) != success || n > space {
		return list
	}
	for _, s := range buf[:n] {
		if s.stamp >= list[s.pid].stamp && s.busy <= 100 {
			list[s.pid] = s
		}
	}
	return list
}
