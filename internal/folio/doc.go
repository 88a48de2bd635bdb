// Package folio reads and writes folios: small text files that name archives
// which belong together, as pmchart(1) and mkaf(1) make them.
//
//	f, err := folio.Open("session.folio")
//	if err != nil {
//		return err
//	}
//	for _, a := range f.Archives {
//		fmt.Println(a.Host, a.Path("session.folio"))
//	}
//
// A folio looks like this, and after its first two lines unknown lines are
// skipped:
//
//	PCPFolio
//	Version: 1
//	# a comment
//	Created: on bozo at Tue Mar  5 10:00:00 2024
//	Creator: pmchart overview.view
//	Archive:        bozo                    20240305.10.00
//
// Names of archives and of the configuration of the creator are relative to the
// directory of the folio, and have no blanks.
package folio
