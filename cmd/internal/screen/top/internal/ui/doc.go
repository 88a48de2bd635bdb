// Package ui is what pcp top shows and how keys and the mouse change it, without a terminal: the views of a
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
// An App takes no samples itself and waits for nothing: it says what it wants by Request, and when the next sample
// is due by Delay.
package ui
