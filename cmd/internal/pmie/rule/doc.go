// Package rule reads the language of pmie(1).
//
//	p := rule.New(rule.Config{Program: "pmie", Errorf: errorf, Source: hosts})
//	for p.Begin("rules", text); p.More(); {
//		if r := p.Next(); r != nil {
//			// evaluate r.X every p.Delta() seconds
//		}
//	}
//	p.End()
//
// A [Parser] makes expressions of package eval from the text. It reports mistakes in the words of pmie, and continues behind
// them. [AppendSyntax] writes an expression as it was parsed.
package rule
