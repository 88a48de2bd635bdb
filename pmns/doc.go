// Package pmns is for programs that read or change name spaces of metrics: trees whose leaves name metrics, their
// text form pmns(5) with its preprocessor, and look-ups of names and PMIDs.
//
//	tree, err := pmns.Load(pmns.DefaultPath(config.Process()), true)
//	if err != nil {
//		return err
//	}
//	id, err := tree.Lookup("kernel.all.load")
//
// A leaf may represent a whole subtree that an agent resolves at run time, a
// dynamic root: its PMID marks it as one, and has the domain of the agent. See
// Tree.DynamicRoot.
//
// The parser accepts the same texts as the C library, oddities included: a file
// may end inside of a subtree, a last line without a newline is dropped where the
// preprocessor runs, and "5" means the same as "5:*:*".
package pmns
