// Package search finds metrics, instance domains and instances by the words of
// their names and help texts, as pmSearchTextQuery(3) and the search interface
// of pmproxy(1) do. The index is in the memory of the process; no other server
// is needed.
//
//	x := search.NewIndex(search.Limits{})
//	x.Replace("here", docs)
//	res, err := x.Text(search.Request{Query: "disk read*"})
//
// An [Index] holds documents of any number of sources, such as a collector or
// an archive. [Feed] keeps the documents of a [Source] up to date, and
// [Handler] answers /search/text, /search/suggest, /search/indom and
// /search/info of PMWEBAPI(3).
//
// # Queries
//
// A query is a list of words, all of which a document must have, in the order
// of the query. If no document has them in this order, the order is ignored.
// Delimiters separate words: kernel.all.load is three words. Case is ignored,
// singular and plural of a word match each other, and common English words
// ("the", "of") are left out.
//
//	disk read         both words
//	kern*             words that begin with these letters
//	"page fault"      words that follow each other
//	-disk             not this word
//	read|write        one of the words; it binds more tightly than a space
//	%memroy%          words in which at most one letter is wrong
//	(read|write) -(disk|tape)
//
// Any text is a query: unintelligible parts count as delimiters.
//
// A word in the name of a document has the weight 9, in its one-line help 4,
// and in its help text 2. Scores are BM25 with these weights; they have no
// unit.
package search
