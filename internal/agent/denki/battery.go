package denki

import (
	"math"
	"slices"
	"strconv"

	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// A battery is one of the machine's. Those of mice and the like, whose scope is a device, count
// too, as for the C agent.
type battery struct {
	inst  int32
	name  string // of the instance
	title string // the kernel's name
	model string
	maker string
}

func (b *battery) labels() map[string]any {
	m := map[string]any{"battery": b.title}
	if b.model != "" {
		m["model"] = b.model
	}
	if b.maker != "" {
		m["manufacturer"] = b.maker
	}
	return m
}

// readBatteries reads all batteries.
func (r *reader) readBatteries() error {
	const dir = "sys/class/power_supply"
	for block := blockEnergy; block <= blockState; block++ {
		r.blocks[block].Clear()
	}
	names := procfs.Names(r.path(dir))
	slices.Sort(names)
	n := 0
	for _, name := range names {
		path := func(file string) string { return r.path(dir, name, file) }
		if n >= maxBatteries || r.text(path("type")) != "Battery" {
			continue
		}
		read := func(file string) (float64, bool) { v, ok := r.number(path(file)); return float64(v), ok }
		const micro = 1e6
		now, hasVolts := read("voltage_now")
		designed, ok := read("voltage_min_design")
		if !ok {
			designed, ok = now, hasVolts
		}
		// energy reads a file in watt hours, or else one of a charge.
		energy := func(what string) column.Cell {
			if v, has := read("energy_" + what); has {
				return double(v / micro)
			}
			if v, has := read("charge_" + what); has && ok {
				return double(v / micro * designed / micro)
			}
			return column.Cell{}
		}
		var power column.Cell
		if v, has := read("power_now"); has {
			power = double(math.Abs(v) / micro)
		} else if v, has := read("current_now"); has && hasVolts {
			power = double(math.Abs(v) / micro * now / micro)
		}
		left := energy("now")
		capacity, hasCapacity := r.number(path("capacity"))
		if !left.OK && !power.OK && !hasCapacity {
			continue
		}
		n++
		b := r.ofBattery[name]
		if b == nil {
			if len(r.batteries) >= maxNames {
				continue
			}
			b = &battery{inst: int32(len(r.batteries)), title: name, model: r.text(path("model_name")), maker: r.text(path("manufacturer"))}
			b.name = "battery-" + strconv.Itoa(len(r.batteries))
			r.ofBattery[name], r.batteries = b, append(r.batteries, b)
		}
		row := r.blocks[blockEnergy].AddNamed(b.inst, b.name)
		cells := r.blocks[blockEnergy].Row(row)
		cells[energyNow], cells[energyFull], cells[energyDesign] = left, energy("full"), energy("full_design")
		r.blocks[blockPower].Row(r.blocks[blockPower].AddNamed(b.inst, b.name))[0] = power
		row = r.blocks[blockCapacity].AddNamed(b.inst, b.name)
		if hasCapacity && capacity >= 0 && capacity <= math.MaxInt32 {
			r.blocks[blockCapacity].Set(row, 0, uint64(capacity))
		}
		out := r.blocks[blockState]
		row = out.AddNamed(b.inst, b.name)
		if s := r.text(path("status")); s != "" {
			out.SetText(row, stateText, s)
		}
		if hasVolts {
			out.Row(row)[stateVolts] = double(now / micro)
		}
		if v, has := r.number(path("cycle_count")); has && v > 0 && v <= math.MaxInt32 { // 0 if it does not count
			out.Set(row, stateCycles, uint64(v))
		}
	}
	return nil
}
