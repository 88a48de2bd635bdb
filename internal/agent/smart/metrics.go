package smart

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// An attribute is an attribute of disks with metrics. Its number is the cluster of its
// metrics.
type attribute struct {
	id         int
	name, help string
}

// attributes returns the attributes of ATA disks that have metrics.
func attributes() [numAttributes]attribute {
	return [...]attribute{
		{1, "raw_read_error_rate", "errors while reading from the surface"},
		{2, "throughput_performance", "throughput"},
		{3, "spin_up_time", "time to spin up"},
		{4, "start_stop_count", "starts and stops of the spindle"},
		{5, "reallocated_sector_count", "sectors replaced by spare ones"},
		{7, "seek_error_count", "errors of positioning heads"},
		{8, "seek_time_performance", "speed of positioning heads"},
		{9, "power_on_hours", "hours of operation"},
		{10, "spin_retry_count", "attempts to spin up that had to be repeated"},
		{11, "calibration_retry_count", "calibrations that had to be repeated"},
		{12, "power_cycle_count", "times the disk was switched on"},
		{13, "read_soft_error_rate", "errors of reading that programs saw"},
		{22, "current_helium_level", "helium in the case"},
		{176, "erase_fail_count_chip", "failures to erase, of one chip"},
		{177, "wear_leveling_count", "how worn the memory is"},
		{179, "used_reserved_block_count_total", "spare blocks in use"},
		{180, "unused_reserved_block_count_total", "spare blocks left"},
		{181, "program_fail_count_total", "failures to write flash memory"},
		{182, "erase_fail_count_total", "failures to erase flash memory"},
		{183, "runtime_bad_block", "blocks found bad while running"},
		{184, "end_to_end_error", "data changed between host and medium"},
		{187, "reported_uncorrect", "errors that could not be corrected"},
		{188, "command_timeout", "commands given up"},
		{189, "high_fly_writes", "writes with the head too high"},
		{190, "airflow_temp_celsius", "temperature of the air"},
		{191, "g_sense_error_rate", "errors by shocks"},
		{192, "power_off_retract_count", "emergency parkings of heads"},
		{193, "load_cycle_count", "parkings of heads"},
		{194, "temperature_celsius", "temperature"},
		{195, "hardware_ecc_recovered", "errors that the disk corrected"},
		{196, "reallocated_event_count", "attempts to replace sectors"},
		{197, "current_pending_sector", "sectors waiting to be replaced"},
		{198, "offline_uncorrectable", "sectors that an offline test could not read"},
		{199, "udma_crc_error_count", "checksum errors on the cable"},
		{200, "multi_zone_error_rate", "errors while writing"},
		{201, "soft_read_error_rate", "reads off track"},
		{220, "disk_shift", "shift of platters against the spindle"},
		{222, "loaded_hours", "hours with heads loaded"},
		{223, "load_retry_count", "loadings of heads that had to be repeated"},
		{224, "load_friction", "friction while heads are loaded"},
		{225, "load_cycle", "cycles of loading heads"},
		{226, "load_in_time", "time of loading heads"},
		{240, "head_flying_hours", "hours of positioning heads"},
		{241, "total_lbas_written", "sectors written"},
		{242, "total_lbas_read", "sectors read"},
		{250, "read_error_retry_rate", "errors while reading"},
		{254, "free_fall_sensor", "falls noticed"},
	}
}

// metrics returns the table. The units are those of the C agent, which has bytes for
// metrics without units.
func metrics() []column.Metric {
	const discrete, instant = pcp.SemDiscrete, pcp.SemInstant
	bytes := pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}
	count := pcp.Units{DimCount: 1}
	table := []column.Metric{
		{Name: "smart.health", Cluster: 0, Item: 0, Type: pcp.TypeString, Sem: discrete, From: blockInfo, Col: infoHealth, Help: "Whether the disk thinks that it is well", Long: "What the disk answers when it is asked whether it expects to fail: PASSED,\nor FAILED!, after which it should be replaced at once. smartctl -H prints it."},
		{Name: "smart.info.model_family", Cluster: 0, Item: 1, Type: pcp.TypeString, Sem: discrete, From: blockInfo, Col: infoFamily, Help: "Family of models", Long: "The family that smartctl's list of drives has the model in; many models are in\nnone."},
		{Name: "smart.info.device_model", Cluster: 0, Item: 2, Type: pcp.TypeString, Sem: discrete, From: blockInfo, Col: infoModel, Help: "Model", Long: "The model that the disk reports; for an NVMe disk its model number."},
		{Name: "smart.info.serial_number", Cluster: 0, Item: 3, Type: pcp.TypeString, Sem: discrete, From: blockInfo, Col: infoSerial, Help: "Serial number", Long: "The serial number that the disk reports. It is also on the label of the disk."},
		{Name: "smart.info.capacity_bytes", Cluster: 0, Item: 4, Type: pcp.TypeU64, Sem: discrete, Units: bytes, From: blockInfo, Col: infoCapacity, Help: "Size in bytes", Long: "The usable size of the disk, without its spare sectors."},
		{Name: "smart.info.sector_size", Cluster: 0, Item: 5, Type: pcp.TypeString, Sem: discrete, From: blockInfo, Col: infoSector, Help: "Sizes of sectors", Long: "The size of a sector as the disk is addressed, and as it writes, such as\n512 bytes logical, 4096 bytes physical."},
		{Name: "smart.info.rotation_rate", Cluster: 0, Item: 6, Type: pcp.TypeString, Sem: discrete, From: blockInfo, Col: infoRotation, Help: "Rotations a minute, or that it has no moving parts", Long: "Such as 7200 rpm, or Solid State Device."},
		{Name: "smart.info.firmware_version", Cluster: 0, Item: 7, Type: pcp.TypeString, Sem: discrete, From: blockInfo, Col: infoFirmware, Help: "Version of the firmware", Long: "The version that the disk reports, in the format of its manufacturer."},
		{Name: "smart.info.uuid", Cluster: 0, Item: 8, Type: pcp.TypeString, Sem: discrete, From: blockInfo, Col: infoUUID, Help: "WWID", Long: "The identifier that the disk has from its manufacturer, as the kernel knows it,\nwithout its kind (naa, eui, t10). Underscores are in place of blanks."},
		{Name: "smart.info.device", Cluster: 0, Item: 9, Type: pcp.TypeString, Sem: discrete, From: blockInfo, Col: infoDevice, Help: "Name of the device", Long: "Such as sda. It can change when the system starts."},
		{Name: "smart.nvme_attributes.critical_warning", Cluster: 255, Item: 0, Type: pcp.TypeString, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 0, Help: "Warnings, as bits (NVMe)", Long: "A sum of 0x01 (little spare capacity), 0x02 (temperature out of range), 0x04\n(unreliable), 0x08 (can only be read) and 0x10 (its memory is not backed up)."},
		{Name: "smart.nvme_attributes.composite_temperature", Cluster: 255, Item: 1, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 1, Help: "Temperature in degrees Celsius (NVMe)", Long: "The controller computes it from all of its sensors. It goes by this one when\nit slows down."},
		{Name: "smart.nvme_attributes.available_spare", Cluster: 255, Item: 2, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 2, Help: "Spare capacity in percent (NVMe)", Long: "The remaining capacity for the replacement of worn blocks."},
		{Name: "smart.nvme_attributes.available_spare_threshold", Cluster: 255, Item: 3, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 3, Help: "Spare capacity in percent below which the disk warns (NVMe)", Long: "Below it the disk sets a bit in critical_warning."},
		{Name: "smart.nvme_attributes.percentage_used", Cluster: 255, Item: 4, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 4, Help: "Life used, in percent (NVMe)", Long: "An estimate of the manufacturer. It can be more than 100, and the disk may\nstill work then."},
		{Name: "smart.nvme_attributes.data_units_read", Cluster: 255, Item: 5, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 5, Help: "Units of 512000 bytes read (NVMe)", Long: "A unit is a thousand blocks of 512 bytes, rounded up."},
		{Name: "smart.nvme_attributes.data_units_written", Cluster: 255, Item: 6, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 6, Help: "Units of 512000 bytes written (NVMe)", Long: "A unit is a thousand blocks of 512 bytes, rounded up."},
		{Name: "smart.nvme_attributes.host_read_commands", Cluster: 255, Item: 7, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 7, Help: "Read commands (NVMe)", Long: "Commands that the controller has completed in its life."},
		{Name: "smart.nvme_attributes.host_write_commands", Cluster: 255, Item: 8, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 8, Help: "Write commands (NVMe)", Long: "Commands that the controller has completed in its life."},
		{Name: "smart.nvme_attributes.controller_busy_time", Cluster: 255, Item: 9, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 9, Help: "Minutes busy with commands (NVMe)", Long: "Time in which a command of the host was outstanding, over the life of the disk."},
		{Name: "smart.nvme_attributes.power_cycles", Cluster: 255, Item: 10, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 10, Help: "Times switched on (NVMe)", Long: "Times in its life that the disk was switched on."},
		{Name: "smart.nvme_attributes.power_on_hours", Cluster: 255, Item: 11, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 11, Help: "Hours of operation (NVMe)", Long: "Hours in its life, which may leave out those of saving power."},
		{Name: "smart.nvme_attributes.unsafe_shutdowns", Cluster: 255, Item: 12, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 12, Help: "Times switched off without a shutdown (NVMe)", Long: "Losses of power that the host had not announced. They can cost data."},
		{Name: "smart.nvme_attributes.media_and_data_integrity_errors", Cluster: 255, Item: 13, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 13, Help: "Errors of the medium that could not be corrected (NVMe)", Long: "Data that was found damaged and could not be restored."},
		{Name: "smart.nvme_attributes.number_of_error_information_log_entries", Cluster: 255, Item: 14, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 14, Help: "Entries in the log of errors (NVMe)", Long: "Entries over the life of the disk, most of which the log has dropped since."},
		{Name: "smart.nvme_attributes.warning_composite_temperature_time", Cluster: 255, Item: 15, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 15, Help: "Minutes above the temperature of warning (NVMe)", Long: "Time in its life that the disk was at or above the temperature of\nwarning that its manufacturer set."},
		{Name: "smart.nvme_attributes.critical_composite_temperature_time", Cluster: 255, Item: 16, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 16, Help: "Minutes above the critical temperature (NVMe)", Long: "Time in its life that the disk was so hot that it may have stopped working."},
		{Name: "smart.nvme_attributes.temperature_sensor_one", Cluster: 255, Item: 17, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 17, Help: "Temperature of sensor 1 in degrees Celsius (NVMe)", Long: "The manufacturer defines the position of the sensor. Disks have up to eight\nsensors."},
		{Name: "smart.nvme_attributes.temperature_sensor_two", Cluster: 255, Item: 18, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 18, Help: "Temperature of sensor 2 in degrees Celsius (NVMe)", Long: "The manufacturer defines the position of the sensor. Disks have up to eight\nsensors."},
		{Name: "smart.nvme_attributes.temperature_sensor_three", Cluster: 255, Item: 19, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 19, Help: "Temperature of sensor 3 in degrees Celsius (NVMe)", Long: "The manufacturer defines the position of the sensor. Disks have up to eight\nsensors."},
		{Name: "smart.nvme_attributes.temperature_sensor_four", Cluster: 255, Item: 20, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 20, Help: "Temperature of sensor 4 in degrees Celsius (NVMe)", Long: "The manufacturer defines the position of the sensor. Disks have up to eight\nsensors."},
		{Name: "smart.nvme_attributes.temperature_sensor_five", Cluster: 255, Item: 21, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 21, Help: "Temperature of sensor 5 in degrees Celsius (NVMe)", Long: "The manufacturer defines the position of the sensor. Disks have up to eight\nsensors."},
		{Name: "smart.nvme_attributes.temperature_sensor_six", Cluster: 255, Item: 22, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 22, Help: "Temperature of sensor 6 in degrees Celsius (NVMe)", Long: "The manufacturer defines the position of the sensor. Disks have up to eight\nsensors."},
		{Name: "smart.nvme_attributes.temperature_sensor_seven", Cluster: 255, Item: 23, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 23, Help: "Temperature of sensor 7 in degrees Celsius (NVMe)", Long: "The manufacturer defines the position of the sensor. Disks have up to eight\nsensors."},
		{Name: "smart.nvme_attributes.temperature_sensor_eight", Cluster: 255, Item: 24, Type: pcp.TypeU32, Sem: instant, Units: bytes, From: blockData, Col: firstNVMe + 24, Help: "Temperature of sensor 8 in degrees Celsius (NVMe)", Long: "The manufacturer defines the position of the sensor. Disks have up to eight\nsensors."},
	}
	parts := [...]struct {
		name, help string
		typ        pcp.Type
		units      pcp.Units
		long       string
	}{
		attrID:     {"id", "Number", pcp.TypeU32, bytes, "The number is the same for all manufacturers, what the attribute counts not\nalways. It is there if the disk has the attribute."},
		attrValue:  {"value", "Value, more is better", pcp.TypeU32, bytes, "The disk computes it from the raw value, from 253 (best) down to 1. It begins\nwith 100, 200 or 253."},
		attrWorst:  {"worst", "Worst value ever", pcp.TypeU32, bytes, "The lowest that the disk has seen since it was made."},
		attrThresh: {"thresh", "Value of failure", pcp.TypeU32, bytes, "The manufacturer expects the disk to fail soon once the value is this or less,\nif the attribute predicts failures."},
		attrRaw:    {"raw", "Raw value", pcp.TypeU64, count, "Of several numbers that smartctl prints it is the first."},
	}
	for place, a := range attributes() {
		for item, p := range parts {
			table = append(table, column.Metric{
				Name: "smart.attributes." + a.name + "." + p.name, Cluster: a.id, Item: item, Type: p.typ, Sem: instant, Units: p.units,
				From: blockData, Col: 5*place + item, Help: p.help + ": " + a.help, Long: p.long,
			})
		}
	}
	table = append(table, nvmeMetrics()...)
	table = append(table, errorMetrics()...)
	return append(table, byWWIDMetrics(table)...)
}
