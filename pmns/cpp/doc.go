// Package cpp is the preprocessor of name space files, pmcpp(1): a small
// relative of the one of C. It knows #include, #define and #undef of macros
// without parameters, #ifdef, #ifndef, #else and #endif without nesting, #shell,
// and comments between /* and */.
//
//	r, err := cpp.Open("root", cpp.Config{IncludeDirs: []string{"/var/lib/pcp/pmns"}})
//	if err != nil {
//		return err
//	}
//	defer r.Close()
//	for {
//		line, err := r.Next()
//		...
//	}
//
// As with pmcpp, what follows the last newline of a file is dropped, macros
// are not looked for in what a macro brought, and the first error ends all.
package cpp
