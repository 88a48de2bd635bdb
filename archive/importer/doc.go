// Package importer is for programs that write their own values, or those of another source, to an archive that the
// tools read like one of pmlogger.
//
//	im, err := importer.Start("cellar", importer.Options{Host: "cellar.example.com"})
//	if err != nil {
//		return err
//	}
//	temp, err := im.NewMetric("cellar.temperature", importer.Spec{Type: pcp.TypeDouble})
//	if err != nil {
//		return err
//	}
//	for t, v := range readings {
//		temp.PutDouble(v)
//		if err := im.Write(t); err != nil {
//			return err
//		}
//	}
//	return im.End()
//
// It is libpcp_import (see LOGIMPORT(3)) in Go: metrics and instances are
// declared, values are put, and Write writes the values put as one record of the
// archive, with the metadata that it needs. The methods that have a C counterpart
// name it, fail when it does and with its codes, and write the same bytes;
// NewMetric, NewInDom and the Put methods of a [Handle] are shorter ways to the
// same.
//
// Options.Append continues an archive, as PMI_APPEND of PCP 7.2 does. Start refuses a
// damaged archive, or an archive that another process writes; nothing changes before the first Write.
//
// Where the C library of PCP 6.0.3 has a bug it is not copied: there, when
// instances are added to an instance domain that is already written and whose
// numbers were not added in ascending order, numbers and names no longer belong
// together.
package importer
