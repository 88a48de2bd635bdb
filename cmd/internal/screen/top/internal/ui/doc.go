// Package ui is the user interface of pcp top, with its keys and the mouse, but without a terminal: the views of a
// [model.Snapshot], drawn on a [screen.Grid], and an [App] that takes keys by name.
//
//	app := ui.New(ui.Config{Host: sampler.Host(), Interval: time.Second})
//	app.Resize(80, 24)
//	for {
//		if req, ok := app.Request(); ok {
//			app.Took(ui.Do(ctx, sampler, req))
//		}
//		app.Draw(grid)
//		app.Key("t", "t")
//	}
//
// An App takes no samples itself and waits for nothing: Request returns its requests, and Delay the time until the
// next sample is due.
package ui
