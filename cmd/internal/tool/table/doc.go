// Package table describes the columns of a report once, for its text and for --json.
//
//	columns := table.Columns[*disk]{
//		{Name: "reads", Title: "r/s", Format: " %8s", Cell: func(d *disk) table.Cell { return d.reads() }},
//		{Name: "busy", Title: "%util", Format: " %6s", Cell: func(d *disk) table.Cell { return d.busy() }},
//	}
//	fmt.Fprintln(w, "Device"+columns.Titles())
//	for _, d := range disks {
//		fmt.Fprintln(w, d.name+columns.Line(d))
//	}
//
// A report that prints JSON calls AddTo in place of Line, with the columns of a row.
package table
