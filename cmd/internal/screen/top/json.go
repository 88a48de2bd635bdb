package top

import (
	"context"
	"math"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/ui"
	"github.com/go-pcp/pcp/pcpjson"
)

// A jsonSample is a line of --json (docs/json.md). Unknown numbers are left out.
type jsonSample struct {
	Time     string   `json:"time"`
	Host     string   `json:"host"`
	Interval *float64 `json:"interval,omitempty"`

	CPU        *jsonCPU      `json:"cpu,omitempty"`
	Processors []jsonCPU     `json:"processors,omitempty"`
	Load       []*float64    `json:"load,omitempty"`
	Uptime     *float64      `json:"uptime,omitempty"`
	Tasks      *jsonTasks    `json:"tasks,omitempty"`
	Memory     *jsonMemory   `json:"memory,omitempty"`
	Disk       *jsonTraffic  `json:"disk,omitempty"`
	Net        *jsonTraffic  `json:"network,omitempty"`
	Pressure   *jsonPressure `json:"pressure,omitempty"`

	Disks      []jsonDisk      `json:"disks,omitempty"`
	Files      []jsonFiles     `json:"filesystems,omitempty"`
	Interfaces []jsonInterface `json:"interfaces,omitempty"`
	Protocols  *jsonProtocols  `json:"protocols,omitempty"`
	Processes  []jsonProcess   `json:"processes,omitempty"`
	CGroups    []jsonCGroup    `json:"cgroups,omitempty"`
	Containers []jsonContainer `json:"containers,omitempty"`
	Charts     []jsonChart     `json:"charts,omitempty"`

	Absent []jsonAbsent `json:"absent,omitempty"`
}

// A jsonAbsent is a part that the host does not have.
type jsonAbsent struct {
	Part   string `json:"part"`
	Reason string `json:"reason"`
}

type jsonCPU struct {
	Name   string   `json:"name,omitempty"`
	Busy   *float64 `json:"busy,omitempty"`
	User   *float64 `json:"user,omitempty"`
	Nice   *float64 `json:"nice,omitempty"`
	System *float64 `json:"system,omitempty"`
	Idle   *float64 `json:"idle,omitempty"`
	Wait   *float64 `json:"wait,omitempty"`
	IRQ    *float64 `json:"irq,omitempty"`
	Steal  *float64 `json:"steal,omitempty"`
}

type jsonTasks struct {
	Total      *float64 `json:"total,omitempty"`
	Running    *float64 `json:"running,omitempty"`
	Blocked    *float64 `json:"blocked,omitempty"`
	Users      *float64 `json:"users,omitempty"`
	Switches   *float64 `json:"switches,omitempty"`
	Interrupts *float64 `json:"interrupts,omitempty"`
	Forks      *float64 `json:"forks,omitempty"`
}

type jsonMemory struct {
	Total     *float64 `json:"total,omitempty"`
	Used      *float64 `json:"used,omitempty"`
	Free      *float64 `json:"free,omitempty"`
	Available *float64 `json:"available,omitempty"`
	Buffers   *float64 `json:"buffers,omitempty"`
	Cached    *float64 `json:"cached,omitempty"`
	Shared    *float64 `json:"shared,omitempty"`
	Dirty     *float64 `json:"dirty,omitempty"`
	SwapTotal *float64 `json:"swap_total,omitempty"`
	SwapUsed  *float64 `json:"swap_used,omitempty"`
	SwapIn    *float64 `json:"swap_in,omitempty"`
	SwapOut   *float64 `json:"swap_out,omitempty"`
}

type jsonTraffic struct {
	In     *float64 `json:"in,omitempty"`
	Out    *float64 `json:"out,omitempty"`
	InOps  *float64 `json:"in_requests,omitempty"`
	OutOps *float64 `json:"out_requests,omitempty"`
}

type jsonPressure struct {
	CPU    *jsonStall `json:"cpu,omitempty"`
	Memory *jsonStall `json:"memory,omitempty"`
	IO     *jsonStall `json:"io,omitempty"`
	IRQ    *jsonStall `json:"irq,omitempty"`
}

type jsonStall struct {
	Some     *float64 `json:"some,omitempty"`
	Some10s  *float64 `json:"some_10s,omitempty"`
	Some1min *float64 `json:"some_1min,omitempty"`
	Some5min *float64 `json:"some_5min,omitempty"`
	Full     *float64 `json:"full,omitempty"`
	Full10s  *float64 `json:"full_10s,omitempty"`
	Full1min *float64 `json:"full_1min,omitempty"`
	Full5min *float64 `json:"full_5min,omitempty"`
}

type jsonDisk struct {
	Name      string   `json:"name"`
	Busy      *float64 `json:"busy,omitempty"`
	Read      *float64 `json:"read,omitempty"`
	Written   *float64 `json:"written,omitempty"`
	Reads     *float64 `json:"reads,omitempty"`
	Writes    *float64 `json:"writes,omitempty"`
	ReadWait  *float64 `json:"read_wait,omitempty"`
	WriteWait *float64 `json:"write_wait,omitempty"`
	Queue     *float64 `json:"queue,omitempty"`
}

type jsonFiles struct {
	Device     string   `json:"device"`
	Mount      string   `json:"mount,omitempty"`
	Type       string   `json:"type,omitempty"`
	Size       *float64 `json:"size,omitempty"`
	Used       *float64 `json:"used,omitempty"`
	Available  *float64 `json:"available,omitempty"`
	Inodes     *float64 `json:"inodes,omitempty"`
	InodesUsed *float64 `json:"inodes_used,omitempty"`
}

type jsonInterface struct {
	Name       string   `json:"name"`
	In         *float64 `json:"in,omitempty"`
	Out        *float64 `json:"out,omitempty"`
	InPackets  *float64 `json:"in_packets,omitempty"`
	OutPackets *float64 `json:"out_packets,omitempty"`
	InErrors   *float64 `json:"in_errors,omitempty"`
	OutErrors  *float64 `json:"out_errors,omitempty"`
	InDrops    *float64 `json:"in_drops,omitempty"`
	OutDrops   *float64 `json:"out_drops,omitempty"`
	Speed      *float64 `json:"speed,omitempty"`
}

type jsonProtocols struct {
	Established *float64 `json:"tcp_established,omitempty"`
	Active      *float64 `json:"tcp_active,omitempty"`
	Passive     *float64 `json:"tcp_passive,omitempty"`
	Retrans     *float64 `json:"tcp_retransmitted,omitempty"`
	SegsIn      *float64 `json:"tcp_in,omitempty"`
	SegsOut     *float64 `json:"tcp_out,omitempty"`
	SegErrors   *float64 `json:"tcp_errors,omitempty"`
	UDPIn       *float64 `json:"udp_in,omitempty"`
	UDPOut      *float64 `json:"udp_out,omitempty"`
	UDPErrors   *float64 `json:"udp_errors,omitempty"`
}

type jsonProcess struct {
	PID       int32    `json:"pid"`
	Parent    int32    `json:"ppid"`
	User      string   `json:"user,omitempty"`
	Name      string   `json:"name,omitempty"`
	Command   string   `json:"command,omitempty"`
	State     string   `json:"state,omitempty"`
	CPU       *float64 `json:"cpu,omitempty"`
	CPUTime   *float64 `json:"cpu_time,omitempty"`
	Resident  *float64 `json:"resident,omitempty"`
	Virtual   *float64 `json:"virtual,omitempty"`
	Read      *float64 `json:"read,omitempty"`
	Written   *float64 `json:"written,omitempty"`
	Received  *float64 `json:"received,omitempty"`
	Sent      *float64 `json:"sent,omitempty"`
	GPU       *float64 `json:"gpu,omitempty"`
	GPUMemory *float64 `json:"gpu_memory,omitempty"`
	Threads   int32    `json:"threads,omitempty"`
	Nice      int32    `json:"nice"`
	Priority  int32    `json:"priority"`
	Processor int32    `json:"processor"`
	Start     *float64 `json:"start,omitempty"`
	Terminal  string   `json:"terminal,omitempty"`
	CGroup    string   `json:"cgroup,omitempty"`
}

type jsonCGroup struct {
	Path      string   `json:"path"`
	Processes int      `json:"processes"`
	CPU       *float64 `json:"cpu,omitempty"`
	Memory    *float64 `json:"memory,omitempty"`
	Read      *float64 `json:"read,omitempty"`
	Written   *float64 `json:"written,omitempty"`
	Received  *float64 `json:"received,omitempty"`
	Sent      *float64 `json:"sent,omitempty"`
	PressCPU  *float64 `json:"pressure_cpu,omitempty"`
	PressMem  *float64 `json:"pressure_memory,omitempty"`
	PressIO   *float64 `json:"pressure_io,omitempty"`
}

type jsonContainer struct {
	Name   string `json:"name"`
	ID     string `json:"id"`
	Engine string `json:"engine,omitempty"`
	Image  string `json:"image,omitempty"`
	State  string `json:"state,omitempty"`
	PID    int32  `json:"pid,omitempty"`
	jsonCGroup
}

type jsonChart struct {
	Metric string     `json:"metric"`
	Units  string     `json:"units,omitempty"`
	Error  string     `json:"error,omitempty"`
	Lines  []jsonLine `json:"instances,omitempty"`
}

type jsonLine struct {
	Instance string   `json:"instance,omitempty"`
	Value    *float64 `json:"value,omitempty"`
}

// known returns a number, rounded to a millionth, or nil if it is not known.
func known(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	if math.Abs(f) < 1e9 {
		f = math.Round(f*1e6) / 1e6
	}
	return &f
}

// jsonGroups are the groups sampled if no view is chosen: all.
const jsonGroups = model.System | model.CPUs | model.Disks | model.Files | model.Network | model.Pressure |
	model.Processes | model.ProcessIO | model.CGroups | model.ProcessNet | model.ProcessGPU | model.Containers

// printJSON prints an object for each sample.
func (j *job) printJSON(ctx context.Context) int {
	need := model.Group(jsonGroups)
	if j.viewed || len(j.charts) > 0 {
		need = j.app().TextNeeds(ui.AllColumns)
	}
	var order model.Order
	return j.each(ctx, need, func(s *model.Snapshot) error {
		_, err := j.env.Stdout.Write(pcpjson.Line(j.object(s, &order)))
		if err != nil {
			return err
		}
		return j.env.FlushOut()
	})
}

// sections are the panels that may be absent, by their names in JSON.
var sections = []struct {
	name  string
	panel model.Panel
	group model.Group
}{
	{"cpu", model.PanelCPU, model.System},
	{"processors", model.PanelCPUs, model.CPUs},
	{"load", model.PanelLoad, model.System},
	{"memory", model.PanelMemory, model.System},
	{"disk", model.PanelDisk, model.System},
	{"network", model.PanelNet, model.System},
	{"pressure", model.PanelPressure, model.System},
	{"disks", model.PanelDisks, model.Disks},
	{"filesystems", model.PanelFiles, model.Files},
	{"interfaces", model.PanelInterfaces, model.Network},
	{"protocols", model.PanelProtocols, model.Network},
	{"processes", model.PanelProcesses, model.Processes},
	{"processes: read", model.PanelProcessIO, model.ProcessIO},
	{"processes: received", model.PanelProcessNet, model.ProcessNet},
	{"processes: gpu", model.PanelProcessGPU, model.ProcessGPU},
	{"cgroups: cpu", model.PanelCGroups, model.CGroups},
	{"containers", model.PanelContainers, model.Containers},
}

// object returns a snapshot for JSON.
func (j *job) object(s *model.Snapshot, order *model.Order) *jsonSample {
	o := &jsonSample{Time: pcpjson.Time(s.Time), Host: j.sampler.Host().Name}
	if s.Interval > 0 {
		o.Interval = known(s.Interval)
	}
	has := func(p model.Panel) bool { return s.Absent(p) == "" }
	for _, sec := range sections {
		if why := s.Absent(sec.panel); why != "" && s.Groups&sec.group != 0 {
			o.Absent = append(o.Absent, jsonAbsent{sec.name, why})
		}
	}
	j.totals(o, s, has)
	for i := range s.Disks {
		if d := &s.Disks[i]; s.Groups&model.Disks != 0 {
			o.Disks = append(o.Disks, diskOf(d))
		}
	}
	for i := range s.Files {
		if f := &s.Files[i]; s.Groups&model.Files != 0 {
			o.Files = append(o.Files, jsonFiles{
				Device: f.Device, Mount: f.Mount, Type: f.Type, Size: known(f.Size), Used: known(f.Used), Available: known(f.Avail),
				Inodes: known(f.Inodes), InodesUsed: known(f.InodesUsed),
			})
		}
	}
	for i := range s.Interfaces {
		o.Interfaces = append(o.Interfaces, interfaceOf(&s.Interfaces[i]))
	}
	if p := &s.Protocols; s.Groups&model.Network != 0 && has(model.PanelProtocols) {
		o.Protocols = &jsonProtocols{
			known(p.Established), known(p.Active), known(p.Passive), known(p.Retrans), known(p.SegsIn), known(p.SegsOut), known(p.SegErrors),
			known(p.DatagramsIn), known(p.DatagramsOut), known(p.DatagramErrors),
		}
	}
	for i, row := range order.Rows(s, &j.sel) {
		if i == j.lines {
			break
		}
		o.Processes = append(o.Processes, processOf(&s.Processes[row.Index]))
	}
	for i := range s.CGroups {
		if g := &s.CGroups[i]; s.Groups&model.CGroups != 0 {
			o.CGroups = append(o.CGroups, groupOf(g))
		}
	}
	for i := range s.Containers {
		if c := &s.Containers[i]; s.Groups&model.Containers != 0 {
			o.Containers = append(o.Containers, containerOf(c))
		}
	}
	for i := range s.Charts {
		c := &s.Charts[i]
		chart := jsonChart{Metric: c.Spec, Units: c.Units}
		if c.Err != nil {
			chart.Error = screen.Clean(c.Err.Error())
		}
		for _, l := range c.Lines {
			chart.Lines = append(chart.Lines, jsonLine{l.Name, known(l.Value)})
		}
		o.Charts = append(o.Charts, chart)
	}
	return o
}

// totals fills in the fields of the whole host.
func (j *job) totals(o *jsonSample, s *model.Snapshot, has func(model.Panel) bool) {
	if has(model.PanelCPU) {
		c := cpuOf(&s.CPU)
		o.CPU = &c
	}
	for i := range s.CPUs {
		o.Processors = append(o.Processors, cpuOf(&s.CPUs[i]))
	}
	if has(model.PanelLoad) {
		o.Load = []*float64{known(s.Load[0]), known(s.Load[1]), known(s.Load[2])}
	}
	o.Uptime = known(s.Uptime)
	o.Tasks = &jsonTasks{known(s.Procs), known(s.Running), known(s.Blocked), known(s.Users), known(s.Switches), known(s.Interrupts), known(s.Forks)}
	if m := &s.Memory; has(model.PanelMemory) {
		o.Memory = &jsonMemory{
			Total: known(m.Total), Used: known(m.Used()), Free: known(m.Free), Available: known(m.Available), Buffers: known(m.Buffers),
			Cached: known(m.Cached), Shared: known(m.Shared), Dirty: known(m.Dirty),
			SwapTotal: known(m.SwapTotal), SwapUsed: known(m.SwapUsed), SwapIn: known(m.SwapIn), SwapOut: known(m.SwapOut),
		}
	}
	if has(model.PanelDisk) {
		o.Disk = trafficOf(s.Disk)
	}
	if has(model.PanelNet) {
		o.Net = trafficOf(s.Net)
	}
	if has(model.PanelPressure) {
		p := &s.Pressure
		o.Pressure = &jsonPressure{stallOf(&p.CPU), stallOf(&p.Memory), stallOf(&p.IO), stallOf(&p.IRQ)}
	}
}

func cpuOf(c *model.CPU) jsonCPU {
	return jsonCPU{
		Name: c.Name, Busy: known(c.Busy()), User: known(c.User), Nice: known(c.Nice), System: known(c.Sys), Idle: known(c.Idle),
		Wait: known(c.Wait), IRQ: known(c.IRQ), Steal: known(c.Steal),
	}
}

func trafficOf(t model.Traffic) *jsonTraffic {
	return &jsonTraffic{known(t.In), known(t.Out), known(t.InOps), known(t.OutOps)}
}

// stallOf returns the pressure on a resource, or nil if it is unknown.
func stallOf(st *model.Stall) *jsonStall {
	s := &jsonStall{
		known(st.Some[0]), known(st.Some[1]), known(st.Some[2]), known(st.Some[3]),
		known(st.Full[0]), known(st.Full[1]), known(st.Full[2]), known(st.Full[3]),
	}
	if *s == (jsonStall{}) {
		return nil
	}
	return s
}

func diskOf(d *model.Disk) jsonDisk {
	return jsonDisk{
		Name: d.Name, Busy: known(d.Busy), Read: known(d.Read), Written: known(d.Written), Reads: known(d.Reads), Writes: known(d.Writes),
		ReadWait: known(d.ReadWait), WriteWait: known(d.WriteWait), Queue: known(d.Queue),
	}
}

func interfaceOf(f *model.Interface) jsonInterface {
	return jsonInterface{
		Name: f.Name, In: known(f.In), Out: known(f.Out), InPackets: known(f.InPackets), OutPackets: known(f.OutPackets),
		InErrors: known(f.InErrors), OutErrors: known(f.OutErrors), InDrops: known(f.InDrops), OutDrops: known(f.OutDrops), Speed: known(f.Speed),
	}
}

func containerOf(c *model.Container) jsonContainer {
	return jsonContainer{c.Name, c.ID, c.Engine, c.Image, c.State, c.PID, groupOf(&c.CGroup)}
}

func groupOf(g *model.CGroup) jsonCGroup {
	return jsonCGroup{
		Path: g.Path, Processes: g.Processes, CPU: known(g.CPU), Memory: known(g.Memory), Read: known(g.Read), Written: known(g.Written),
		Received: known(g.In), Sent: known(g.Out), PressCPU: known(g.PressCPU), PressMem: known(g.PressMem), PressIO: known(g.PressIO),
	}
}

func processOf(p *model.Process) jsonProcess {
	state := ""
	if p.State != 0 {
		state = screen.Clean(string(rune(p.State)))
	}
	return jsonProcess{
		PID: p.PID, Parent: p.Parent, User: p.Owner, Name: p.Name, Command: p.Args, State: state, CPU: known(p.CPU), CPUTime: known(p.Time),
		Resident: known(p.RSS), Virtual: known(p.Size), Read: known(p.Read), Written: known(p.Written),
		Received: known(p.In), Sent: known(p.Out), GPU: known(p.GPU), GPUMemory: known(p.GPUMemory), Threads: p.Threads,
		Nice: p.Nice, Priority: p.Priority, Processor: p.Processor, Start: known(p.Start), Terminal: p.TTY, CGroup: p.CGroup,
	}
}
