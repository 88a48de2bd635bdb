// Package folio implements mkaf and pmafm, which make and process folios: lists of
// archives that belong together.
package folio
