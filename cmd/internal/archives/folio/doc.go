// Package folio is pmafm and mkaf: what makes folios, lists of archives that
// belong together, and what works on them.
package folio
